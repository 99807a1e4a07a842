"""Results as tables of text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from profiler.synth import PERIODIC
from profiler.units import format_duration
from tests.bench.reliability import SURE, reliability, right_at_least
from tests.bench.scoring import KINDS, total

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.bench.scoring import Judged, Kind, Score

__all__ = ["cell", "durations", "families_table", "layout", "methods_table", "reliability_table", "worst_table"]


def layout(rows: Sequence[Sequence[str]], *, to_left: Collection[str] = ()) -> str:
    """Return rows, the first of which is the head, as lines with aligned columns.

    Cells stand to the right but for those of the first column and of the columns named ``to_left``.
    """
    widths = [max(len(text) for text in column) for column in zip(*rows, strict=True)]
    sides = ["<" if i == 0 or name in to_left else ">" for i, name in enumerate(rows[0])]
    lines = [
        "  ".join(f"{text:{side}{width}}" for text, side, width in zip(row, sides, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def cell(value: float | None, form: str) -> str:
    """Return a value in a form, or a dash where there is none."""
    return "-" if value is None else format(value, form)


def durations(periods_s: Sequence[float]) -> str:
    """Return periods in words, the first one first."""
    return " + ".join(format_duration(period_s) for period_s in periods_s) or "-"


def methods_table(scores: Mapping[str, Score], *, skipped: Mapping[str, str]) -> str:
    """Return TARGETS' table: one row a method, and why others are missing."""
    head = ["method", "periodic", "right", "harmonic/multiple", "other", "silent", "invented", "undersampled wrong"]
    rows = [[*head, "extra", "both jobs", "Up overlap", "ms/trace", "ms/10^4"]]
    for name, score in scores.items():
        n_of = score.n_of
        rows.append(
            [
                name,
                str(score.n_periodic),
                cell(score.right_frac, ".1%"),
                f"{n_of['harmonic']} / {n_of['multiple']}",
                str(n_of["other"]),
                str(n_of["silent"]),
                f"{score.n_invented} of {score.n_silent_wanted}",
                f"{score.n_undersampled_wrong} of {score.n_undersampled}",
                str(score.n_extra),
                f"{score.n_both} of {score.n_two_jobs}",
                cell(score.up_overlap, ".3f"),
                f"{score.ms_per_trace:.2f}",
                f"{score.ms_per_10k:.2f}",
            ]
        )
    return "\n".join([layout(rows), *(f"{name}: skipped, {why}" for name, why in skipped.items())])


def families_table(judged: Iterable[Judged]) -> str:
    """Return one row a family: how many of its traces are right, silent or wrong, how well, and how fast."""
    in_order = sorted(judged, key=lambda one: one.key.family)
    rows = [["family", "n", *KINDS, "extra", "all jobs", "Up overlap", "log-Otsu", "ms/10^4", "profile ms/10^4"]]
    for family, group in groupby(in_order, key=lambda one: one.key.family):
        rows.append(_family_row(family, list(group)))
    rows.append(_family_row("all", in_order))
    return layout(rows)


def reliability_table(judged: Iterable[Judged]) -> str:
    """Return the reliability diagram as text, and how many of the sure answers are right."""
    all_of = list(judged)
    rows = [["confidence", "answers", "mean stated", "right", "95 % interval"]]
    for one in reliability(all_of):
        low, high = one.interval
        rows.append(
            [
                f"{one.from_frac:.2f}-{one.to_frac:.2f}",
                str(one.n_answers),
                f"{one.mean_confidence:.3f}",
                f"{one.right_frac:.3f}",
                f"{low:.3f}-{high:.3f}",
            ]
        )
    n_right, n_sure = right_at_least(all_of, SURE)
    return f"{layout(rows)}\nof the {n_sure} answers given at {SURE} or more, {n_right} are right"


def worst_table(judged: Iterable[Judged], *, n_most: int) -> str:
    """Return what is wrong: crashes, invented periods, wrong ones, jobs too many, and missed ones; the surest first."""
    bad = [one for one in judged if one.n_extra or one.kind not in ("right", "silent") or _is_missed(one)]
    bad.sort(key=lambda one: (_ORDER.index(one.kind), -(one.confidence or 0.0), one.key))
    rows = [["trace", "kind", "n", "truth", "found", "confidence", "status", "reason"]]
    rows += [
        [
            str(one.key),
            one.kind + (f" + {one.n_extra} extra" if one.n_extra else ""),
            str(one.n_samples),
            durations(one.truth_s),
            durations(one.found_s),
            cell(one.confidence, ".3f"),
            one.status,
            one.reason,
        ]
        for one in bad[:n_most]
    ]
    return layout(rows, to_left=("reason", "status")) if len(rows) > 1 else "nothing wrong, nothing missed"


_ORDER: Final[tuple[Kind, ...]] = ("failed", "invented", "other", "multiple", "harmonic", "right", "silent")
"""From the worst kind of answer to the least bad."""


def _is_missed(one: Judged) -> bool:
    return one.kind == "silent" and one.key.family in PERIODIC


def _family_row(family: str, judged: Sequence[Judged]) -> list[str]:
    score = total(judged)
    return [
        family,
        str(len(judged)),
        *(str(sum(one.kind == kind for one in judged)) for kind in KINDS),
        str(score.n_extra),
        str(sum(one.has_both for one in judged)) if any(len(one.truth_s) > 1 for one in judged) else "-",
        cell(score.up_overlap, ".3f"),
        cell(score.otsu_overlap, ".3f"),
        f"{score.ms_per_10k:.2f}",
        cell(score.profile_ms_per_10k, ".2f"),
    ]
