"""Processes that send on sockets of their own what they are told to."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from profiler.collectors.sockets import SocketsProbe
from profiler.errors import NotHere

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Talker", "probe_of", "talking"]

TALKER = """
import socket, sys, threading
listener = socket.create_server(("127.0.0.1", 0))
def drain(end):
    while end.recv(1 << 20):
        pass
def connect():
    near = socket.create_connection(listener.getsockname())
    far, _ = listener.accept()
    threading.Thread(target=drain, args=(far,), daemon=True).start()
    return near
ends = [connect()]
for line in sys.stdin:
    word, number = line.split()
    if word == "connect":
        ends += [connect() for _ in range(int(number))]
    for end in ends:
        if word == "send":
            end.sendall(b"x" * int(number))
    print("done", flush=True)
"""


class Talker:
    """A process that sends on its own sockets what it is told to."""

    def __init__(self, *, nested: bool = False) -> None:
        inner = [sys.executable, "-c", TALKER]
        shell = [sys.executable, "-c", "import subprocess, sys; subprocess.run(sys.argv[1:])", *inner]
        self.process = subprocess.Popen(
            shell if nested else inner, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.tell("send", 0)

    def tell(self, word: str, number: int) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{word} {number}\n")
        self.process.stdin.flush()
        self.process.stdout.readline()

    def end(self) -> None:
        self.process.communicate(timeout=20)


@contextmanager
def talking() -> Iterator[Talker]:
    """Keep a talker within the block."""
    found = Talker()
    yield found
    found.end()


def probe_of(pid: int) -> SocketsProbe:
    """Return a probe of a process, or skip the test where the kernel tells nothing of sockets."""
    try:
        return SocketsProbe.of_process(pid, host="h1", interval_s=10.0)
    except NotHere as error:
        pytest.skip(f"the kernel tells nothing of sockets here: {error}")
