"""`know_cluster`: what files know of a cluster, kept in a lake."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.analysis import Skipped
from pipeline.topology import read_cluster

if TYPE_CHECKING:
    from profiler.store import Lake

__all__ = ["know_cluster"]


def know_cluster(store: Lake, cluster: str | Path | Sequence[str | Path] | None) -> tuple[Skipped, ...]:
    """Put what files know of links, jobs and placements in the place of what a lake knew, if any are given.

    Returns
    -------
    tuple of Skipped
        The jobs, pods and adapters that could not be used, and why.

    Raises
    ------
    BadInput
        If a file is missing or wrong.
    """
    if cluster is None:
        return ()
    paths = [cluster] if isinstance(cluster, str | Path) else list(cluster)
    if not paths:
        return ()
    found = read_cluster(*paths)
    store.replace_all(found.to_tables())
    return tuple(Skipped(what=omission.what, why=omission.why) for omission in found.omissions)
