"""`discover_lake`: the jobs found on the ports of a lake."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from pipeline.batch.compute import port_rate
from pipeline.discover.fleet import gather
from pipeline.discover.links import BEYOND
from pipeline.discover.placing import HOST_TIER
from pipeline.discover.ports import LEAST_SPAN_S, MAX_TICKS
from pipeline.discover.result import Discovery, Skipped
from pipeline.discover.search import find_jobs
from pipeline.measured import read_ports
from profiler.errors import LakeError
from profiler.store import Lake
from profiler.store.counters import read_counters
from profiler.store.manifest import Manifest
from profiler.store.reading import map_files, parquet_file
from profiler.store.remote.faults import told
from profiler.store.soundness import examine
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from profiler.signals import RateSeries

__all__ = ["discover_lake"]

NEVER_NS: Final = 2**63 - 1
SPARE: Final = 4.0
"""Counters that are copied more slowly than they are read need so many readings a tick; of older ones none is read."""


def discover_lake(
    lake: str | Path,
    *,
    last_s: float | None = None,
    on_port: Callable[[int, int], None] = lambda _n_done, _n_ports: None,
    on_step: Callable[[int, int], None] = lambda _n_done, _n_steps: None,
) -> Discovery:
    """Find jobs on the ports of a lake by their beat.

    Parameters
    ----------
    lake
        Folder of the lake.
    last_s
        Look at so many seconds before the newest sample; by default at as much as is compared.
    on_port
        Called after each series with the number done and their total.
    on_step
        Called as they are compared, see `pipeline.discover.find_jobs`.

    Returns
    -------
    Discovery
        With files that cannot be read as what is lost, by name and with the reason.

    Raises
    ------
    LakeError
        If the lake is missing, of another version, or its manifest is damaged.
    """
    store = Lake.open(lake)
    ports = {port["series_id"]: port for port in read_ports(store)}
    from_ns = _from_ns(store, len(ports), last_s=last_s)
    paths, broken = _sound_files(store, from_ns=from_ns)
    trunks = _trunks(store, ports.values())
    while True:
        faults: dict[str, str] = {}
        rates = _rates(ports, paths, from_ns=from_ns, faults=faults)
        try:
            seen = gather(rates, on_port=lambda n_done: on_port(n_done, len(ports)))
            break
        except LakeError:
            changed = _changed_files(store, paths)
            if not changed:
                raise
            paths = [path for path in paths if path not in changed]
            broken += [_skipped(path, why) for path, why in changed.items()]
    known = [replace(port, is_trunk=(port.host, port.device, port.port) in trunks) for port in seen]
    found = find_jobs(known, on_step=on_step)
    skipped = tuple(replace(one, why=faults.get(one.label, one.why)) for one in found.skipped)
    return replace(found, skipped=skipped, lost=tuple(broken))


def _rates(
    ports: Mapping[int, Mapping[str, Any]], paths: Sequence[Path], *, from_ns: int, faults: dict[str, str]
) -> Iterator[RateSeries]:
    """Yield the rate of each port, and note why one cannot be read as a rate."""
    kinds = {series_id: port["kind"] for series_id, port in ports.items()}
    n_rows = sum(map_files(_n_rows, paths))
    counters = read_counters(paths, ports, kinds=kinds, n_rows=n_rows, t_range_ns=(from_ns, NEVER_NS))
    for series_id, counter in counters:
        rate, fault = port_rate(ports[series_id], counter)
        if fault is not None:
            faults[" ".join(word for word in (rate.host, rate.device, rate.port, rate.direction) if word)] = fault
        yield rate


def _trunks(store: Lake, ports: Iterable[Mapping[str, Any]]) -> set[tuple[str, str, str]]:
    """Return the ports whose cable is known to lead from switch to switch."""
    links = store.read("links").to_pylist()
    between = {link["link_id"] for link in links if link["tier"] not in (None, HOST_TIER) and BEYOND not in link["b"]}
    return {(port["host"], port["device"], port["port"]) for port in ports if port["link_id"] in between}


def _sound_files(store: Lake, *, from_ns: int) -> tuple[list[Path], list[Skipped]]:
    """Return the sample files from some time on that can be opened, and those that cannot."""

    def fault(path: Path) -> str | None:
        try:
            _n_rows(path)
        except (OSError, pa.ArrowException) as error:
            return told(error)
        return None

    with Manifest(store.root, mode="ro") as manifest:
        entries = [entry for entry in manifest.entries() if entry.table == "samples"]
        paths = [manifest.place(entry) for entry in entries if entry.t_last_ns is None or entry.t_last_ns >= from_ns]
    faults = dict(zip(paths, map_files(fault, paths), strict=True))
    broken = [_skipped(path, f"{why}; ingest its recording again") for path, why in faults.items() if why is not None]
    return [path for path, why in faults.items() if why is None], broken


def _changed_files(store: Lake, paths: Sequence[Path]) -> dict[Path, str]:
    """Return how some of the files are not as they were sealed; they are read whole."""
    with Manifest(store.root, mode="ro") as manifest:
        places = {entry.path: manifest.place(entry) for entry in manifest.entries()}
        entries = [entry for entry in manifest.entries() if places[entry.path] in paths]
    return {places[name]: why for name, why in examine(store.root, entries).faults.items()}


def _n_rows(path: Path) -> int:
    with parquet_file(path) as file:
        n_rows: int = file.metadata.num_rows
    return n_rows


def _skipped(path: Path, why: str) -> Skipped:
    return Skipped(host="", device=f"file {path.name}", port="", direction="", why=why)


def _from_ns(store: Lake, n_series: int, *, last_s: float | None) -> int:
    """Return from when on samples are read."""
    size = next((size for size in store.sizes() if size["table"] == "samples"), None)
    if size is None or size["t_last_ns"] is None:
        return 0
    span_ns = max(1, size["t_last_ns"] - size["t_first_ns"])
    gap_ns = span_ns * max(1, n_series) / max(1, size["n_rows"])
    looked_at_ns = max(SPARE * MAX_TICKS * gap_ns, 2 * LEAST_SPAN_S * NS_PER_S)
    looked_at_ns = looked_at_ns if last_s is None else last_s * NS_PER_S
    return int(max(size["t_first_ns"], size["t_last_ns"] - looked_at_ns))
