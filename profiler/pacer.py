"""Hold a training job on its slot: two lines in the training loop apply a recommended shift and keep it.

::

    pacer = Pacer.from_plan("plan.json", job="A")
    for batch in loader:
        ...                      # forward, backward
        pacer.wait()             # right before the iteration's first communication
        dist.all_reduce(...)

Slot k starts at ``anchor + shift + k * period``. The anchor is a moment of the wall clock (by default the Unix epoch),
so ranks and jobs on several hosts share their slots without talking to each other, as far as their clocks agree: NTP
within a few milliseconds is enough for periods of tenths of a second. A step of the wall clock moves all slots with it;
the pacer then takes the next slot, counts one adjustment, and never waits longer than one period.

Standard library only, so that a training script can import it cheaply.
"""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

__all__ = ["Pacer", "PlanError"]

_NS_PER_S: Final = 1_000_000_000
_SPIN_NS: Final = 200_000
"""Time before a slot that is spent yielding rather than sleeping: a sleep of Linux wakes some 70 µs late."""
_KINDS: Final = ("shift_plan", "analysis", "compat")
"""Documents of Offbeat that carry ``shifts``."""

_log = logging.getLogger(__name__)


class PlanError(ValueError):
    """A shift plan that cannot be followed: unreadable, not a plan, or without the job."""


