"""What files know of a cluster, as tables of a lake (`cluster_tables`), and put into one (`know_cluster`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from pipeline.analysis import Skipped
from pipeline.topology import read_cluster

if TYPE_CHECKING:
    import pyarrow as pa

    from profiler.store import Lake

__all__ = ["cluster_tables", "know_cluster"]


def know_cluster(store: Lake, cluster: str | Path | Sequence[str | Path] | None) -> tuple[Skipped, ...]:
    """Put what files know of links, jobs and placements in the place of what a lake knew, if any are given.

    Returns
    -------
    tuple of Skipped
        As of `cluster_tables`.

    Raises
    ------
    BadInput
        If a file is missing or wrong.
    """
    tables, skipped = cluster_tables(store, cluster)
    if tables:
        store.replace_all(tables)
    return skipped


def cluster_tables(
    store: Lake, cluster: str | Path | Sequence[str | Path] | None
) -> tuple[dict[str, pa.Table], tuple[Skipped, ...]]:
    """Return what files know of links, jobs and placements, as tables of a lake; none if no file is given.

    Of links and jobs with a start or an end, those count that are there at the lake's last sample. Hosts and
    switches are called as the lake's counters call them, where the names differ by a domain alone or files tell so.

    Returns
    -------
    tables : dict of pyarrow.Table
        By name.
    skipped : tuple of Skipped
        The links, jobs, pods and adapters that could not be used, and why.

    Raises
    ------
    BadInput
        If a file is missing or wrong.
    """
    if cluster is None:
        return {}, ()
    paths = [cluster] if isinstance(cluster, str | Path) else list(cluster)
    if not paths:
        return {}, ()
    series = store.read("series")
    # Hosts of captures are addresses, which no node is to be called by.
    counted = set(series.filter(pc.not_equal(series["layer"], "capture"))["host"].to_pylist())
    found = read_cluster(*paths, at_ns=_last_sample_ns(store), counted=counted)
    return found.to_tables(), tuple(Skipped(what=omission.what, why=omission.why) for omission in found.omissions)


def _last_sample_ns(store: Lake) -> int | None:
    return next((size["t_last_ns"] for size in store.sizes() if size["table"] == "samples"), None)
