"""Network namespaces for tests, where this machine lets us make them."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["entered", "ip", "namespace_of", "pair_of_interfaces"]

_CLONE_NEWNET: Final = 0x40000000


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


@contextmanager
def entered(namespace: str) -> Iterator[None]:
    """Be in a network namespace for the length of the block: this thread, and those that it starts."""
    libc = ctypes.CDLL(None, use_errno=True)
    with Path("/proc/thread-self/ns/net").open() as own, Path("/run/netns", namespace).open() as other:
        _enter(libc, other.fileno())
        try:
            yield
        finally:
            _enter(libc, own.fileno())


def _enter(libc: ctypes.CDLL, handle: int) -> None:
    if libc.setns(handle, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")
