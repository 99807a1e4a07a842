"""What one series of samples counts, and its readings once read back."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import NDArray

from profiler.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Counter", "Series", "series_id"]


def series_id(host: str, device: str, port: str, *, direction: str, metric: str, layer: str) -> int:
    r"""Return the identity of a series: the first 8 bytes, big endian, of a SHA-256 of its names, joined by ``|``.

    A ``|`` or backslash in a name has a backslash before it.

    Examples
    --------
    >>> series_id("h1", "eth0", "", direction="transmit", metric="bytes", layer="netdev")
    15079169730478922753
    """
    parts = (host, device, port, direction, metric, layer)
    name = "|".join(parts)
    if name.count("|") >= len(parts) or "\\" in name:  # which is rare, and a capture has a hundred thousand names
        name = "|".join(part.replace("\\", r"\\").replace("|", r"\|") for part in parts)
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """What a series counts; the columns of table ``series``.

    Parameters
    ----------
    kind
        ``counter`` is cumulative, ``delta`` the amount of one window, ``gauge`` a level.
    raw_scale
        Canonical units in one raw unit: 4 for InfiniBand words.
    width_bits
        Width at which the raw counter wraps or sticks; None where the source does not tell.
    """

    host: str
    device: str
    port: str = ""
    direction: Literal["transmit", "receive"]
    metric: str = "bytes"
    unit: str = "bytes"
    kind: Literal["counter", "delta", "gauge"] = "counter"
    layer: str
    raw_name: str = ""
    raw_scale: float = 1.0
    width_bits: int | None = 64
    source: str = ""

    def __post_init__(self) -> None:
        if self.direction not in ("transmit", "receive"):
            raise UsageError(f"series of {self.device}: direction {self.direction!r}: expected transmit or receive")
        if self.kind not in ("counter", "delta", "gauge"):
            raise UsageError(f"series of {self.device}: kind {self.kind!r}: expected counter, delta or gauge")

    @property
    def series_id(self) -> int:
        """Identity of the series, an unsigned 64-bit integer."""
        return series_id(
            self.host, self.device, self.port, direction=self.direction, metric=self.metric, layer=self.layer
        )

    def to_row(self) -> dict[str, Any]:
        """Return the row of table ``series``."""
        return {"series_id": self.series_id, **asdict(self)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Counter:
    """The readings of one series, sorted by time, one a time; read-only arrays of shape (n_samples,).

    Parameters
    ----------
    t_ns
        End of each window, UTC epoch ns, strictly increasing.
    value
        Canonical unit of the series.
    flags
        Bits of `profiler.schema.Flag`.
    epoch
        Number of resets seen before each sample.
    """

    t_ns: NDArray[np.int64]
    value: NDArray[np.int64]
    flags: NDArray[np.uint16]
    epoch: NDArray[np.int32]

    def __post_init__(self) -> None:
        for array in (self.t_ns, self.value, self.flags, self.epoch):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.t_ns)
