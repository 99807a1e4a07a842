"""What DuckDB complains of, in our words: whose fault it is, and what to do."""

from __future__ import annotations

from typing import Final

from profiler.errors import LakeError, OffbeatError, UsageError

__all__ = ["explained"]

_OF_FUNCTION: Final = "Python exception occurred while executing the UDF: UsageError: "
_LAKE_FAULTS: Final = {
    "Out of Memory Error": "select fewer rows or columns, aggregate, or give more with --memory",
    "IO Error": "a file that the manifest names cannot be read: ingest its input again",
}
"""What is no fault of the statement, as its message begins, and what to do."""


def explained(error: Exception) -> OffbeatError:
    r"""Return the error to raise for one of DuckDB, or of Arrow where DuckDB failed while rows were read.

    Examples
    --------
    >>> explained(OSError("IO Error: no such file"))
    LakeError('IO Error: no such file\na file that the manifest names cannot be read: ingest its input again')
    """
    message = str(error)
    for kind, remedy in _LAKE_FAULTS.items():
        if message.startswith(kind):
            return LakeError(f"{message}\n{remedy}")
    return UsageError(message.rpartition(_OF_FUNCTION)[2])
