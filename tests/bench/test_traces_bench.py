"""Our detector on collectives of real profiler traces: the period is between starts of one and the same collective."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from profiler.events import profile_events
from profiler.sources import read_sources
from profiler.units import format_duration
from tests.bench.tables import cell, layout
from tests.data import shared

if TYPE_CHECKING:
    from profiler.phases import TrafficProfile

PERIODS_S = {"hta_nccl_data": 0.22010, "hta_sampled_rank-0": None, "hta_sampled_rank-1": None}
"""Files of PyTorch's profiler and their periods in seconds; None where the recording is too short to tell one."""
OF_THE_RUN_S = 0.22010
"""What the README of the shared data says: the first file and the two ranks are of the same run."""
RIGHT_FRAC = 0.02


@pytest.fixture(scope="module")
def found() -> dict[str, list[TrafficProfile]]:
    profiles = {name: list(_profiles(name)) for name in PERIODS_S}
    rows = [["file", "rank and group", "truth", "found", "confidence", "status", "reason"]]
    rows += [
        [
            name,
            one.label,
            format_duration(PERIODS_S[name]),
            format_duration(one.period_s),
            cell(one.confidence, ".3f"),
            one.status,
            one.reason,
        ]
        for name, of_file in profiles.items()
        for one in of_file
    ]
    print(f"\n\nprofiler traces\n\n{layout(rows, to_left=('rank and group', 'status', 'reason'))}")  # noqa: T201
    return profiles


def test_a_trace_of_three_steps_has_their_period(found: dict[str, list[TrafficProfile]]) -> None:
    for name, period_s in PERIODS_S.items():
        given = [one.period_s for one in found[name] if one.period_s is not None]
        if period_s is not None:
            assert given
            assert given == pytest.approx([period_s] * len(given), rel=RIGHT_FRAC)


@pytest.mark.parametrize("name", [name for name, period_s in PERIODS_S.items() if period_s is None])
def test_a_trace_too_short_for_an_iteration_is_silent_or_has_the_period_of_its_run(
    name: str, found: dict[str, list[TrafficProfile]]
) -> None:
    assert found[name]
    for one in found[name]:
        assert one.period_s is None or one.period_s == pytest.approx(OF_THE_RUN_S, rel=RIGHT_FRAC)
        assert one.period_s is not None or one.reason


def _profiles(name: str) -> Iterator[TrafficProfile]:
    _, events, problems = read_sources(shared(f"kineto/{name}.json.gz"))
    assert not problems
    for of_rank in events:
        yield profile_events(of_rank)
