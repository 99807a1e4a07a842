"""`with_results`: a lake that an analysis can write to, also where the lake itself is in a bucket."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

from profiler.store import attach
from profiler.store.remote.address import RemotePath, locate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["with_results"]


@contextmanager
def with_results(lake: str | Path) -> Iterator[Path]:
    """Yield a lake itself; of one in a bucket a folder over it, which is deleted afterwards with what was found.

    Raises
    ------
    LakeError
        If the bucket does not let us read, or there is no lake in it.
    UsageError
        If the address is of no bucket that can be read.
    """
    place = locate(lake)
    if not isinstance(place, RemotePath):
        yield place
        return
    with tempfile.TemporaryDirectory(prefix="offbeat-results-", ignore_cleanup_errors=True) as folder:
        yield attach(folder, place).root
