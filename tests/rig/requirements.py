"""What the rig needs of a machine, and which of it is missing."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path
from typing import Final

from tests.rig.errors import RigNotHere

__all__ = ["missing_for_jobs", "missing_for_network", "require"]

_CAPABILITIES: Final = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21}
"""Bits of linux/capability.h: to make links, and to make and enter namespaces."""


def missing_for_network() -> list[str]:
    """Return what this machine lacks to build the network; empty if nothing."""
    if sys.platform != "linux":
        return [f"Linux (this is {sys.platform})"]
    missing = [] if os.geteuid() == 0 else [f"root (this is user id {os.geteuid()})"]
    missing += [f"capability {name}" for name, bit in _CAPABILITIES.items() if not _effective_capabilities() >> bit & 1]
    missing += [f"command {name} (package iproute2)" for name in ("ip", "tc") if shutil.which(name) is None]
    return missing


def missing_for_jobs() -> list[str]:
    """Return what this machine lacks to run training jobs on the network; empty if nothing."""
    torch = [] if importlib.util.find_spec("torch") else ["Python package torch (pip install 'offbeat[rig]')"]
    return missing_for_network() + torch


def require(missing: list[str]) -> None:
    """Raise `RigNotHere` that names everything missing, if anything is."""
    if missing:
        raise RigNotHere(f"the rig needs: {'; '.join(missing)}")


def _effective_capabilities() -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapEff:"))
