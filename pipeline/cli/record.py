"""``offbeat record``: counters of this host, at a steady pace, into a lake."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Protocol

import typer

from pipeline.cli.lake_options import lake_address
from pipeline.cli.live_packets import Bins, Capture, Filter, PacketOptions, SeriesBy, record_capture
from pipeline.cli.live_sources import Cgroups, Devices, Drivers, Ifaces, LiveSources, Namespaces, Pids
from pipeline.cli.printer import CsvFlag, Format, FormatOption, JsonFlag, chosen_format, note, print_json, print_rows
from profiler.errors import UsageError

__all__ = ["record"]


class _Progress(Protocol):
    """What is under way."""

    @property
    def elapsed_s(self) -> float:
        """Time since it began."""

    def describe(self) -> str:
        """Return what was read so far."""


def record(
    lake: Annotated[
        Path,
        typer.Option(
            "--lake", metavar="PATH", parser=lake_address, help="Folder of the lake; made if missing or empty."
        ),
    ],
    iface: Ifaces = None,
    device: Devices = None,
    ethtool: Drivers = None,
    pid: Pids = None,
    cgroup: Cgroups = None,
    netns: Namespaces = None,
    capture: Capture = None,
    packet_filter: Filter = None,
    bin_width: Bins = None,
    series_by: SeriesBy = None,
    interval: Annotated[
        str | None,
        typer.Option("--interval", metavar="TIME", help="Time between reads.", show_default="1ms; 10ms with probes"),
    ] = None,
    dither: Annotated[
        bool, typer.Option("--dither", help="Read at a random place of each interval: short periods have no alias.")
    ] = False,
    duration: Annotated[
        str | None, typer.Option("--for", "--duration", metavar="TIME", help="Time to record; else until Ctrl-C.")
    ] = None,
    sys_root: Annotated[Path, typer.Option("--sys-root", metavar="DIR", help="Root of the kernel's tree.")] = Path(
        "/sys"
    ),
    host: Annotated[
        str | None, typer.Option("--host", metavar="NAME", help="Name of this host in the lake; else its own.")
    ] = None,
    output: FormatOption = Format.TABLE,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Record the counters of this host's network ports, of a job's own sockets, or a port's packets, into a lake.

    With nothing named: every interface and every RDMA port that is up. With --pid, --cgroup or --netns a job is
    recorded and not its host, until its processes end: the payload of its own TCP sockets, or all that moves in its
    network namespace, if it has one of its own, as a container has. How often each device copies its counters is
    measured first, for a tenth of the time, at most 2 s. Ctrl-C and SIGTERM end it cleanly, with exit code 0; it ends
    with 1 if one of the sources could not be read, or not to the end.

    With --capture the packets of an interface are counted instead, by pair of addresses or flow, as ingest does it of
    a file. Needs libpcap and root; says how many packets the kernel dropped. RDMA passes by the network stack of a
    host: capture it on a mirror port.

    Example:

        offbeat record --lake lake --iface eth0 --interval 1ms --for 20s

        offbeat record --lake lake --pid 4711

        offbeat record --lake lake --capture mirror0 --filter 'udp port 4791'
    """
    from profiler.doctor import measure_refresh
    from profiler.record import Timing, remarks_on, stop_on_signals
    from profiler.record import record as record_sources
    from profiler.store import Lake
    from profiler.units import parse_duration_s

    asked = LiveSources(
        ifaces=iface or (),
        devices=device or (),
        drivers=ethtool or (),
        pids=pid or (),
        cgroups=cgroup or (),
        namespaces=netns or (),
    )
    host = host or socket.gethostname()
    chosen = chosen_format(output, as_json=as_json, as_csv=as_csv)
    duration_s = None if duration is None else parse_duration_s(duration)
    packets = PacketOptions(iface=capture, packet_filter=packet_filter, bin_width=bin_width, series_by=series_by)
    if packets.is_asked:
        if asked.is_named or interval or dither:
            raise UsageError("--capture records packets alone; record counters by another command, beside it")
        wanted = packets.wanted(host=host, duration_s=duration_s)
        record_capture(lake, wanted, sys_root=sys_root, progress=_progress(duration_s), output=chosen)
        return
    interval_s = parse_duration_s(interval or asked.interval)
    sources, is_over = asked.find(sys_root, host=host, interval_s=interval_s)
    refresh = measure_refresh(sources, interval_s=interval_s, duration_s=duration_s)
    for remark in [*remarks_on(sources), *asked.left_out(sys_root), *refresh.remarks]:
        note(f"offbeat: {remark}")
    timing = Timing(interval_s=interval_s, duration_s=duration_s, is_dithered=dither, refresh_s=refresh.refresh_s)
    opened_lake = Lake.open(lake, create=True)
    with stop_on_signals() as stop, _progress(duration_s) as show:
        summary = record_sources(
            opened_lake, sources, host=host, timing=timing, stop=lambda: stop() or is_over(), show=show
        )
    if chosen is Format.JSON:
        print_json(summary.to_dict())
    elif chosen is Format.CSV:
        print_rows([summary.to_row()], output=chosen)
    else:
        print_rows([summary.to_text_row()], output=chosen)
    for warning in summary.warnings:
        note(f"offbeat: {warning}")
    if summary.failed:
        raise typer.Exit(1)


@contextmanager
def _progress(duration_s: float | None) -> Iterator[Callable[[_Progress], None]]:
    """Yield what draws the recorder's progress on stderr, if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _under_way: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("recording"), BarColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    # Drawn only when told: a drawing thread of its own would make the sampler miss ticks.
    with Progress(*columns, console=Console(stderr=True), auto_refresh=False, transient=True) as bar:
        task = bar.add_task("", total=duration_s)

        def show(under_way: _Progress) -> None:
            bar.update(task, completed=under_way.elapsed_s, description=under_way.describe(), refresh=True)

        yield show
