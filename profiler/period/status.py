"""What can be said of a series: the statuses of DESIGN section 4."""

from __future__ import annotations

from typing import Final, Literal

__all__ = ["STATUSES", "Status"]

Status = Literal["periodic", "aperiodic", "constant", "idle", "undersampled", "insufficient", "no_data"]
STATUSES: Final[tuple[Status, ...]] = (
    "periodic",
    "aperiodic",
    "constant",
    "idle",
    "undersampled",
    "insufficient",
    "no_data",
)
