"""Flows of two captures side by side: which of them are of the same packets, and what bins say to that."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from profiler.importers.shared_bins import compare_bins

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from profiler.importers.shared_bins import BinFiles, BinsCompared

__all__ = ["Captured", "Shared", "compare_captures"]

_KEY: Final = ("src", "dst", "sport", "dport", "proto", "qp")
_COUNTS: Final = ("first_ns", "last_ns", "packets", "bytes")
_REORDERED_NS: Final = 10_000_000
"""How long the packets of two files may be mixed that are one capture, cut as they came: queues of a card race."""
_ROUNDED_NS: Final = 1_000
"""By how much times differ once a capture of nanoseconds is written in microseconds."""
_NOTHING: Final = {pa.string(): "", pa.int16(): -1, pa.int32(): -1, pa.int64(): 0}


class Captured:
    """A capture, as far as it is compared.

    Parameters
    ----------
    flows
        Its rows of table ``flows``.
    host
        Where it was captured; None if that was not told.
    find_bins
        Returns where its bins are, once they are asked for; None if it has none that are known.
    are_own
        Whether only its own bins are there.
    """

    def __init__(
        self,
        flows: pa.Table,
        *,
        host: str | None,
        find_bins: Callable[[], BinFiles | None] = lambda: None,
        are_own: bool = True,
    ) -> None:
        self.host = host
        self.are_own = are_own
        self.flows = _filled(flows, host=host)
        self._find_bins = find_bins

    @cached_property
    def bins(self) -> BinFiles | None:
        """Return where its bins are."""
        return self._find_bins()

    @property
    def span_ns(self) -> tuple[int, int] | None:
        """Return when the first and last packet came; None if no packet has a time."""
        timed = self.flows.filter(pc.not_equal(self.flows["last_ns"], 0))
        return (pc.min(timed["first_ns"]).as_py(), pc.max(timed["last_ns"]).as_py()) if timed.num_rows else None


class Shared(NamedTuple):
    """How many flows two captures have in common, and whether all packets of one are among those of the other."""

    n_flows: int
    is_there: bool
    is_older: bool


_NONE_SHARED: Final = Shared(0, is_there=False, is_older=False)


def compare_captures(own: Captured, there: Captured) -> Shared:
    """Return what two captures of one host, or of one that is not told, share: flows tell, and bins if both have any.

    Two captures that have a little time in common, the end of one and the start of the other, share nothing unless
    they have the same bins there: a capture that was cut as packets came.
    """
    span, span_there = own.span_ns, there.span_ns
    if span is not None and span_there is not None and not _meet(span, span_there):
        return _NONE_SHARED
    pairs = _Pairs.joined(own.flows, there.flows)
    if not pairs.n:
        return _NONE_SHARED
    if span is None or span_there is None:
        return Shared(pairs.n_common(), is_there=pairs.is_there, is_older=pairs.is_older)
    return _compared_in_time(own, there, pairs, spans=(span, span_there))


def _compared_in_time(own: Captured, there: Captured, pairs: _Pairs, *, spans: tuple[_Span, _Span]) -> Shared:
    found = _bins_compared(own, there, spans=spans)
    is_there = pairs.is_there and (found is None or found.is_within)
    is_older = pairs.is_older and (found is None or found.is_around or not there.are_own)
    is_sure = found is not None and found.n_full > 0
    if own.host != there.host and not (is_there or is_older or (found is not None and found.shows_same)):
        return _NONE_SHARED  # elsewhere, until the contrary is seen
    if _may_follow(*spans) and not (found.shows_same if found is not None else not _only_touch(*spans)):
        if not (is_there or is_older):
            return _NONE_SHARED
        if not pairs.have_same_ends:  # late packets of the other, or some of its own: nobody can tell
            return Shared(pairs.n_common(), is_there=False, is_older=False)
    n_common = pairs.n_common(is_within=is_there and is_sure, is_around=is_older and is_sure)
    return Shared(n_common, is_there=is_there, is_older=is_older)


_Span = tuple[int, int]


def _bins_compared(own: Captured, there: Captured, *, spans: tuple[_Span, _Span]) -> BinsCompared | None:
    if own.bins is None or there.bins is None:
        return None
    starts, ends = zip(*spans, strict=True)
    return compare_bins(own.bins, there.bins, span_ns=(min(starts), max(ends)), common_ns=(max(starts), min(ends)))


@dataclass(frozen=True, kw_only=True)
class _Pairs:
    """Flows of two captures with the same addresses, at places that may be the same, one beside the other."""

    one: Mapping[str, NDArray[Any]]
    other: Mapping[str, NDArray[Any]]
    is_named: NDArray[np.bool_]
    n_own: int
    n_there: int

    @classmethod
    def joined(cls, own: pa.Table, there: pa.Table) -> _Pairs:
        rows = own.join(there, keys=list(_KEY), right_suffix="_there", join_type="inner")
        interface, interface_there = rows["interface"], rows["interface_there"]
        # What pcapng tells of interfaces is lost when it is converted to pcap.
        is_unknown = pc.or_(pc.equal(interface, ""), pc.equal(interface_there, ""))
        rows = rows.filter(pc.or_(is_unknown, pc.equal(interface, interface_there)))
        one, other = (
            {name: rows[f"{name}{suffix}"].to_numpy() for name in ("row", *_COUNTS)} for suffix in ("", "_there")
        )
        # Of packets without addresses or times only as many, at the same times, are taken for the same.
        is_named = pc.not_equal(rows["src"], "").to_numpy() & (one["last_ns"] != 0)
        return cls(one=one, other=other, is_named=is_named, n_own=own.num_rows, n_there=there.num_rows)

    @property
    def n(self) -> int:
        return int(self.is_named.size)

    @cached_property
    def is_held(self) -> NDArray[np.bool_]:
        """Which flows can have all their packets in those beside them."""
        return _holds(self.other, self.one)

    @cached_property
    def holds(self) -> NDArray[np.bool_]:
        """Which flows can have all packets of those beside them."""
        return _holds(self.one, self.other)

    @property
    def is_there(self) -> bool:
        """Whether all flows of the first can be among those of the other."""
        return bool(np.unique(self.one["row"][self.is_held]).size == self.n_own)

    @property
    def is_older(self) -> bool:
        """Whether all flows of the other can be among those of the first."""
        return bool(np.unique(self.other["row"][self.holds]).size == self.n_there)

    @property
    def have_same_ends(self) -> bool:
        """Whether all flows begin, or all end, as those beside them."""
        return any(
            bool(np.all(np.abs(self.one[name] - self.other[name]) <= _ROUNDED_NS)) for name in ("first_ns", "last_ns")
        )

    def n_common(self, *, is_within: bool = False, is_around: bool = False) -> int:
        """Return how many flows of the first have packets of those beside them, given what bins tell of all."""
        meets = (self.one["first_ns"] <= self.other["last_ns"]) & (self.other["first_ns"] <= self.one["last_ns"])
        is_same = (self.is_held & self.holds) | (self.is_held & is_within) | (self.holds & is_around)
        return int(np.unique(self.one["row"][meets & (self.is_named | is_same)]).size)


def _holds(flows: Mapping[str, NDArray[Any]], others: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_]:
    """Return which flows can have all packets of the others beside them."""
    held: NDArray[np.bool_] = (flows["first_ns"] <= others["first_ns"] + _ROUNDED_NS) & (
        flows["last_ns"] >= others["last_ns"] - _ROUNDED_NS
    )
    return held & (flows["packets"] >= others["packets"]) & (flows["bytes"] >= others["bytes"])


def _filled(flows: pa.Table, *, host: str | None) -> pa.Table:
    """Return what tells flows of a host apart, and what they moved; a join finds no null: these are empty or zero."""
    columns = {name: flows[name] for name in (*_KEY, *_COUNTS, "point")}
    filled = {name: pc.fill_null(column, _NOTHING[column.type]) for name, column in columns.items()}
    interface = pc.utf8_ltrim(pc.utf8_slice_codeunits(filled.pop("point"), len(host or "")), characters=":")
    return pa.table({"row": pa.array(range(flows.num_rows), pa.int64()), "interface": interface, **filled})


def _meet(own: _Span, there: _Span) -> bool:
    return own[0] <= there[1] and there[0] <= own[1]


def _may_follow(own: _Span, there: _Span) -> bool:
    """Return whether one of two times is over soon after the other has begun: of files of one capture, cut as it came.

    So may be a short one that is wholly in the other, near its end.
    """
    return own[1] - there[0] <= _REORDERED_NS or there[1] - own[0] <= _REORDERED_NS


def _only_touch(own: _Span, there: _Span) -> bool:
    """Return whether the time that two captures share is less than half of the shorter."""
    common_ns = min(own[1], there[1]) - max(own[0], there[0])
    return 2 * common_ns < min(own[1] - own[0], there[1] - there[0])
