"""Pipes whose writer is ended by Ctrl-C, as is their reader."""

from __future__ import annotations

import io
import os
import signal
import threading
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

import pytest

from profiler.importers import piped
from profiler.importers.piped import whole_pipe
from tests.profiler.frames import pcap

if TYPE_CHECKING:
    from collections.abc import Iterator

CAPTURE = pcap([(1, 0, bytes(60), 60)])


@contextmanager
def pipe() -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as reader, os.fdopen(writing, "wb", buffering=0) as writer:
        yield reader, writer


def interrupted(first: bytes, last: bytes, *, closes: bool = True) -> Iterator[bytes]:
    """Yield what is read of a pipe whose writer gets Ctrl-C after the first words, and still has its last ones."""
    with pipe() as (reader, writer):
        writer.write(first)
        pieces = whole_pipe(reader)
        yield next(pieces)
        signal.raise_signal(signal.SIGINT)
        writer.write(last)
        if closes:
            writer.close()
        yield from pieces


def test_capture_goes_on_to_the_end_of_the_pipe() -> None:
    assert b"".join(interrupted(CAPTURE, b"the last words")) == CAPTURE + b"the last words"


def test_anything_else_is_not_read_by_half() -> None:
    with pytest.raises(KeyboardInterrupt):
        list(interrupted(b"t_ns,eth0.rx_bytes\n", b"1,2\n"))


def test_writer_that_does_not_end_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(piped, "_LAST_WORDS_S", 0.1)
    assert b"".join(interrupted(CAPTURE, b"more", closes=False)) == CAPTURE + b"more"


def test_second_interrupt_is_taken_at_once() -> None:
    with pipe() as (reader, writer):
        writer.write(CAPTURE)
        pieces = whole_pipe(reader)
        next(pieces)
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        pieces.close()  # type: ignore[attr-defined]


def test_signals_are_as_they_were_before_once_a_pipe_is_read() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pipe() as (reader, writer):
        writer.write(b"abc")
        writer.close()
        assert b"".join(whole_pipe(reader)) == b"abc"
    assert signal.getsignal(signal.SIGINT) is before


def test_streams_without_a_number_and_threads_without_signals_read_as_well() -> None:
    read = list[bytes]()
    with pipe() as (reader, writer):
        writer.write(b"abc")
        writer.close()
        thread = threading.Thread(target=lambda: read.extend(whole_pipe(reader)))
        thread.start()
        thread.join()
    assert read == [b"abc"]
    assert list(whole_pipe(io.BytesIO(b"abc"))) == [b"abc"]
