"""`examine`: read every counter of a host for a moment, and see how it behaves."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.collectors import COLLECTORS, Source
from profiler.collectors.blind import blind_spots
from profiler.doctor.checkup import Checkup, PortCheck
from profiler.doctor.drivers import driver_remarks
from profiler.doctor.refresh import refresh_of
from profiler.errors import NotHere, SourceBroken
from profiler.pacer.clock import read_clock_error
from profiler.record import SYSTEM_CLOCK, Clock, Sampler, opened, prompt_wakes
from profiler.units import NS_PER_S, format_count

if TYPE_CHECKING:
    from pathlib import Path

    from profiler.record import Chunk

__all__ = ["examine"]

_NS_PER_US: Final = 1000
_N_WAKES: Final = 200
_WAKE_S: Final = 0.001
_NO_RDMA: Final = (
    "no RDMA device: RDMA traffic, if there is any, cannot be measured here; in a container, mount the host's /sys and"
    " name it with --sys-root"
)


def examine(
    sys_root: Path, *, host: str, watch_s: float = 2.0, interval_s: float = 0.001, clock: Clock = SYSTEM_CLOCK
) -> Checkup:
    """Read every counter of a host for a moment.

    Parameters
    ----------
    sys_root
        Root of the kernel's tree, ``/sys``.
    host
        Its name.
    watch_s, interval_s
        For how long, and how often. A refresh interval shorter than ``watch_s / 8`` and longer than a few reads is
        found, where there is traffic.
    clock
        Clocks to go by.

    Raises
    ------
    SourceBroken
        If the kernel's tree may not be read.
    """
    sources = [source for collector in COLLECTORS.values() for source in collector.find(sys_root)]
    with opened(sources, host=host) as found:
        sampler = Sampler(found.counters, interval_s=interval_s, clock=clock, chunk_s=watch_s + 1)
        chunks = list(sampler.chunks(stop=lambda: False, duration_s=watch_s)) if found.counters else []
    broken = [str(error) for error in (*found.broken, *sampler.broken)]
    ports = tuple(_check(source, chunks, sys_root=sys_root, broken=broken) for source in sources)
    n_ticks = sampler.n_ticks + sampler.n_missed
    return Checkup(
        host=host,
        ports=ports,
        interval_s=interval_s,
        watched_s=watch_s if chunks else 0.0,
        missed_frac=sampler.n_missed / n_ticks if n_ticks else 0.0,
        late_us=_lateness_us(clock),
        remarks=(*_remarks(ports), *driver_remarks(ports, sys_root)),
    )


def _check(source: Source, chunks: Sequence[Chunk], *, sys_root: Path, broken: list[str]) -> PortCheck:
    names, widths_ns = [], []
    moved_bytes = 0
    for chunk in chunks:
        for i, counter in enumerate(chunk.counters):
            if counter.source != source:
                continue
            names.append(counter.series.raw_name)
            widths_ns.append(float(np.median(chunk.window_ns[i])))
            if counter.series.metric == "bytes":
                moved_bytes += int(chunk.value[i][-1] - chunk.value[i][0])
    faults = [text.removeprefix(f"{source.folder}: {source.name} ") for text in broken if _is_of(source, text)]
    return PortCheck(
        name=source.name,
        collector=source.collector,
        is_up=source.is_up,
        speed_bps=source.speed_bps,
        counters=tuple(dict.fromkeys(names)),
        read_us=float(np.mean(widths_ns)) / _NS_PER_US if widths_ns else None,
        moved_bytes=moved_bytes,
        refresh_s=refresh_of(source, chunks),
        remarks=(*blind_spots(source, sys_root), *faults),
    )


def _is_of(source: Source, fault: str) -> bool:
    """Return whether a message is of a port's folder, or of a file in it: ``eth1`` begins the name of ``eth10``."""
    return fault.startswith((f"{source.folder}:", f"{source.folder}/"))


def _lateness_us(clock: Clock) -> tuple[float, float]:
    """Return how late a sleep of a millisecond ends: median and 99 of 100, in us."""
    late_ns = []
    with prompt_wakes():  # as the recorder does
        for _ in range(_N_WAKES):
            before_ns = clock.monotonic_ns()
            clock.sleep_s(_WAKE_S)
            late_ns.append(clock.monotonic_ns() - before_ns - round(_WAKE_S * NS_PER_S))
    median, most = np.quantile(late_ns, [0.5, 0.99]) / _NS_PER_US
    return float(median), float(most)


def _remarks(ports: Sequence[PortCheck]) -> list[str]:
    """Return what holds for the whole host."""
    remarks = []
    if not any(port.collector == "rdma" for port in ports):
        remarks.append(_NO_RDMA)
    if not any(port.is_up and port.counters for port in ports):
        remarks.append("no port that is up has counters: nothing can be recorded")
    error = read_clock_error()
    if error.is_synchronised is None or not error.is_synchronised:
        remarks.append(f"clock: {error.reason}; phases of different hosts cannot be compared")
    remarks.append(_sockets_remark())
    return remarks


def _sockets_remark() -> str:
    from profiler.collectors.sockets import can_diagnose

    try:
        can_diagnose()  # the first time is slow: imports, and modules of the kernel
        start_s = time.perf_counter()
        n_sockets = can_diagnose()
    except (NotHere, SourceBroken) as error:
        return f"jobs by process (--pid): not here: {error}"
    cost_ms = (time.perf_counter() - start_s) * 1e3
    return f"jobs by process (--pid): a read of {format_count(n_sockets, 'socket')} takes {cost_ms:.1f} ms"
