"""Counters and captures of a rig's first switch, each taken by a process inside the switch's namespace."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.rig.errors import RigError
from tests.rig.network import SWITCHES, TRUNK, Network

__all__ = ["CHECKOUT", "capture_trunk", "exec_prefix", "sample_ports"]

CHECKOUT: Final = Path(__file__).parents[2]
"""Where the rig's own processes start, so that they find its modules."""


def exec_prefix(network: Network, node: str) -> list[str]:
    """Return what to put before a command so that it runs on a node."""
    return ["ip", "netns", "exec", network.namespace(node)]


def sample_ports(network: Network, path: Path, *, seconds: float, interval_s: float = 0.001) -> tuple[int, int]:
    """Sample the byte counters of switch sw1's ports for a time, into a gzipped table.

    Returns
    -------
    tuple of int
        Times of the first and the last row in UTC ns.

    Raises
    ------
    RigError
        If it cannot; with the sampler's own words.
    """
    ports = [*(network.port(job) for job in network.jobs), TRUNK]
    interval_ns = str(round(interval_s * 1e9))
    return _observe(network, "tests.rig.sampler", [str(path.resolve()), str(seconds), interval_ns, *ports])


def capture_trunk(network: Network, path: Path, *, seconds: float) -> tuple[int, int]:
    """Capture the headers of the trunk's packets for a time, into a pcap; return its start and end in UTC ns."""
    return _observe(network, "tests.rig.capture", [str(path.resolve()), str(seconds), TRUNK])


def _observe(network: Network, module: str, arguments: Sequence[str]) -> tuple[int, int]:
    command = [*exec_prefix(network, SWITCHES[0]), sys.executable, "-m", module, str(os.getpid()), *arguments]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RigError(f"{module} ended with {done.returncode}: {done.stderr.strip()}")
    from_ns, to_ns = map(int, done.stdout.split())
    return from_ns, to_ns
