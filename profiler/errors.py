"""Every error that Offbeat raises on purpose.

::

    OffbeatError
    ├── UsageError            the caller asked for something that has no meaning        (exit code 2)
    ├── NotHere               absent on this machine: no such device, interface, tool
    ├── SourceBroken          present, but cannot be read: a counter file, a device that vanished
    ├── BadInput              a file or value that is not what it should be: file, place, value, remedy
    │   └── Truncated         sound up to a place, then cut
    └── LakeError             the lake: missing, of another version, locked, damaged, disk full
"""

from __future__ import annotations

__all__ = ["BadInput", "LakeError", "NotHere", "OffbeatError", "SourceBroken", "Truncated", "UsageError"]


class OffbeatError(Exception):
    """Base of all errors; its message tells what, where, which value, and what to do."""


class UsageError(OffbeatError):
    """A request that has no meaning, such as a negative capacity."""


class NotHere(OffbeatError):  # noqa: N818 - absence is not a fault
    """Something that this machine does not have, told apart from something broken."""


class SourceBroken(OffbeatError):  # noqa: N818 - read as a state of the source
    """A source that exists but cannot be read (any more)."""


class BadInput(OffbeatError):  # noqa: N818 - the input is at fault
    """A file or value that is not what it should be."""


class Truncated(BadInput):
    """Input that is sound up to a place and then ends."""


class LakeError(OffbeatError):
    """The lake is missing, locked, damaged, full, or written by another version."""
