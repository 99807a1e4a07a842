"""`load_plain`: a pickle of plain values, opened without ever running what it says.

A pickle is a program, which may import and call anything [1]_. Only the instructions that make numbers, text, lists,
tuples, dicts and None are let through, each looked at before the first one is carried out, and only if what they make
is no deeper and larger than a dump.

References
----------
.. [1] Python documentation, "pickle", warning at the top; "Restricting Globals".
"""

from __future__ import annotations

import io
import pickle
import pickletools
from collections import deque
from typing import Any, Final, NoReturn

from profiler.errors import BadInput
from profiler.importers.traces.pickle_shape import PickleShape

__all__ = ["PLAIN_INSTRUCTIONS", "is_pickle", "load_plain"]

PLAIN_INSTRUCTIONS: Final = frozenset(
    (
        *("PROTO", "FRAME", "STOP", "MARK", "POP", "POP_MARK", "DUP"),
        *("MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "GET", "BINGET", "LONG_BINGET"),
        *("NONE", "NEWTRUE", "NEWFALSE", "INT", "LONG", "BININT", "BININT1", "BININT2", "LONG1", "LONG4"),
        *("FLOAT", "BINFLOAT", "UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"),
        *("STRING", "SHORT_BINSTRING", "BINSTRING", "SHORT_BINBYTES", "BINBYTES", "BINBYTES8"),
        *("EMPTY_LIST", "LIST", "APPEND", "APPENDS", "EMPTY_DICT", "DICT", "SETITEM", "SETITEMS"),
        *("EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"),
    )
)
_MEMO_WRITES: Final = frozenset(("PUT", "BINPUT", "LONG_BINPUT"))
_FAILURES: Final = (
    *(pickle.UnpicklingError, EOFError, AttributeError, TypeError),
    *(ValueError, LookupError, OverflowError),
)
"""What an unpickler raises at a damaged pickle: it checks little."""
NEWEST_PROTOCOL: Final = 5


def is_pickle(head: bytes) -> bool:
    """Return whether a file that begins so is a pickle of protocol 2 or later."""
    return head[:1] == b"\x80" and 2 <= head[1] <= NEWEST_PROTOCOL if len(head) > 1 else False


def load_plain(data: bytes, *, name: str) -> Any:  # noqa: ANN401 - any plain value
    """Return the plain value of a pickle.

    Parameters
    ----------
    data
        The pickle.
    name
        What messages call it.

    Raises
    ------
    BadInput
        If it would make anything but plain values, or too deep or too large ones (nothing of it is carried out then),
        or is damaged.

    Examples
    --------
    >>> load_plain(pickle.dumps({"entries": [(1, "a")]}), name="dump")
    {'entries': [(1, 'a')]}
    """
    try:
        _check(data, name=name)
        return _PlainUnpickler(io.BytesIO(data)).load()
    except _FAILURES as error:
        raise BadInput(f"{name}: damaged pickle ({error}); copy the dump again") from None


def _check(data: bytes, *, name: str) -> None:
    """Refuse a pickle that has an instruction which is not plain, or one that would fill the memory."""
    texts: deque[str] = deque(maxlen=2)
    shape = PickleShape()
    for n_before, (instruction, argument, place) in enumerate(pickletools.genops(data)):
        if instruction.name not in PLAIN_INSTRUCTIONS:
            what = f"{instruction.name} {argument or '.'.join(texts)}".strip()
            raise BadInput(
                f"{name}: byte {place}: the pickle wants to run code ({what[:80]}); nothing of it was opened; a flight "
                "recorder's dump holds plain values only"
            )
        # The memo is a table that grows to the highest number written, and writers count up.
        if instruction.name in _MEMO_WRITES and int(argument or 0) > n_before:
            raise BadInput(
                f"{name}: byte {place}: memo entry {argument} out of turn; not a pickle that a program wrote"
            )
        if isinstance(argument, str):
            texts.append(argument)
        try:
            shape.take(instruction.name, argument)
        except pickle.UnpicklingError as error:
            raise BadInput(f"{name}: byte {place}: {error}; not a pickle that a flight recorder wrote") from None


class _PlainUnpickler(pickle.Unpickler):
    """Refuses every import, should the check ever let one through."""

    def find_class(self, module: str, name: str, /) -> NoReturn:
        raise pickle.UnpicklingError(f"it wants {module}.{name}")
