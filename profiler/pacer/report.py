"""Statistics of pacers in files that others read while the job runs: one JSON document a rank."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from profiler.pacer.slots import NS_PER_S

__all__ = ["Reporter", "file_name", "rank_of_environment", "read_statistics", "write_atomically"]

KIND: Final = "pacer"
_RANK_VARIABLES: Final = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
"""Set by torchrun, Slurm, Open MPI and MPICH or Intel MPI; the first one found counts."""

_log = logging.getLogger(__name__)


class Reporter:
    """Knows when the next report is due, and writes it; a disk that fails is logged once and harms nothing else.

    Parameters
    ----------
    path : Path
        The file, written anew each time.
    every_s : float
        Time between reports in seconds.
    """

    def __init__(self, path: Path, *, every_s: float) -> None:
        if not every_s > 0:
            raise ValueError(f"every_s {every_s!r}: must be positive")
        self.path = path
        self._every_ns = round(every_s * NS_PER_S)
        self._next_ns: int | None = None
        self._has_failed = False

    def is_due(self, steady_ns: int) -> bool:
        """Return whether a report is due at a time of the steady clock."""
        return self._next_ns is None or steady_ns >= self._next_ns

    def report(self, document: Mapping[str, Any], *, steady_ns: int) -> None:
        """Write a report."""
        self._next_ns = steady_ns + self._every_ns
        try:
            write_atomically(self.path, document)
        except OSError as error:
            if not self._has_failed:
                _log.warning("%s: cannot write the pacer's statistics: %s", self.path, error)
            self._has_failed = True


def file_name(*, job: str, rank: int | None, host: str, pid: int) -> str:
    """Return the name of a pacer's file among those of other jobs, ranks and hosts.

    What a file name cannot hold is escaped as in an URL, so that no two jobs have one name.
    """
    who = f"@{quote(host, safe='')}-{pid}" if rank is None else f"-{rank}"
    return f"{quote(job, safe='')}{who}.json"


def write_atomically(path: Path, document: Mapping[str, Any]) -> None:
    """Write a JSON document so that a reader sees the old one or the new one, whole.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_text(json.dumps(document, allow_nan=False) + "\n", encoding="utf-8")
        partial.replace(path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise


def read_statistics(path: str | Path) -> list[dict[str, Any]]:
    """Read what pacers wrote: the document of one file, or those of all ``*.json`` files of a folder, by job and rank.

    Raises
    ------
    ValueError
        If a file is not a pacer's statistics; the message names it.
    OSError
        If one cannot be read.
    """
    path = Path(path)
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    documents = [_read(file) for file in files]
    return sorted(documents, key=lambda each: (str(each.get("job")), each.get("rank") or 0))


def rank_of_environment() -> int | None:
    """Return this process's rank as its launcher tells it; None if none does."""
    for name in _RANK_VARIABLES:
        value = os.environ.get(name, "")
        if value.isdecimal():
            return int(value)
    return None


def _read(file: Path) -> dict[str, Any]:
    try:
        document: Any = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file}: not a JSON document ({error}); give what a pacer's report_to wrote") from error
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise ValueError(f"{file}: not a pacer's statistics (kind pacer); give what a pacer's report_to wrote")
    return document
