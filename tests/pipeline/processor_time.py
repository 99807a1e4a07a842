"""Waiting for a process by the work that it did, which a loaded machine makes later but not less."""

from __future__ import annotations

import os
import time
from pathlib import Path

__all__ = ["await_work", "processor_s"]


def processor_s(pid: int) -> float:
    """Return how many seconds of processors a process has used, from ``/proc/PID/stat``."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    user, system = map(int, fields[11:13])
    return (user + system) / os.sysconf("SC_CLK_TCK")


def await_work(pid: int, seconds: float) -> None:
    """Return once a process has used so many seconds of processors in all, or fail after a minute."""
    end_s = time.monotonic() + 60
    while processor_s(pid) < seconds:
        assert time.monotonic() < end_s, f"process {pid} used {processor_s(pid)} s of {seconds} s"
        time.sleep(0.02)
