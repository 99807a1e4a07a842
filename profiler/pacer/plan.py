"""Reading a job's slots from a shift plan."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from profiler.pacer.slots import Slots

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["PlanError", "PlannedSlots", "read_planned_slots"]

_KINDS: Final = ("shift_plan", "analysis", "compat")
"""Documents of Offbeat that carry ``shifts``."""


class PlanError(ValueError):
    """A shift plan that cannot be followed: unreadable, not a plan, or without the job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSlots:
    """One job's part of a plan.

    ``period_s`` None does not pace the job. Slot 0 starts ``shift_s`` after the anchor: where a plan tells when an
    iteration begins (its ``shift_s``) and how long after that its communication does (``lead_s``), this is their sum,
    since the pacer holds the communication. ``valid_from_ns`` is the moment from which the plan counts, ns since the
    Unix epoch; None leaves it to the reader. Two plans are equal if their slots are.
    """

    period_s: float | None
    shift_s: float = 0.0
    anchor_ns: int = 0
    valid_from_ns: int | None = field(default=None, compare=False)

    def to_slots(self, *, tolerance_frac: float) -> Slots | None:
        """Return the slots; None for a job that is not paced.

        Raises
        ------
        ValueError
            If they have no meaning.
        """
        if self.period_s is None:
            return None
        return Slots.from_times(
            period_s=self.period_s, shift_s=self.shift_s, anchor_ns=self.anchor_ns, tolerance_frac=tolerance_frac
        )


def read_planned_slots(path: Path, *, job: str) -> PlannedSlots:
    """Read one job's slots from a file that ``offbeat`` wrote: a shift plan, an analysis, or a link's compatibility.

    Raises
    ------
    PlanError
        If the file is not such a document, has no such job, or slots without a meaning.
    OSError
        If the file cannot be read.
    """
    plan = _read_plan(path)
    shift = _shift_of(plan, job=job, path=path)
    anchor_ns = _time_ns(plan, "anchor_ns", path=path) or 0
    valid_from_ns = _time_ns(plan, "valid_from_ns", path=path)
    if shift.get("pace_period_s") is None:
        return PlannedSlots(period_s=None, valid_from_ns=valid_from_ns)
    try:
        planned = PlannedSlots(
            period_s=_number(shift, "pace_period_s"),
            # Plans of before lead_s was written have none.
            shift_s=_number(shift, "shift_s") + (_number(shift, "lead_s") if "lead_s" in shift else 0.0),
            anchor_ns=anchor_ns,
            valid_from_ns=valid_from_ns,
        )
        planned.to_slots(tolerance_frac=0.0)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise PlanError(f"{path}: job {job}: cannot hold {shift}: {error}") from error
    return planned


def _read_plan(path: Path) -> dict[str, Any]:
    try:
        plan: Any = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise PlanError(f"{path}: not a JSON document ({error}); write a plan with offbeat analyze") from error
    if not isinstance(plan, dict) or plan.get("kind") not in _KINDS:
        kind = plan.get("kind") if isinstance(plan, dict) else None
        raise PlanError(
            f"{path}: kind is {kind!r}, expected one of {', '.join(_KINDS)}; write a plan with offbeat analyze"
        )
    if plan.get("version") != 1:
        raise PlanError(
            f"{path}: version is {plan.get('version')!r}, this pacer reads version 1; use the offbeat that wrote it"
        )
    return plan


def _shift_of(plan: dict[str, Any], *, job: str, path: Path) -> dict[str, Any]:
    shifts = plan.get("shifts")
    if not isinstance(shifts, list) or not all(isinstance(shift, dict) for shift in shifts):
        raise PlanError(f"{path}: shifts is {type(shifts).__name__}, expected a list of objects")
    names = [str(shift.get("job")) for shift in shifts]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise PlanError(f"{path}: job {twice!r} has two shifts; leave one")
    found: dict[str, dict[str, Any]] = dict(zip(names, shifts, strict=True))
    if job not in found:
        raise PlanError(f"{path}: no job {job!r}; the plan has {', '.join(sorted(found)) or 'no jobs'}")
    return found[job]


def _number(shift: dict[str, Any], key: str) -> float:
    value = shift[key]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{key} is {value!r}, expected a number of seconds")
    return value


def _time_ns(plan: dict[str, Any], key: str, *, path: Path) -> int | None:
    value = plan.get(key)
    if value is not None and type(value) is not int:
        raise PlanError(f"{path}: {key} is {value!r}, expected whole ns since the Unix epoch")
    return value
