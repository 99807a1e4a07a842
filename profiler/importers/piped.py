"""What comes through a pipe, and what becomes of it when Ctrl-C ends the program that writes it."""

from __future__ import annotations

import io
import math
import os
import select
import threading
import time
from collections.abc import Callable, Iterator
from typing import IO, Final

from profiler.importers.contents import kind_of
from profiler.importers.spools import pieces_of
from profiler.stopping import stop_on_signals

__all__ = ["pieces_of_pipe", "whole_pipe"]

_PIECE_BYTES: Final = 1 << 20
_IDLE_S: Final = 0.2
"""How long to wait for more bytes before asking whether to stop."""
_LAST_WORDS_S: Final = 2.0
"""How long the writer of a pipe, which Ctrl-C ends too, may take to write what it still has."""
_HEAD_BYTES: Final = 4
_ENDLESS: Final = ("pcap", "pcapng")
"""What is whole wherever its writer ends it."""


def pieces_of_pipe(number: int, stop: Callable[[], bool]) -> Iterator[bytes]:
    """Yield bytes as they come, none where there are none yet; when told to stop, the end is waited for some seconds.

    Parameters
    ----------
    number
        File descriptor.
    stop
        Returns whether to stop.
    """
    until_s = math.inf
    while time.monotonic() < until_s:
        if select.select([number], [], [], _IDLE_S)[0]:
            piece = os.read(number, _PIECE_BYTES)
            if not piece:
                return
            yield piece
        else:
            yield b""
        if until_s == math.inf and stop():
            until_s = time.monotonic() + _LAST_WORDS_S


def whole_pipe(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield what is left of a stream; Ctrl-C, which ends tcpdump too, is the end of a capture.

    Raises
    ------
    KeyboardInterrupt
        At Ctrl-C, if the stream is something else: less than all of it is not what was meant.
    """
    number = _number_of(stream)
    if number is None or threading.current_thread() is not threading.main_thread():  # only that one is told of signals
        yield from pieces_of(stream)
        return
    head = b""
    with stop_on_signals() as stop:
        for piece in pieces_of_pipe(number, stop):
            head = head or piece[:_HEAD_BYTES]
            yield piece
        if stop() and kind_of(head) not in _ENDLESS:
            raise KeyboardInterrupt


def _number_of(stream: IO[bytes]) -> int | None:
    try:
        return stream.fileno()
    except io.UnsupportedOperation:
        return None
