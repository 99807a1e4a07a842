"""`PlanWatch`: a plan file that may be written anew while the job runs."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Final

from profiler.pacer.plan import PlanError, PlannedSlots, read_planned_slots
from profiler.pacer.slots import NS_PER_S

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["PlanWatch", "mark_of"]

STAT_EVERY_NS: Final = NS_PER_S
"""Time between looks at the file: a look takes microseconds on a local disk, but may cross a network."""
SWITCH_NS: Final = 5 * NS_PER_S
"""A plan counts from so long after it was written, when all ranks have seen it: NFS shows changes in some 3 s."""

_log = logging.getLogger(__name__)

_Mark = tuple[int, ...]


class PlanWatch:
    """Looks at a plan file and tells when other slots are to be held.

    Parameters
    ----------
    path : Path
        The file.
    job : str
        The job's name in it.
    planned : PlannedSlots
        What was read from it.
    wall_ns : int
        The wall clock then: a plan that counts from later on is not held yet.
    mark : tuple of int
        The file's `mark_of` from just before that.

    Attributes
    ----------
    current : PlannedSlots
        What is to be held now: nothing, before the first plan counts.
    error : str or None
        Why the file, as it was when last looked at, is not followed.

    Notes
    -----
    Ranks of a job must change slots together. They read one clock each but the same file: a changed plan counts from
    its ``valid_from_ns``, or else from 5 s after the file was written, as its times of modification
    and of change tell: a file that is moved into its place keeps the first, and gets another one of the second.

    A file that cannot be followed is looked at again a second later, since it may be half written; if it has not
    changed by then it is logged, once, and the slots of before stay: those held, whatever was to come.
    """

    def __init__(self, path: Path, *, job: str, planned: PlannedSlots, mark: _Mark, wall_ns: int) -> None:
        self._path = path
        self._job = job
        self._from_ns = planned.valid_from_ns or 0
        is_early = wall_ns < self._from_ns
        self.current = PlannedSlots(period_s=None) if is_early else planned
        self._coming = planned if is_early else None
        self._mark = mark
        self._bad_mark: _Mark | None = None
        self._told_mark: _Mark | None = None
        self._looked_ns: int | None = None
        self.error: str | None = None

    def look(self, *, wall_ns: int, steady_ns: int) -> None:
        """Look at the file, at most once a second."""
        if self._looked_ns is not None and steady_ns - self._looked_ns < STAT_EVERY_NS:
            return
        self._looked_ns = steady_ns
        mark = mark_of(self._path)
        if mark != self._mark or self.error is not None:
            self._read(mark, wall_ns=wall_ns)

    def take(self, slot_ns: int) -> PlannedSlots | None:
        """Return what is to be held from a slot of the plan before on, if that is new by then."""
        if self._coming is None or slot_ns < self._from_ns:
            return None
        self.current, self._coming = self._coming, None
        return self.current

    def _read(self, mark: _Mark, *, wall_ns: int) -> None:
        try:
            planned = read_planned_slots(self._path, job=self._job)
        except (PlanError, OSError) as error:
            self._bear_with(mark, error)
            return
        if self.error is not None:
            _log.info("%s: can be followed again", self._path)
        self._mark = mark
        self._bad_mark = self._told_mark = self.error = None
        is_new = planned != self.current
        self._coming = planned if is_new else None
        if is_new:
            self._from_ns = _valid_from_ns(planned, mark, wall_ns=wall_ns)
            _log.info("%s: a new plan for job %s, held from %d ns on", self._path, self._job, self._from_ns)

    def _bear_with(self, mark: _Mark, error: Exception) -> None:
        if mark == self._bad_mark and mark != self._told_mark:
            _log.warning("%s; the slots of before stay", error)
            self._told_mark = mark
            self._coming = None
            self.error = str(error)
        self._bad_mark = mark


def mark_of(path: Path) -> _Mark:
    """Return what changes when a file is written anew; nothing if there is no file."""
    try:
        stat = os.stat(path)  # noqa: PTH116 - half the time of Path.stat, once a second in a training loop
    except OSError:
        return ()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


def _valid_from_ns(planned: PlannedSlots, mark: _Mark, *, wall_ns: int) -> int:
    if planned.valid_from_ns is not None:
        return planned.valid_from_ns
    # A file server's clock may run ahead.
    return min(max(mark[2:], default=wall_ns), wall_ns) + SWITCH_NS
