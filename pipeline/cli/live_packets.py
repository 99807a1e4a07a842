"""``offbeat record --capture``: the packets of an interface, counted into a lake while they come."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from pipeline.cli.printer import Format, note, print_json, print_rows
from profiler.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from profiler.record import WantedPackets
    from profiler.record.live_packets import LivePackets

__all__ = ["Bins", "Capture", "Filter", "PacketOptions", "SeriesBy", "record_capture"]

_BIN_WIDTH: Final = "1ms"

Capture = Annotated[
    str | None, typer.Option("--capture", metavar="IFACE", help="Interface, as a mirror port, whose packets are read.")
]
Filter = Annotated[
    str | None,
    typer.Option(
        "--filter", metavar="EXPRESSION", help="Packets to capture, as for tcpdump: 'udp port 4791' is RoCEv2."
    ),
]
Bins = Annotated[
    str | None, typer.Option("--bin", metavar="TIME", help="Bins of packets: 1us to 2s.", show_default=_BIN_WIDTH)
]
SeriesBy = Annotated[
    Literal["pair", "flow"] | None,
    typer.Option("--by", help="One series of a capture: a pair of addresses, or a flow.", show_default="pair"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketOptions:
    """What was asked for on the command line."""

    iface: str | None
    packet_filter: str | None
    bin_width: str | None
    series_by: Literal["pair", "flow"] | None

    @property
    def is_asked(self) -> bool:
        """Whether packets are to be recorded.

        Raises
        ------
        UsageError
            If it is said how, but not of which interface.
        """
        if self.iface is None and (self.packet_filter or self.bin_width or self.series_by):
            raise UsageError("--filter, --bin and --by are of packets: name an interface with --capture")
        return self.iface is not None

    def wanted(self, *, host: str, duration_s: float | None) -> WantedPackets:
        """Return what is to be recorded."""
        from profiler.importers import Options
        from profiler.record import WantedPackets
        from profiler.units import parse_duration_s

        options = Options(
            host=host, bin_s=parse_duration_s(self.bin_width or _BIN_WIDTH), series_by=self.series_by or "pair"
        )
        return WantedPackets(
            iface=self.iface or "", packet_filter=self.packet_filter or "", options=options, duration_s=duration_s
        )


def record_capture(
    lake: Path,
    wanted: WantedPackets,
    *,
    sys_root: Path,
    progress: AbstractContextManager[Callable[[Any], None]],
    output: Format,
) -> None:
    """Record, and say what came of it; ends with 1 if the interface was not there to the end or nothing was kept."""
    from profiler.collectors.blind import uncaptured
    from profiler.record import check_packets, record_packets, stop_on_signals
    from profiler.store import Lake

    check_packets(wanted)
    if remark := uncaptured(wanted.iface, sys_root):
        note(f"offbeat: {remark}")
    opened_lake = Lake.open(lake, create=True)
    with stop_on_signals() as stop, progress as show:
        summary = record_packets(opened_lake, wanted, stop=stop, show=_announced(wanted.iface, show))
    if output is Format.JSON:
        print_json(summary.to_dict())
    else:
        print_rows([summary.to_row() if output is Format.CSV else summary.to_text_row()], output=output)
    for told in (*summary.warnings, *summary.remarks):
        note(f"offbeat: {told}")
    if summary.is_cut or summary.is_refused:
        raise typer.Exit(1)


def _announced(iface: str, show: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return what says the first time that packets are captured now, and shows progress."""
    announcements = iter([f"offbeat: capturing on {iface}; Ctrl-C ends it"])

    def show_packets(live: LivePackets) -> None:
        for announcement in announcements:
            note(announcement)
        show(live)

    return show_packets
