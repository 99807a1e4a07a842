"""Commands that write a lake, killed at many moments; ``OFFBEAT_BENCH_KILLS=200`` takes a quarter of an hour."""

from __future__ import annotations

import os

import pytest

from tests.bench.kills import kills_table, run_kills
from tests.bench.victims import VICTIMS

N_KILLS = int(os.environ.get("OFFBEAT_BENCH_KILLS", "20"))


@pytest.mark.parametrize("name", VICTIMS)
def test_no_kill_loses_what_was_sealed_and_no_reader_is_wrong(name: str) -> None:
    run = run_kills(name, n_kills=N_KILLS, seed=6)
    print(f"\n\n{kills_table([run])}")  # noqa: T201
    assert run.faults == []
