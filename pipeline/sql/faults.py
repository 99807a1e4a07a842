"""What DuckDB complains of, in our words: whose fault it is, and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Final

from profiler.errors import LakeError, OffbeatError, UsageError
from profiler.store.reading import RESTORE_OBJECT

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["explained", "is_of_way", "reason"]

_OF_FUNCTION: Final = "Python exception occurred while executing the UDF: UsageError: "
_OF_MEMORY: Final = "Out of Memory Error"
_NOT_GIVEN: Final = "Allocation failure"
"""What it says where not its own limit is reached, but that of the process or the machine."""
_NO_MORE: Final = "the machine, or the limit of this process (ulimit -v, a container), gives no more: free some memory"
_ASK_LESS: Final = "select fewer rows or columns, aggregate, or give more with --memory"
_OF_STATEMENT: Final = (
    "Binder", "Catalog", "Constraint", "Conversion", "Invalid Input", "INTERRUPT", "Mismatch Type", "Not implemented",
    "Out of Range", "Parameter Not Resolved", "Parser", "Permission", "Syntax", "Sequence", "TransactionContext",
)  # fmt: skip
"""How messages begin that are about the statement; any other is about what it read."""
_DAMAGE: Final = (
    "Failed to read file", "might be corrupt", "file is corrupt", "exceeds the supported max width",
    "No magic bytes found", "too small to be a Parquet file", "Parquet file has invalid", ".parquet/**/*.parquet",
)  # fmt: skip
"""What a message has of a damaged file, however it begins; one that is gone is looked for as a folder of files."""
_OF_BUCKET: Final = re.compile(r"^OSError: (?P<reason>\w+://.*)$", re.MULTILINE)
"""The line of what `pipeline.sql.objects` raised, at the end of where it did."""
_OF_DAMAGE: Final = "a file of the lake is missing or damaged: offbeat lake --check names it"
_LEAVE_OUT: Final = ", or answer without it: --leave-out-lost"


def explained(
    error: Exception,
    *,
    find_lost: Callable[[], Mapping[Path, str]] = dict,
    may_leave_out: Callable[[Collection[Path]], bool] = lambda _lost: True,
) -> OffbeatError:
    r"""Return the error to raise for one of DuckDB, or of Arrow where DuckDB failed while rows were read.

    Parameters
    ----------
    error
        What was raised.
    find_lost
        Looks for what is wrong with the files that were read, where the error may come from one and names none.
    may_leave_out
        Returns whether an answer without some files can be had; of none, without any that may be lost.

    Examples
    --------
    >>> print(explained(OSError("IO Error: no such file")))
    IO Error: no such file
    a file of the lake is missing or damaged: offbeat lake --check names it, or answer without it: --leave-out-lost
    """
    message = str(error)
    if _OF_BUCKET.search(message):
        return LakeError(reason(error) + (_LEAVE_OUT if not is_of_way(error) and may_leave_out(()) else ""))
    if message.startswith(_OF_MEMORY):
        return LakeError(f"{message}\n{_NO_MORE if _NOT_GIVEN in message else _ASK_LESS}")
    if message.startswith(_OF_STATEMENT) and not any(sign in message for sign in _DAMAGE):
        return UsageError(message.rpartition(_OF_FUNCTION)[2])
    lost = find_lost()
    told = "\n".join(f"{path}: {why}" for path, why in lost.items()) or f"{message}\n{_OF_DAMAGE}"
    return LakeError(told + (_LEAVE_OUT if may_leave_out(lost) else ""))


def is_of_way(error: Exception) -> bool:
    """Return whether an error tells that a bucket cannot be asked, not that an object of it is lost.

    Examples
    --------
    >>> is_of_way(OSError("OSError: s3://bucket/lake/a.parquet: the server does not answer in time"))
    True
    """
    return _OF_BUCKET.search(str(error)) is not None and not reason(error).endswith(RESTORE_OBJECT)


def reason(error: Exception) -> str:
    r"""Return the line of a message that tells what is wrong.

    Examples
    --------
    >>> reason(OSError("Traceback …:\n  File …\nOSError: s3://bucket/lake/a.parquet: missing"))
    's3://bucket/lake/a.parquet: missing'
    """
    message = str(error)
    found = _OF_BUCKET.search(message)
    return message.splitlines()[0] if found is None else found["reason"]
