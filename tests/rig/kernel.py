"""What the rig asks of the kernel for its processes: death with their parent, a namespace, and to run first."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path
from typing import Final

__all__ = ["NETNS_DIR", "die_with_parent", "enter_namespace", "run_first"]

NETNS_DIR: Final = Path("/run/netns")
"""Where ``ip netns`` keeps named namespaces: ip-netns(8)."""
_PR_SET_PDEATHSIG: Final = 1  # linux/prctl.h
_PRIORITY: Final = -15  # of -20 to 19: sched(7)
_CLONE_NEWNET: Final = 0x40000000  # linux/sched.h


def die_with_parent(parent_pid: int) -> None:
    """Have the kernel kill this process when its parent ends, however it ends; exit if it already has."""
    _check(ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))
    if os.getppid() != parent_pid:
        sys.exit(1)


def enter_namespace(namespace: str) -> None:
    """Move this thread into a named network namespace; ``/sys`` still shows the old one."""
    descriptor = os.open(NETNS_DIR / namespace, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _check(ctypes.CDLL(None, use_errno=True).setns(descriptor, _CLONE_NEWNET))
    finally:
        os.close(descriptor)


def run_first() -> None:
    """Run before the machine's other work, as a host that waits for its GPUs does nothing else."""
    os.setpriority(os.PRIO_PROCESS, 0, _PRIORITY)


def _check(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
