"""Compaction of a large lake: how large its files become, and how much memory that takes.

Run alone with ``python -m tests.bench.merges [--mrows 100] [--folder /tmp]``.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from profiler.store import Lake, Recording, Series, recording_id
from tests.bench.memory import Usage, run_offbeat
from tests.bench.tables import layout
from tests.bench.writes import N_COUNTERS, TICK_NS, draw_ticks

__all__ = ["MergeRun", "fill_lake", "merges_table", "run_merges"]

TICKS_A_FILE: Final = 60_000
"""A minute of 16 counters: a file of 5 MB."""
START_TICKS: Final = -70_000_000
"""Where the first recording begins, from the time that ticks are drawn at: so early that all is of one day."""
MB: Final = 10**6


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRun:
    """What compaction did to a lake."""

    n_rows: int
    before_bytes: tuple[int, ...]
    after_bytes: tuple[int, ...]
    used: Usage
    check: Usage
    problems: tuple[str, ...]


def run_merges(sizes: Iterable[int], *, folder: Path | None = None) -> Iterator[MergeRun]:
    """Yield what compaction does to lakes of some numbers of recordings."""
    for n_recordings in sizes:
        with tempfile.TemporaryDirectory(dir=folder) as made:
            lake = Path(made) / "lake"
            fill_lake(lake, n_recordings=n_recordings)
            before = _sizes(lake)
            used = run_offbeat(["lake", str(lake), "--compact"], answer=Path(made) / "answer")
            check = run_offbeat(["lake", str(lake), "--check", "--json"], answer=Path(made) / "check")
            yield MergeRun(
                n_rows=n_recordings * TICKS_A_FILE * N_COUNTERS,
                before_bytes=before,
                after_bytes=_sizes(lake),
                used=used,
                check=check,
                problems=tuple(json.loads((Path(made) / "check").read_bytes())["problems"]),
            )


def fill_lake(path: Path, *, n_recordings: int) -> None:
    """Make a lake of one recording a minute."""
    lake = Lake.open(path, create=True)
    drawn = draw_ticks("bursty", n_ticks=TICKS_A_FILE, rng=np.random.default_rng(5))
    for i_recording in range(n_recordings):
        start_ticks = START_TICKS + i_recording * TICKS_A_FILE
        ticks = replace(drawn, t_ns=drawn.t_ns + start_ticks * TICK_NS, value=drawn.value + i_recording * 10**12)
        key = recording_id(str(i_recording), parser="bench", parser_version=1)
        with lake.writer(Recording(recording_id=key, source=str(i_recording), format="bench")) as writer:
            for i in range(N_COUNTERS):
                series_id = writer.add_series(
                    Series(host="h1", device=f"mlx5_{i}", direction="transmit", layer="rdma_vport")
                )
                writer.write_samples(series_id, ticks.t_ns[i], ticks.value[i], window_ns=ticks.window_ns[i])


def merges_table(runs: Iterable[MergeRun]) -> str:
    """Return one row a lake."""
    rows = [
        [
            "Mrow",
            "files",
            "MB each",
            "files after",
            "MB each after",
            "peak MB",
            "CPU s",
            "check peak MB",
            "CPU s",
            "problems",
        ]
    ]
    rows += [
        [
            f"{run.n_rows / 1e6:.0f}",
            str(len(run.before_bytes)),
            _range(run.before_bytes),
            str(len(run.after_bytes)),
            _range(run.after_bytes),
            f"{run.used.peak_bytes / MB:.0f}",
            f"{run.used.cpu_s:.1f}",
            f"{run.check.peak_bytes / MB:.0f}",
            f"{run.check.cpu_s:.1f}",
            str(len(run.problems)),
        ]
        for run in runs
    ]
    return layout(rows)


def _sizes(lake: Path) -> tuple[int, ...]:
    return tuple(path.stat().st_size for path in Lake.open(lake).files("samples"))


def _range(n_bytes: Sequence[int]) -> str:
    return f"{min(n_bytes) / MB:.0f}-{max(n_bytes) / MB:.0f}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mrows", type=int, default=100, help="million readings; the second lake has twice as many")
    parser.add_argument("--folder", type=Path, help="where lakes are, for a while")
    asked = parser.parse_args()
    n_wanted = max(1, round(asked.mrows * 1e6 / TICKS_A_FILE / N_COUNTERS))
    sys.stdout.write(f"{merges_table(run_merges((n_wanted, 2 * n_wanted), folder=asked.folder))}\n")
