"""`CollectiveEvents`: what one rank did in one process group, collective by collective."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from profiler.errors import BadInput
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from typing import Self

__all__ = ["CollectiveEvents"]

_LATEST_NS = 1 << 62
"""The year 2116: a time beyond it was given in another unit."""
LONGEST_NS: Final = 86_400e9
"""A day: NCCL's watchdog ends a job whose collective takes half an hour."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, init=False, repr=False)
class CollectiveEvents:
    """Collectives in order of their start; arrays of shape (n_events,), read-only.

    Parameters
    ----------
    start_ns
        When each began, UTC epoch ns; int64. Given in any order.
    duration_ns
        How long each took; float64, NaN where it is not known; None if none is. No collective takes no time or more
        than a day: such durations become NaN, and a note says how many.
    bytes
        Size of each one's message, which is not what it puts on a wire (see Notes); float64, NaN where it is not known;
        None if none is.
    key
        What is the same of a collective in every iteration: operation, type, size.
    notes
        What a reader of the events must know of how they were measured.

    Raises
    ------
    BadInput
        If lengths differ, a time is not finite, or a duration or a size is negative or infinite.

    Notes
    -----
    What a message of S bytes puts on a link depends on the algorithm that NCCL chooses: in a ring of n ranks each one
    sends 2 (n - 1)/n S for an all-reduce, (n - 1)/n S for an all-gather or a reduce-scatter [1]_.

    References
    ----------
    .. [1] NVIDIA, nccl-tests, doc/PERFORMANCE.md, "Bandwidth".

    Examples
    --------
    >>> events = CollectiveEvents(start_ns=[30, 10], duration_ns=[5, 5], bytes=[64, 64], key=["b", "a"])
    >>> events.start_ns, events.busy_ns
    (array([10, 30]), 10.0)
    """

    start_ns: NDArray[np.int64]
    duration_ns: NDArray[np.float64]
    bytes: NDArray[np.float64]
    key: NDArray[np.str_]
    host: str = ""
    device: str = ""
    port: str = ""
    notes: tuple[str, ...] = ()

    def __init__(  # noqa: PLR0913 - one argument a column, as in the class
        self,
        *,
        start_ns: ArrayLike,
        duration_ns: ArrayLike | None = None,
        bytes: ArrayLike | None = None,
        key: Sequence[str] | NDArray[np.str_],
        host: str = "",
        device: str = "",
        port: str = "",
        notes: Sequence[str] = (),
    ) -> None:
        start = _times(start_ns)
        order = np.argsort(start, kind="stable")
        columns = {
            "start_ns": start,
            "duration_ns": _amounts("duration_ns", duration_ns, n_events=start.size),
            "bytes": _amounts("bytes", bytes, n_events=start.size),
            "key": np.asarray(key, dtype=np.str_).ravel(),
        }
        for name, column in columns.items():
            if column.size != start.size:
                raise BadInput(f"CollectiveEvents: {column.size} of {name} for {start.size} events; give one for each")
            object.__setattr__(self, name, column[order])
        said = (*notes, *_forget_impossible(self.duration_ns))
        for name, text in {"host": host, "device": device, "port": port, "notes": said}.items():
            object.__setattr__(self, name, text)
        for name in columns:
            getattr(self, name).setflags(write=False)

    def __repr__(self) -> str:
        return f"CollectiveEvents({self.label or '-'}: {self.n_events} events in {self.span_s:g} s)"

    @classmethod
    def none(cls, *, host: str = "", device: str = "", port: str = "", notes: Sequence[str] = ()) -> Self:
        """Return no events of something that is known to be there."""
        return cls(start_ns=[], key=[], host=host, device=device, port=port, notes=notes)

    @property
    def label(self) -> str:
        """``host/device/port``, without the parts that are empty."""
        return "/".join(part for part in (self.host, self.device, self.port) if part)

    @property
    def direction(self) -> Literal["transmit"]:
        """``transmit``: sizes are those of the messages that the rank hands to NCCL."""
        return "transmit"

    @property
    def n_events(self) -> int:
        """Number of collectives."""
        return self.start_ns.size

    @property
    def t_s(self) -> NDArray[np.float64]:
        """Starts in seconds after the first one, shape (n_events,)."""
        t_s: NDArray[np.float64] = (self.start_ns - self.start_ns[:1].sum()) / NS_PER_S
        return t_s

    @property
    def end_ns(self) -> NDArray[np.float64]:
        """Ends in ns after the first start, shape (n_events,); a duration that is not known counts as none."""
        return self.t_s * NS_PER_S + np.nan_to_num(self.duration_ns)

    @property
    def span_s(self) -> float:
        """Seconds from the first start to the last end."""
        return float(self.end_ns.max()) / NS_PER_S if self.n_events else 0.0

    @property
    def busy_ns(self) -> float:
        """Time in which at least one collective ran; those that overlap count once."""
        if not self.n_events:
            return 0.0
        start_ns = self.t_s * NS_PER_S
        reached_ns = np.maximum.accumulate(self.end_ns)
        free_from_ns = np.concatenate(([start_ns[0]], reached_ns[:-1]))
        return float(np.maximum(reached_ns - np.maximum(start_ns, free_from_ns), 0.0).sum())


def _times(start_ns: ArrayLike) -> NDArray[np.int64]:
    times = np.asarray(start_ns).ravel()
    if times.dtype.kind not in "iuf" and times.size:
        raise BadInput(f"CollectiveEvents: start_ns holds {times.dtype}; give integers, UTC epoch ns")
    wrong = np.flatnonzero(~(np.abs(times.astype(np.float64)) < _LATEST_NS))
    if wrong.size:
        raise BadInput(f"CollectiveEvents: start_ns[{wrong[0]}] = {times[wrong[0]]}: must be finite ns within 63 bits")
    return times.astype(np.int64)


def _amounts(name: str, given: ArrayLike | None, *, n_events: int) -> NDArray[np.float64]:
    if given is None:
        return np.full(n_events, np.nan)
    amounts = np.array(given, dtype=np.float64).ravel()
    wrong = np.flatnonzero((amounts < 0) | np.isinf(amounts))
    if wrong.size:
        raise BadInput(
            f"CollectiveEvents: {name}[{wrong[0]}] = {amounts[wrong[0]]}: must be finite and not negative, "
            "or NaN where it is not known"
        )
    return amounts


def _forget_impossible(duration_ns: NDArray[np.float64]) -> tuple[str, ...]:
    """Put NaN in place of durations that no collective has, and return a note that says so, if any were."""
    impossible = (duration_ns == 0) | (duration_ns > LONGEST_NS)
    n_impossible = int(np.count_nonzero(impossible))
    duration_ns[impossible] = np.nan
    if not n_impossible:
        return ()
    return (f"{n_impossible} of {duration_ns.size} collectives took no time or more than a day: not believed",)