class Pacer:
    """Waits for this job's slot before each communication.

    Parameters
    ----------
    period_s : float or None
        Slot period in seconds, a few per cent above the job's natural period so that lateness is recovered. None
        makes a pacer that never waits.
    shift_s : float
        Start of slot 0 after the anchor, in seconds; any sign and size.
    anchor_ns : int
        Common anchor of all jobs, ns since the Unix epoch.
    tolerance_frac : float
        Lateness, as a fraction of the period, up to which an iteration still goes in its slot; in [0, 1).
    clock : callable
        Returns the wall clock in ns.
    sleep : callable
        Sleeps for a time in seconds.

    Raises
    ------
    ValueError
        If the period is not positive and finite, the shift not finite, or the tolerance outside [0, 1).

    Notes
    -----
    Early: wait for the slot. Late by at most the tolerance: go at once. Later: give up the slot, take the slot that is
    open now (begun within the tolerance) or else the next one, and count one adjustment, however many slots were
    missed. The first iteration has no slot to miss: it takes the open or next slot without an adjustment.

    Examples
    --------
    >>> now_ns = [0]
    >>> def sleep(seconds):
    ...     now_ns[0] += max(1, round(seconds * 1e9))
    >>> pacer = Pacer(period_s=0.266, shift_s=0.133, clock=lambda: now_ns[0], sleep=sleep)
    >>> pacer.wait()
    0.133
    >>> now_ns[0] += 300_000_000
    >>> pacer.wait(), pacer.n_adjustments
    (0.0, 0)
    """

    def __init__(
        self,
        *,
        period_s: float | None,
        shift_s: float = 0.0,
        anchor_ns: int = 0,
        tolerance_frac: float = 0.15,
        clock: Callable[[], int] = time.time_ns,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        _check(period_s=period_s, shift_s=shift_s, tolerance_frac=tolerance_frac)
        self.n_iterations = 0
        self.n_waits = 0
        self.n_adjustments = 0
        self._waited_ns = 0
        self._late_ns = 0
        self._period_ns = 0 if period_s is None else round(period_s * _NS_PER_S)
        self._origin_ns = anchor_ns + round(shift_s * _NS_PER_S)
        self._tolerance_ns = round(tolerance_frac * self._period_ns)
        self._i_slot: int | None = None
        self._clock = clock
        self._sleep = sleep

    @classmethod
    def off(cls) -> Pacer:
        """Return a pacer that never waits, so that an unmanaged job runs the same code."""
        return cls(period_s=None)

    @classmethod
    def from_plan(cls, path: str | Path, *, job: str, tolerance_frac: float = 0.15) -> Pacer:
        """Read this job's slot from a shift plan.

        Parameters
        ----------
        path : str or Path
            JSON file written by ``offbeat``: a shift plan, an analysis, or the compatibility of one link.
        job : str
            The job's name in the plan.
        tolerance_frac : float
            See `Pacer`.

        Returns
        -------
        Pacer
            One that never waits, and says so in the log, if the plan does not pace this job.

        Raises
        ------
        PlanError
            If the file is not such a document, or has no such job.
        OSError
            If the file cannot be read.
        """
        plan = _read_plan(Path(path))
        shift = _shift_of(plan, job=job, path=Path(path))
        if shift.get("pace_period_s") is None:
            _log.warning("%s: the plan does not pace job %s; its pacer never waits", path, job)
            return cls.off()
        try:
            return cls(
                period_s=shift["pace_period_s"],
                shift_s=shift["shift_s"],
                anchor_ns=plan.get("anchor_ns", 0),
                tolerance_frac=tolerance_frac,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise PlanError(f"{path}: job {job}: cannot hold {shift}: {error}") from error

    @property
    def is_on(self) -> bool:
        """Whether this pacer ever waits."""
        return self._period_ns > 0

    def wait(self) -> float:
        """Wait for this iteration's slot; return the time waited in seconds."""
        self.n_iterations += 1
        if not self.is_on:
            return 0.0
        now_ns = self._clock()
        self._i_slot = self._choose_slot(now_ns)
        start_ns = self._slot_start_ns(self._i_slot)
        self._late_ns = max(0, now_ns - start_ns)
        if start_ns <= now_ns:
            return 0.0
        self._wait_until(start_ns)
        waited_ns = max(0, self._clock() - now_ns)
        self.n_waits += 1
        self._waited_ns += waited_ns
        return waited_ns / _NS_PER_S

    def statistics(self) -> dict[str, Any]:
        """Return the counts so far, and the lateness of the last iteration at its slot, in seconds."""
        return {
            "n_iterations": self.n_iterations,
            "n_waits": self.n_waits,
            "n_adjustments": self.n_adjustments,
            "waited_s": self._waited_ns / _NS_PER_S,
            "last_late_s": self._late_ns / _NS_PER_S,
        }

    def _slot_start_ns(self, i_slot: int) -> int:
        return self._origin_ns + i_slot * self._period_ns

    def _choose_slot(self, now_ns: int) -> int:
        if self._i_slot is None:
            return self._open_or_next_slot(now_ns)
        i_slot = self._i_slot + 1
        late_ns = now_ns - self._slot_start_ns(i_slot)
        # More than a period early is possible only if the clock was set back.
        if -self._period_ns <= late_ns <= self._tolerance_ns:
            return i_slot
        self.n_adjustments += 1
        taken = self._open_or_next_slot(now_ns)
        _log.info(
            "adjustment %d at iteration %d: %+.1f ms from slot %d, takes slot %d",
            *(self.n_adjustments, self.n_iterations, late_ns / 1e6, i_slot, taken),
        )
        return taken

    def _open_or_next_slot(self, now_ns: int) -> int:
        i_slot, into_slot_ns = divmod(now_ns - self._origin_ns, self._period_ns)
        return i_slot if into_slot_ns <= self._tolerance_ns else i_slot + 1

    def _wait_until(self, start_ns: int) -> None:
        while 0 < (left_ns := start_ns - self._clock()) <= self._period_ns:
            # Yielding, not spinning: the process's other threads may want to run.
            self._sleep((left_ns - _SPIN_NS) / _NS_PER_S if left_ns > _SPIN_NS else 0.0)


def _check(*, period_s: float | None, shift_s: float, tolerance_frac: float) -> None:
    if period_s is not None and not 1e-9 <= period_s < math.inf:
        raise ValueError(f"period_s {period_s!r}: must be positive and finite, or None for a pacer that never waits")
    if not math.isfinite(shift_s):
        raise ValueError(f"shift_s {shift_s!r}: must be finite")
    if not 0 <= tolerance_frac < 1:
        raise ValueError(f"tolerance_frac {tolerance_frac!r}: must lie in [0, 1)")


def _read_plan(path: Path) -> dict[str, Any]:
    try:
        plan: Any = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
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
    found: dict[str, dict[str, Any]] = {str(shift.get("job")): shift for shift in shifts}
    if job not in found:
        raise PlanError(f"{path}: no job {job!r}; the plan has {', '.join(sorted(found)) or 'no jobs'}")
    return found[job]
