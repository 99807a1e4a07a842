"""Network namespaces for tests, where this machine lets us make them."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ip", "namespace_of", "pair_of_interfaces"]


@contextmanager
def namespace_of(purpose: str) -> Iterator[str]:
    """Make a network namespace for the length of the block and yield its name, or skip the test."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("makes a network namespace, which needs root and iproute2")
    name = f"offbeat-{purpose}-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"cannot make a network namespace here: {made.stderr.strip()}")
    try:
        yield name
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)


def pair_of_interfaces(namespace: str, name: str) -> None:
    """Make two interfaces, name-a and name-b, that are up and joined to each other."""
    ends = (f"{name}-a", f"{name}-b")
    ip(namespace, "link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
    for end in ends:
        ip(namespace, "link", "set", end, "up")


def ip(namespace: str, *arguments: str) -> None:
    """Run ``ip`` on a namespace."""
    subprocess.run(["ip", "-n", namespace, *arguments], check=True)
