"""Solve some families alone, quickly: ``python -m tests.bench.compatibility --only ours --families "4 jobs"``."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from tests.bench.compatibility.cases import FAMILIES
from tests.bench.compatibility.judging import judge_family, runs_here
from tests.bench.compatibility.tables import families_table

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Print the table of some families and methods."""
    asked = _parser().parse_args(arguments)
    methods = [name for name in runs_here() if asked.only.lower() in name.lower()]
    seeds = range(1, 1 + asked.seeds)
    families = [name for name in FAMILIES if asked.families in name]
    judged = [one for name in families for one in judge_family(name, seeds=seeds, methods=methods)]
    sys.stdout.write(families_table(judged, skipped={}) + "\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.compatibility", description=main.__doc__)
    parser.add_argument("--families", default="", help="part of a family's name; default all")
    parser.add_argument("--only", default="", help="part of a method's name; default all")
    parser.add_argument("--seeds", type=int, default=12, help="links a family; default 12")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
