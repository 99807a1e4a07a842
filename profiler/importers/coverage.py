"""What an importer says about an input: how much it read, what it passed over and why, what was wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from numpy.typing import NDArray

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Coverage", "Skipped"]


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that was passed over on purpose."""

    what: str
    why: str


@dataclass(slots=True, kw_only=True)
class Coverage:
    """What was read of one input; filled while it is read.

    Parameters
    ----------
    n_rows
        Rows, packets or recordings read.
    n_samples
        Samples stored.
    t_first_ns, t_last_ns
        Times of the first and last row, UTC epoch; None where no row has a time.
    skipped
        What was passed over, and why; nothing is wrong with it.
    problems
        What is wrong with the input: place, value, remedy. One is enough to call what was read partial.
    totals
        Further counts, such as packets and bytes on the wire.
    n_read
        Readings, packets or collectives that were met, sound or not; counted as they are met.
    left_out
        How many of them were not kept, by reason; `n_kept` are the rest.
    """

    n_rows: int = 0
    n_samples: int = 0
    t_first_ns: int | None = None
    t_last_ns: int | None = None
    skipped: list[Skipped] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    totals: dict[str, int] = field(default_factory=dict)
    n_read: int = 0
    left_out: Counter[str] = field(default_factory=Counter)

    @property
    def n_kept(self) -> int:
        """Number of readings, packets or collectives that what was stored is made of."""
        return self.n_read - self.left_out.total()

    def saw(self, t_ns: NDArray[np.int64]) -> None:
        """Widen the range of times."""
        if t_ns.size:
            self.saw_at(int(t_ns.min()))
            self.saw_at(int(t_ns.max()))

    def saw_at(self, t_ns: int) -> None:
        """Widen the range of times by one."""
        self.t_first_ns = t_ns if self.t_first_ns is None else min(self.t_first_ns, t_ns)
        self.t_last_ns = t_ns if self.t_last_ns is None else max(self.t_last_ns, t_ns)

    def skip(self, what: str, why: str) -> None:
        """Note something that was passed over."""
        self.skipped.append(Skipped(what, why))

    def leave_out(self, why: str, n: int) -> None:
        """Count readings that were met and not kept."""
        if n:
            self.left_out[why] += n
