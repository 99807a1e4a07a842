"""`ChromeTrace`: the events of a trace in Chrome's format, one by one, whatever its size and wherever it was cut.

A trace is a JSON object whose ``traceEvents`` is a list of objects, or that list alone [1]_. PyTorch's are gigabytes,
and end in the middle if the job was killed, so they are neither held whole nor given up for a missing bracket. No
object is the beginning of another, so an event ends at the first ``}, {`` up to which the text is an object.

References
----------
.. [1] Google, "Trace Event Format", https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

import orjson

from profiler.errors import BadInput

__all__ = ["ChromeTrace"]

_LIST: Final = re.compile(rb'"traceEvents"\s*:\s*\[')
_BETWEEN: Final = re.compile(rb"\}\s*,\s*\{")
_CLOSE: Final = re.compile(rb"\}\s*\](\s*,|$)")
_NOT_FINITE: Final = re.compile(rb"NaN|Infinity")
MAX_PARTS: Final = 32
"""Objects that an event may hold; one that is still no object after so many ``}, {`` is damaged, and is passed over."""
MAX_PENDING_BYTES: Final = 64 << 20
"""Bytes without the end of an event, after which the file is not a trace."""


class ChromeTrace:
    """A trace that is read once, by `events`.

    Parameters
    ----------
    pieces
        Bytes of the file.
    name
        What messages call it.

    Attributes
    ----------
    header
        The keys beside ``traceEvents``: those before it once the first event was read, all of them at the end.
    problems
        What is wrong with the file, known at the end.
    """

    def __init__(self, pieces: Iterable[bytes], *, name: str) -> None:
        self.header: dict[str, Any] = {}
        self.problems: list[str] = []
        self._pieces = pieces
        self._name = name
        self._pending = b""
        self._close = b""
        self._n_damaged = 0

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield the events.

        Raises
        ------
        BadInput
            If it is not a trace.
        """
        started = False
        for piece in self._sound_pieces():
            self._pending += piece
            started = started or self._begin()
            if started:
                yield from self._complete_events()
            if len(self._pending) > MAX_PENDING_BYTES:
                raise BadInput(f"{self._name}: no event ends within {MAX_PENDING_BYTES} bytes; is it a profiler trace?")
        if not started:
            raise BadInput(f"{self._name}: has no list of traceEvents; give a trace of the PyTorch profiler")
        yield from self._last_events()
        if self._n_damaged:
            self.problems.append(
                f"{self._name}: {self._n_damaged} damaged events were passed over; write the trace again"
            )

    def _sound_pieces(self) -> Iterator[bytes]:
        """Yield pieces until the end or the first damage, which becomes a problem."""
        try:
            yield from self._pieces
        except BadInput as error:
            self.problems.append(str(error))

    def _begin(self) -> bool:
        """Read what stands before the first event; return whether it was reached."""
        if self._pending.lstrip()[:1] == b"[":
            self._pending = self._pending.lstrip()[1:].lstrip()
            self._close = b"}"
            return True
        found = _LIST.search(self._pending)
        if found is None:
            return False
        self.header = _object(self._pending[: found.end()] + b"]}") or {}
        self._pending = self._pending[found.end() :].lstrip()
        return True

    def _complete_events(self, *, patience: int = MAX_PARTS) -> Iterator[dict[str, Any]]:
        """Yield the pending events that another one follows, and leave the rest.

        An event that is none up to any of the next ``patience`` places where one may end is damaged; the next begins at
        the first of those.
        """
        places = list(_BETWEEN.finditer(self._pending))
        start = i_place = 0
        while i_place < len(places):
            n_parts, event = self._event(start, places[i_place : i_place + MAX_PARTS])
            if event is None and len(places) - i_place < patience:
                break
            if event is None:
                self._n_damaged += 1
            else:
                yield event
            start = places[i_place + n_parts - 1].end() - 1
            i_place += n_parts
        self._pending = self._pending[start:]

    def _event(self, start: int, places: list[re.Match[bytes]]) -> tuple[int, dict[str, Any] | None]:
        """Return the event that begins at ``start`` and the number of the place it ends at; 1 and None if at none."""
        for n_parts, place in enumerate(places, start=1):
            event = _object(self._pending[start : place.start() + 1])
            if event is not None:
                return n_parts, event
        return 1, None

    def _last_events(self) -> Iterator[dict[str, Any]]:
        """Yield what is left: one event and the keys after the list, or where the trace was cut."""
        tail = self._tail()
        if tail is None:
            yield from self._complete_events(patience=1)
            tail = self._tail()
        if tail is not None:
            events = tail.pop("traceEvents")
            self.header |= tail
            yield from (event for event in events if isinstance(event, dict))
            return
        rest = self._pending.rstrip()
        close = _CLOSE.search(rest)
        event = _object(rest.rstrip(b",").rstrip() if close is None else rest[: close.start() + 1])
        where = "in the middle of an event" if event is None and rest else "after an event"
        self.problems.append(
            f"{self._name}: ends early, {where}; the events before were read; let the profiler finish writing"
        )
        if event is not None:
            yield event

    def _tail(self) -> dict[str, Any] | None:
        """Return what is pending as the end of a whole trace; None if it is not."""
        return _object(b'{"traceEvents":[' + self._pending.rstrip() + self._close)


def _object(text: bytes) -> dict[str, Any] | None:
    """Return the JSON object that a text is; None if it is none. NaN and Infinity, which JSON has not, are let pass."""
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        if _NOT_FINITE.search(text) is None:
            return None
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return None
    return found if isinstance(found, dict) else None
