"""The table of TARGETS as text: one row a family and method."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from tests.bench.compatibility.cases import FAMILIES
from tests.bench.compatibility.methods import OURS
from tests.bench.tables import layout

if TYPE_CHECKING:
    from tests.bench.compatibility.cases import Family
    from tests.bench.compatibility.judging import Judged

__all__ = ["families_table"]

PUBLISHED: Final[Mapping[tuple[str, str], str]] = {
    ("2 jobs, 2 phases, equal T", OURS): "exact, 0.04 ms",
    ("2 jobs, 2 phases, equal T", "5-degree grid"): "error .007 / .019",
    ("2 jobs, 2 phases, equal T", "Rust peer (twin)"): "error .007 / .022",
    ("2 jobs, 2 phases, equal T", "CP-SAT"): "33 ms",
    ("2 jobs, 2 phases, harmonic T", OURS): "exact, 0.02 ms",
    ("2 jobs, 2 phases, harmonic T", "5-degree grid"): "error .011 / .025",
    ("2 jobs, 2 phases, harmonic T", "Rust peer (twin)"): "error .13 / .22",
    ("2 jobs, 2 phases, harmonic T", "CP-SAT"): "71 ms",
    ("3 jobs, 6 phases, equal T", OURS): "exact, 1.3 ms",
    ("3 jobs, 6 phases, equal T", "5-degree grid"): "error .004 / .019",
    ("3 jobs, 6 phases, equal T", "Rust peer (twin)"): "error .011 / .054",
    ("3 jobs, 6 phases, equal T", "CP-SAT"): "1.2 s",
    ("3 jobs, 6 phases, harmonic T", OURS): "exact, 0.5 ms",
    ("3 jobs, 6 phases, harmonic T", "5-degree grid"): "error .025 / .057",
    ("3 jobs, 6 phases, harmonic T", "Rust peer (twin)"): "error .56 / .66",
    ("3 jobs, 6 phases, harmonic T", "CP-SAT"): "0.4 s",
    ("4 jobs, 6 phases, equal T", OURS): "exact, 35 ms",
    ("4 jobs, 6 phases, equal T", "5-degree grid"): "error .005 / .012",
    ("4 jobs, 6 phases, equal T", "Rust peer (twin)"): "error .018 / .050",
    ("4 jobs, 6 phases, equal T", "CP-SAT"): "20 s, unproved",
}
"""TARGETS' own figures, on cases of its own: our row there is its prototype."""

HEAD: Final = ("case", "method", "cases", "claim error mean / max", "loss mean / max", "proved", "gap mean / max")


def families_table(judged: Iterable[Judged], *, skipped: Mapping[str, str]) -> str:
    """Return how far each method's claims are off, what it loses, proves and takes, family by family."""
    rows = [[*HEAD, "ms mean / max", "in TARGETS", "wanted of us"]]
    all_of = list(judged)
    for name, family in FAMILIES.items():
        of_family = [one for one in all_of if one.case.family == name]
        methods = list(dict.fromkeys(one.method for one in of_family))
        rows += [
            _row(name, method, [one for one in of_family if one.method == method], family=family) for method in methods
        ]
    left = ("method", "in TARGETS", "wanted of us")
    return "\n".join([layout(rows, to_left=left), *(f"{name}: skipped, {why}" for name, why in skipped.items())])


def _row(name: str, method: str, judged: list[Judged], *, family: Family) -> list[str]:
    gaps = [one.gap for one in judged if one.gap is not None]
    return [
        name,
        method,
        str(len(judged)),
        _pair([one.claim_error for one in judged], ".4f", floor=1e-12),
        _pair([one.loss for one in judged], ".4f", floor=1e-12),
        f"{sum(one.is_proved for one in judged)} of {len(judged)}" if gaps else "-",
        _pair(gaps, ".4f", floor=1e-12) if gaps else "-",
        _pair([1e3 * one.spent_s for one in judged], ".3g", floor=0.0),
        PUBLISHED.get((name, method), "-"),
        _wanted(family) if method == OURS else "-",
    ]


def _pair(values: list[float], form: str, *, floor: float) -> str:
    """Return mean and maximum; what is below the floor is rounding, and shown as 0."""
    return " / ".join("0" if value <= floor else format(value, form) for value in (np.mean(values), np.max(values)))


def _wanted(family: Family) -> str:
    return f"<= {family.max_ms:g} ms" + (", proved" if family.is_proved else "")
