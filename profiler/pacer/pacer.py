"""`Pacer`: what a training loop calls."""

from __future__ import annotations

import logging
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from profiler.pacer.clock import SYSTEM_CLOCK, ClockError, ClockReader, Reading, read_clock_error
from profiler.pacer.hook import waiting_hook
from profiler.pacer.keeper import SlotKeeper
from profiler.pacer.plan import PlannedSlots, read_planned_slots
from profiler.pacer.recent import RecentRate
from profiler.pacer.report import KIND, Reporter, file_name, rank_of_environment, write_atomically
from profiler.pacer.slots import NS_PER_S
from profiler.pacer.waiter import Waiter
from profiler.pacer.watch import PlanWatch, mark_of

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["Pacer"]

_log = logging.getLogger(__name__)

State = Literal["off", "held", "let_go"]


class Pacer:
    """Waits for this job's slot before each communication.

    Parameters
    ----------
    period_s : float or None
        Slot period in seconds, a few per cent above the job's natural period so that lateness is recovered. None
        makes a pacer that never waits.
    shift_s : float
        Start of slot 0, where the first communication of an iteration belongs, after the anchor, in seconds; of any
        sign, and up to 4e9.
    anchor_ns : int
        Common anchor of all jobs, ns since the Unix epoch.
    tolerance_frac : float
        Lateness, as a fraction of the period, up to which an iteration still goes in its slot; in [0, 1).
    clock : callable
        Returns the wall clock in ns. If it has a method ``steady``, that returns a time in ns that is never set.
    sleep : callable
        Sleeps for a time in seconds.

    Raises
    ------
    ValueError
        If the period is not positive and at most 4e9 s, the shift more than that to either side, or the tolerance
        outside [0, 1).

    Notes
    -----
    Early: wait for the slot. Late by at most the tolerance: go at once. Later: give up the slot, take the slot that is
    open now (begun within the tolerance) or else the next one, and count one adjustment, however many slots were
    missed. The first iteration has no slot to miss: it takes the open or next slot without an adjustment. A wall clock
    that was set by more than the tolerance counts as one adjustment too, and as no missed slot.

    Where slots are missed again and again (five in a row, or more than one in twenty for long), the pacer lets go: it
    says so, never waits, and tries again later; see `profiler.pacer.patience`. So no iteration takes longer than the
    longer of itself and its slot, but for missed slots, and these add less than a slot each: five slots at once, and
    5 % in the long run.

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
        clock: Callable[[], int] = SYSTEM_CLOCK,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        planned = PlannedSlots(period_s=period_s, shift_s=shift_s, anchor_ns=anchor_ns)
        self.job: str | None = None
        self.n_clock_steps = 0
        self.n_plans = 0
        self._planned = planned
        self._tolerance_frac = tolerance_frac
        self._keeper = SlotKeeper(planned.to_slots(tolerance_frac=tolerance_frac))
        self._clocks = ClockReader(clock)
        self._waiter = Waiter(self._clocks, sleep)
        self._adjustments = RecentRate()
        self._watch: PlanWatch | None = None
        self._reporter: Reporter | None = None
        self._rank: int | None = None
        self._came_ns: int | None = None
        self._went_ns = 0
        self._is_first = True
        self._warn_of_clock()

    @classmethod
    def off(cls) -> Pacer:
        """Return a pacer that never waits, so that an unmanaged job runs the same code."""
        return cls(period_s=None)

    @classmethod
    def from_plan(cls, path: str | Path, *, job: str, tolerance_frac: float = 0.15) -> Pacer:
        """Read this job's slot from a shift plan, and follow the file: a new plan is taken up while the job runs.

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

        Notes
        -----
        The file is looked at once a second. A new plan counts from the moment ``valid_from_ns`` in it, or else from 5 s
        after it was written, so that all ranks that see one file change together. One that cannot be followed is logged
        once, and the old slots stay. Before the ``valid_from_ns`` of the first plan the pacer never waits. Slots start
        ``shift_s + lead_s`` after the anchor: when iterations begin, and how long after that they communicate.
        """
        path = Path(path)
        mark = mark_of(path)
        planned = read_planned_slots(path, job=job)
        if planned.period_s is None:
            _log.warning("%s: the plan does not pace job %s; its pacer never waits", path, job)
        pacer = cls(period_s=planned.period_s, tolerance_frac=tolerance_frac)
        pacer.job = job
        pacer._watch = PlanWatch(path, job=job, planned=planned, mark=mark, wall_ns=pacer._clocks.wall())
        pacer._hold(pacer._watch.current)
        return pacer

    @property
    def is_on(self) -> bool:
        """Whether this pacer has slots to hold."""
        return self._keeper.slots is not None

    @property
    def state(self) -> State:
        """``off`` without slots, ``held``, or ``let_go`` where slots were missed again and again."""
        if not self.is_on:
            return "off"
        return "let_go" if self._keeper.patience.is_let_go else "held"

    @property
    def n_iterations(self) -> int:
        """Iterations so far."""
        return self._keeper.n_iterations

    @property
    def n_adjustments(self) -> int:
        """Slots given up so far, those of one pause counted once."""
        return self._keeper.n_adjustments

    @property
    def n_waits(self) -> int:
        """Iterations that came early and waited for their slot."""
        return self._waiter.n_waits

    def wait(self) -> float:
        """Wait for this iteration's slot; return the time waited in seconds."""
        self._is_first = False
        now = self._clocks.read()
        self._follow_plan(now)
        start_ns = self._choose(now)
        self._report(now)
        waited_ns = 0 if start_ns is None else self._waiter.wait_until(start_ns, since=now)
        self._went_ns = now.steady_ns + waited_ns
        return waited_ns / NS_PER_S

    __call__ = wait

    def __enter__(self) -> Self:
        """Wait, before the block communicates."""
        self.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Do nothing: the slot is where communication starts."""

    def wait_first(self) -> float:
        """Wait if this is the first communication since `end_iteration`, else go at once; return the time in seconds.

        For loops and frameworks that communicate several times an iteration and do not say which comes first.
        """
        return self.wait() if self._is_first else 0.0

    def end_iteration(self, *_: object) -> None:
        """Let the next `wait_first` wait.

        Takes and ignores any arguments, so that it can be a hook itself:
        ``optimizer.register_step_post_hook(pacer.end_iteration)``.
        """
        self._is_first = True

    def hook(
        self, hook: Callable[[Any, Any], Any], *, until_ready: Callable[[], object] | None = None
    ) -> Callable[[Any, Any], Any]:
        """Return a communication hook for DistributedDataParallel that waits before an iteration's first bucket.

        Parameters
        ----------
        hook : callable
            The hook that communicates, as ``torch.distributed.algorithms.ddp_comm_hooks.default_hooks.allreduce_hook``.
        until_ready : callable or None
            Returns once the device has computed the gradients that are due. A host that only queues work for its
            device runs ahead of it, and would take for early what is late.

        Examples
        --------
        ::

            model.register_comm_hook(None, pacer.hook(default_hooks.allreduce_hook))

        On a GPU, where communication is queued too::

            paced = pacer.hook(allreduce_hook, until_ready=lambda: torch.cuda.current_stream().synchronize())
            model.register_comm_hook(None, paced)
        """
        return waiting_hook(hook, wait=self.wait, until_ready=until_ready)

    def reanchor(self) -> None:
        """Say that a pause is over, or about to come: the next iteration takes the open or next slot, as the first did.

        A pause that is not announced costs one adjustment and nothing else.
        """
        self._keeper.reanchor()

    def statistics(self) -> dict[str, Any]:
        """Return counts so far, how late iterations came, and what is known of the clock; JSON-ready.

        Returns
        -------
        dict
            ``state`` and ``reason`` (why pacing was let go); ``n_iterations``, ``n_waits``, ``n_adjustments`` (a pause
            of several slots, ``n_pauses``, is one), ``n_missed_slots``, ``n_clock_steps``, ``n_plans`` (taken up while
            running), ``plan_error`` (why the plan file as it stands is not followed), ``n_let_go``, ``n_retries``;
            ``waited_s``, ``last_late_s``, ``late_s`` (count, p50, p90, p99, max
            of the lateness at the slot that was due); ``adjustments_per_min`` of the last ten minutes;
            ``own_iteration_s`` (median of the last iterations, waiting left out); the slots; ``clock``.
        """
        keeper, slots, patience = self._keeper, self._planned, self._keeper.patience
        return {
            "state": self.state,
            "reason": keeper.reason,
            "n_iterations": self.n_iterations,
            "n_waits": self.n_waits,
            "n_adjustments": self.n_adjustments,
            "n_missed_slots": keeper.n_missed_slots,
            "n_pauses": keeper.n_pauses,
            "n_let_go": patience.n_let_go,
            "n_retries": patience.n_retries,
            "n_clock_steps": self.n_clock_steps,
            "n_plans": self.n_plans,
            "plan_error": None if self._watch is None else self._watch.error,
            "waited_s": self._waiter.waited_ns / NS_PER_S,
            "last_late_s": keeper.late_ns / NS_PER_S,
            "late_s": keeper.lateness.to_dict(),
            "adjustments_per_min": self._adjustments.per_min,
            "own_iteration_s": keeper.own_iteration_s,
            "period_s": slots.period_s,
            "shift_s": slots.shift_s,
            "anchor_ns": slots.anchor_ns,
            "tolerance_frac": self._tolerance_frac,
            "clock": self._clock_error().to_dict(),
        }

    def write_statistics(self, path: str | Path) -> None:
        """Write `statistics` with the time and the names of job, rank and host into a JSON file, atomically.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        write_atomically(Path(path), self._document())

    def report_to(
        self, folder: str | Path, *, job: str | None = None, rank: int | None = None, every_s: float = 10.0
    ) -> None:
        """Write the statistics into ``folder/<job>-<rank>.json`` with the next iteration, and then every so often.

        Without a rank the file is ``<job>@<host>-<pid>.json``. What a file name cannot hold is escaped as in an URL.

        Parameters
        ----------
        folder : str or Path
            An existing folder, which ranks and jobs may share; `profiler.pacer.read_statistics` reads it.
        job : str or None
            The job's name; by default the one in the plan, or else ``job``.
        rank : int or None
            The rank; by default what the launcher says (``RANK`` of torchrun, Slurm and MPI), or else the process's id.
        every_s : float
            Time between reports in seconds.

        Raises
        ------
        ValueError
            If ``every_s`` is not positive.
        """
        self.job = job or self.job
        self._rank = rank_of_environment() if rank is None else rank
        name = file_name(job=self.job or "job", rank=self._rank, host=platform.node(), pid=os.getpid())
        self._reporter = Reporter(Path(folder) / name, every_s=every_s)

    def _choose(self, now: Reading) -> int | None:
        """Return when this iteration's slot starts, from the keeper, and count what happened."""
        keeper = self._keeper
        n_before = keeper.n_adjustments
        passed_ns = 0
        if self._came_ns is not None:
            passed_ns = now.steady_ns - self._came_ns
            keeper.observe(now.steady_ns - self._went_ns)
        self._came_ns = now.steady_ns
        start_ns = keeper.choose(now.wall_ns, passed_ns=passed_ns, is_clock_set=self._is_clock_set(now))
        self._adjustments.pass_to(now.steady_ns, n_events=keeper.n_adjustments - n_before)
        return start_ns

    def _is_clock_set(self, now: Reading) -> bool:
        if now.step_ns == 0:
            return False
        self.n_clock_steps += 1
        slots = self._keeper.slots
        _log.info("the wall clock was set by %+.1f ms; slots move with it", now.step_ns / 1e6)
        return slots is not None and abs(now.step_ns) > slots.tolerance_ns

    def _follow_plan(self, now: Reading) -> None:
        if self._watch is None:
            return
        self._watch.look(wall_ns=now.wall_ns, steady_ns=now.steady_ns)
        due_ns = self._keeper.due_ns
        planned = self._watch.take(now.wall_ns if due_ns is None else due_ns)
        if planned is None:
            return
        self.n_plans += 1
        self._hold(planned)
        _log.info("takes up a new plan: period %s s, shift %s s", planned.period_s, planned.shift_s)

    def _hold(self, planned: PlannedSlots) -> None:
        self._planned = planned
        self._keeper.follow(planned.to_slots(tolerance_frac=self._tolerance_frac))

    def _report(self, now: Reading) -> None:
        if self._reporter is not None and self._reporter.is_due(now.steady_ns):
            self._reporter.report(self._document(), steady_ns=now.steady_ns)

    def _document(self) -> dict[str, Any]:
        who = {"job": self.job, "rank": self._rank, "host": platform.node(), "pid": os.getpid()}
        return {"kind": KIND, "version": 1, **who, "t_ns": self._clocks.wall(), **self.statistics()}

    def _clock_error(self) -> ClockError:
        if self._clocks.wall is not SYSTEM_CLOCK:
            return ClockError(reason="not known: not the system's clock")
        return read_clock_error()

    def _warn_of_clock(self) -> None:
        if self._keeper.slots is None or self._clocks.wall is not SYSTEM_CLOCK:
            return
        error = self._clock_error()
        if error.is_synchronised is False:
            _log.warning("this host's clock is not synchronised; slots of other hosts may lie elsewhere")
            return
        tolerance_s = self._keeper.slots.tolerance_ns / NS_PER_S
        if error.maximum_s is not None and error.maximum_s > tolerance_s:
            _log.warning(
                "this host's clock may be off by %.3g s (estimated %.3g s), more than the %.3g s that a slot is open: "
                "slots of other hosts may lie elsewhere; let chronyd or ntpd settle, or give a longer period",
                *(error.maximum_s, error.estimated_s, tolerance_s),
            )
