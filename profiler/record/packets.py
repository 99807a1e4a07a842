"""`record_packets`: the packets of an interface into the lake while they come."""

from __future__ import annotations

import hashlib
import time
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from profiler.collectors.packets import SNAP_BYTES, PacketTap
from profiler.importers.capture import capture_parameters
from profiler.importers.importer import Options
from profiler.importers.repeats import settle
from profiler.record.clock import SYSTEM_CLOCK
from profiler.record.live_packets import LivePackets
from profiler.record.packets_summary import PacketsSummary
from profiler.record.recorder import SEAL_EVERY_S
from profiler.store.locks import LakeLock
from profiler.store.recording import Recording, recording_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from profiler.collectors.packets import Drops
    from profiler.importers.coverage import Coverage
    from profiler.store.lake import Lake

__all__ = ["WantedPackets", "check_packets", "record_packets"]

_PARSER_VERSION: Final = 1
_ADVICE: Final = "what others record too, or files have, is recorded into another --lake"


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedPackets:
    """Which packets are captured, and what becomes of them.

    Parameters
    ----------
    iface, packet_filter
        See `profiler.collectors.packets.PacketTap`.
    options
        Host in the lake, width of bins, and what one series is.
    duration_s
        For how long; None goes on until stopped.
    """

    iface: str
    packet_filter: str = ""
    options: Options = Options()  # noqa: RUF009 - frozen
    duration_s: float | None = None


def check_packets(wanted: WantedPackets) -> None:
    """See whether packets can be captured, before anything is made.

    Raises
    ------
    NotHere, SourceBroken, UsageError
        As `profiler.collectors.packets.PacketTap`.
    """
    with _tap(wanted):
        pass


def record_packets(
    lake: Lake,
    wanted: WantedPackets,
    *,
    stop: Callable[[], bool],
    show: Callable[[LivePackets], None] = lambda _packets: None,
) -> PacketsSummary:
    """Count the packets of an interface into the lake, until told to stop, the time is over or the interface is gone.

    Bins are in the lake some seconds after their packets, with the flows so far. Packets that the lake has at the end,
    of another recorder or a file, count once: see `profiler.importers.repeats`.

    Parameters
    ----------
    lake
        Where samples and flows go.
    wanted
        What is captured.
    stop
        Asked at least each 50 ms whether to end.
    show
        Told of progress as often.

    Raises
    ------
    NotHere, SourceBroken, UsageError
        If it cannot begin; see `check_packets`.
    LakeError
        If another recorder captures the same into the lake, or it cannot be written; what was sealed before stays.
    """
    # LLVM, which runs the reader, is nothing that other recordings need.
    from profiler.importers.captures.reader import CaptureReader
    from profiler.importers.captures.window import ByteWindow

    recording, options = _recording(wanted), wanted.options
    with _only_recorder(lake, wanted), lake.writer(recording, seal_every_s=SEAL_EVERY_S) as writer:
        # The reader comes first: to be compiled, once on a machine, it takes longer than the kernel's ring lasts.
        reader = CaptureReader(wanted.iface, writer, host=options.host, bin_ns=options.bin_ns, by=options.series_by)
        with _tap(wanted) as tap:
            start_cpu_s = time.process_time()
            live = LivePackets(tap, duration_s=wanted.duration_s, stop=stop, show=show)
            writer.before_seal(reader.tell_flows)
            coverage = reader.follow(
                ByteWindow(live.pieces()), now_ns=time.time_ns, is_live=True, after_write=writer.seal_when_due
            )
            drops, duration_s = tap.drops(), live.elapsed_s
        coverage.totals["dropped"] = drops.n_ring
        warnings = [*live.warnings, *coverage.problems, *_losses(wanted.iface, drops)]
        for warning in warnings:
            writer.warn(warning)
        repeat = settle(lake, writer, coverage=coverage)
    if repeat is not None:
        warnings.append(f"{wanted.iface}: {replace(repeat, advice=_ADVICE)}")
    return PacketsSummary(
        recording_id=recording.recording_id,
        host=options.host,
        iface=wanted.iface,
        packet_filter=wanted.packet_filter,
        bin_s=options.bin_s,
        duration_s=duration_s,
        n_samples=0 if repeat is not None else writer.n_rows,
        totals=dict(coverage.totals),
        n_dropped_by_interface=drops.n_interface,
        cpu_frac=(time.process_time() - start_cpu_s) / duration_s,
        files=tuple(
            str(path.relative_to(lake.root)) for path in lake.files("samples", recording_id=recording.recording_id)
        ),
        is_cut=live.is_cut,
        is_refused=repeat is not None and repeat.kind == "clash",
        warnings=tuple(warnings),
        remarks=tuple(_remarks(coverage)),
    )


@contextmanager
def _only_recorder(lake: Lake, wanted: WantedPackets) -> Iterator[None]:
    """Keep others from capturing the same into a lake: at the end it would have to be forgotten, and is nowhere else.

    Raises
    ------
    LakeError
        If another does.
    """
    same = f"capturing|{wanted.options.host}|{wanted.iface}|{wanted.packet_filter}"
    key = hashlib.sha256(same.encode()).hexdigest()
    lock = LakeLock(lake.fillable(), key, work=f"capturing on {wanted.iface} into this lake, with the same filter")
    try:
        yield
    finally:
        lock.release()


def _tap(wanted: WantedPackets) -> PacketTap:
    return PacketTap(wanted.iface, packet_filter=wanted.packet_filter)


def _recording(wanted: WantedPackets) -> Recording:
    wall_ns, monotonic_ns = SYSTEM_CLOCK.anchor()
    return Recording(
        # Each run is an input of its own.
        recording_id=recording_id(uuid.uuid4().hex, parser="packets", parser_version=_PARSER_VERSION),
        source=wanted.iface,
        format="capture",
        parameters={
            **capture_parameters(wanted.options),
            "iface": wanted.iface,
            "filter": wanted.packet_filter,
            "snap_bytes": SNAP_BYTES,
        },
        anchor_wall_ns=wall_ns,
        anchor_monotonic_ns=monotonic_ns,
    )


def _losses(iface: str, drops: Drops) -> Iterator[str]:
    if drops.n_ring:
        yield (
            f"{iface}: {drops.n_ring} packets dropped by the kernel, in no figure: they came faster than they could be"
            " counted; capture fewer with --filter"
        )
    if drops.n_interface:
        yield f"{iface}: {drops.n_interface} packets dropped by the interface or its driver, in no figure"


def _remarks(coverage: Coverage) -> Iterator[str]:
    if not coverage.n_rows:
        yield "no packet came; is it the right interface, and the right filter (behind a VLAN tag: vlan and …)?"
    for item in coverage.skipped:
        yield f"{item.what}: {item.why}"
