"""`detect_period`: from a rate series to its iteration period, or to the reason why there is none."""

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
