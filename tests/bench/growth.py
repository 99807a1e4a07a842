"""Whether the analysis keeps its pace and its memory as a lake grows tenfold.

``python -m tests.bench.growth [--samples 1e7 1e8] [--series 1000] [--folder /tmp]``: each lake is written, analysed on
two processes, and deleted.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.bench.fleet import Fleet, write_fleet
from tests.bench.steps import MB, OFFBEAT, Step, run_step, scan_command
from tests.bench.tables import layout

__all__ = ["FULL_SAMPLES", "MAX_BYTES", "MAX_S", "GrownLake", "growth_table", "run_growth"]

MAX_BYTES: Final = 2 * 10**9
MAX_S: Final = 60.0
FULL_SAMPLES: Final = 10**8
"""TARGETS: so many samples, in 1,000 series, in so long on two processors; more in as much more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GrownLake:
    """A lake, and what a bare scan and the analysis of it took."""

    fleet: Fleet
    scan: Step
    analysis: Step

    @property
    def limit_s(self) -> float:
        """Seconds that the analysis may take on processors of its own."""
        return MAX_S * max(1.0, self.fleet.n_samples / FULL_SAMPLES)


def run_growth(sizes: Iterable[int], *, n_series: int, folder: Path | None = None) -> Iterator[GrownLake]:
    """Yield what becomes of lakes of so many samples, all of as many series."""
    for n_samples in sizes:
        fleet = Fleet(n_ports=n_series // 2, duration_s=n_samples // n_series)
        with tempfile.TemporaryDirectory(dir=folder) as made:
            lake = Path(made) / "lake"
            cluster = write_fleet(lake, fleet)
            scan = run_step("bare scan", scan_command(lake))
            command = ["analyze", "--lake", str(lake), "--cluster", str(cluster), "--workers", "2", "--json"]
            yield GrownLake(fleet=fleet, scan=scan, analysis=run_step("analyze", [*OFFBEAT, *command]))


def growth_table(lakes: Sequence[GrownLake]) -> str:
    """Return one row a lake; memory as a ratio to that of the first."""
    head = ["samples", "series", "wall s", "limit s", "CPU s", "CPU / scan", "us of CPU a sample"]
    rows = [[*head, "peak MB", "limit MB", "to the first", "load", "exit"]]
    rows += [
        [
            f"{lake.fleet.n_samples:.0e}",
            str(2 * lake.fleet.n_ports),
            f"{lake.analysis.wall_s:.1f}",
            f"{lake.limit_s:.0f}",
            f"{lake.analysis.cpu_s:.1f}",
            f"{lake.analysis.cpu_s / lake.scan.cpu_s:.0f}" if lake.scan.cpu_s else "-",
            f"{1e6 * lake.analysis.cpu_s / lake.fleet.n_samples:.2f}",
            f"{lake.analysis.peak_bytes / MB:.0f}",
            f"{MAX_BYTES / MB:.0f}",
            f"{lake.analysis.peak_bytes / lakes[0].analysis.peak_bytes:.2f}",
            f"{lake.analysis.load:.1f}",
            str(lake.analysis.exit_code),
        ]
        for lake in lakes
    ]
    return layout(rows)


def main() -> None:
    """Measure lakes as the command line tells, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=float, nargs="+", default=[1e7, 1e8])
    parser.add_argument("--series", type=int, default=1000)
    parser.add_argument("--folder", type=Path, help="where lakes are, for a while")
    given = parser.parse_args()
    sizes = [int(n_samples) for n_samples in given.samples]
    sys.stdout.write(growth_table(list(run_growth(sizes, n_series=given.series, folder=given.folder))) + "\n")


if __name__ == "__main__":
    main()
