"""What a bench run is asked for through its environment."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from tests.data import ROOT

__all__ = ["N_WORKERS", "OUT", "cp_sat_limit_s", "csv_folder", "n_batch_series", "n_compat_seeds", "n_peer_seeds"]

N_WORKERS: Final = 2
OUT: Final = ROOT / "out" / "bench"
"""Charts go here; git ignores it."""


def n_peer_seeds() -> int:
    """Return on how many of the held-out seeds other methods are run; all five take some ten minutes."""
    return int(os.environ.get("OFFBEAT_BENCH_PEER_SEEDS", "1"))


def n_batch_series() -> int:
    """Return how many series the batch is measured on; what 100,000 would take is extrapolated from fewer."""
    return int(os.environ.get("OFFBEAT_BENCH_SERIES", "2000"))


def cp_sat_limit_s() -> float:
    """Return how long CP-SAT may search a case; with 20 s the hardest families are still unproved."""
    return float(os.environ.get("OFFBEAT_BENCH_CP_SAT_S", "2"))


def n_compat_seeds() -> int:
    """Return how many links of each family are solved."""
    return int(os.environ.get("OFFBEAT_BENCH_COMPAT_SEEDS", "12"))


def csv_folder() -> Path | None:
    """Return the folder to write every single answer to, if one is asked for."""
    folder = os.environ.get("OFFBEAT_BENCH_CSV")
    return Path(folder) if folder else None
