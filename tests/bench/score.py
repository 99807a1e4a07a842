"""Score our detector alone, quickly: ``python -m tests.bench.score --seeds 1-5 --families gpt,two_jobs``.

For tuning; the seeds that `make bench` reports on are refused.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Final

from profiler.synth import FAMILIES
from tests.bench.runs import OURS, judge_all
from tests.bench.tables import families_table, reliability_table, worst_table
from tests.bench.traces import HELD_OUT, trace_keys

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

N_WORKERS: Final = 2


def main(arguments: Sequence[str]) -> int:
    """Print how our detector fares by family, its worst cases and its reliability."""
    asked = _parser().parse_args(arguments)
    held_out = set(asked.seeds) & set(HELD_OUT)
    if held_out:
        sys.stderr.write(f"seeds {sorted(held_out)} are held out for reporting; tune on others\n")
        return 2
    judged = judge_all(OURS, trace_keys(asked.seeds, families=asked.families), n_workers=asked.workers)
    parts = [families_table(judged), worst_table(judged, n_most=asked.worst), reliability_table(judged)]
    sys.stdout.write("\n\n".join(parts) + "\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.score", description=main.__doc__)
    parser.add_argument("--seeds", type=_seeds, default=[1, 2], help="such as 1-5 or 1,4,7; default 1-2")
    parser.add_argument("--families", type=_families, default=list(FAMILIES), help=f"of {', '.join(FAMILIES)}")
    parser.add_argument("--worst", type=int, default=40, help="how many wrong or missed traces to list; default 40")
    parser.add_argument("--workers", type=int, default=N_WORKERS, help="processes; default 2")
    return parser


def _seeds(text: str) -> list[int]:
    seeds: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        seeds.extend(range(int(first), int(last or first) + 1))
    return seeds


def _families(text: str) -> list[str]:
    asked = text.split(",")
    unknown = [family for family in asked if family not in FAMILIES]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown {', '.join(unknown)}; choose from {', '.join(FAMILIES)}")
    return asked


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
