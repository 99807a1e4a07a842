"""Who of a job's ranks speaks to whom, and how much of what one rank transmits goes there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, get_args

from pipeline.topology.cluster import Pattern
from profiler.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.topology.cluster import Placement

__all__ = ["exchanges", "read_pattern"]

_PATTERNS: Final[tuple[Pattern, ...]] = get_args(Pattern)


def read_pattern(text: str, *, place: str) -> Pattern:
    """Return a pattern by its name; a ring where none is given, as all-reduces of data parallelism are.

    Raises
    ------
    BadInput
        If there is none of this name.
    """
    for pattern in _PATTERNS:
        if text in ("", pattern):
            return pattern
    raise BadInput(f"{place}: pattern = {text[:40]!r}: expected {', '.join(_PATTERNS)}, or leave it out")


def exchanges(ranks: Sequence[Placement], pattern: Pattern) -> Iterator[tuple[Placement, Placement, float]]:
    """Yield sender, receiver and the part of the sender's traffic; what stays on a host is left out.

    In a ring, rank r sends all to rank r + 1 mod n; all to all, it sends 1/(n - 1) to each other rank.
    """
    if pattern == "ring":
        pairs = zip(ranks, [*ranks[1:], *ranks[:1]], strict=True)
        yield from ((sender, receiver, 1.0) for sender, receiver in pairs if sender.host != receiver.host)
        return
    share = 1 / max(1, len(ranks) - 1)
    for sender in ranks:
        yield from ((sender, receiver, share) for receiver in ranks if sender.host != receiver.host)
