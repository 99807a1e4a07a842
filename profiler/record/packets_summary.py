"""What a recording of packets brought."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from profiler.results import json_ready
from profiler.units import format_duration

__all__ = ["PacketsSummary"]

_IN_ROW: Final = ("packets", "wire_bytes", "payload_bytes", "flows", "retransmits", "cnps", "dropped")


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketsSummary:
    """What a recording of packets brought.

    Parameters
    ----------
    duration_s
        Time from the start to the end, in seconds.
    n_samples
        Samples in the lake: two a bin and series, bytes and packets.
    totals
        Packets, bytes, flows and more, see `profiler.importers.captures.reader.CaptureReader`; ``dropped`` are those
        that the kernel dropped for want of room.
    n_dropped_by_interface
        Packets that the interface or its driver dropped.
    cpu_frac
        CPU time of this process over elapsed time; 1 is one core.
    files
        Sealed files, relative to the lake.
    is_cut
        Whether packets could not be taken to the end.
    is_refused
        Whether nothing was kept, since the lake has some of the packets, though not all.
    warnings
        What was wrong.
    remarks
        What people should know of how packets were counted.
    """

    recording_id: str
    host: str | None
    iface: str
    packet_filter: str
    bin_s: float
    duration_s: float
    n_samples: int
    totals: Mapping[str, int] = field(default_factory=dict)
    n_dropped_by_interface: int = 0
    cpu_frac: float
    files: tuple[str, ...]
    is_cut: bool = False
    is_refused: bool = False
    warnings: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def to_row(self) -> dict[str, str | int | float]:
        """Return the figures in one row, for programs."""
        return {
            "recording_id": self.recording_id,
            "host": self.host or "",
            "iface": self.iface,
            "filter": self.packet_filter,
            "bin_s": self.bin_s,
            "duration_s": self.duration_s,
            **{name: self.totals[name] for name in _IN_ROW},
            "dropped_by_interface": self.n_dropped_by_interface,
            "n_samples": self.n_samples,
            "cpu_frac": self.cpu_frac,
            "n_files": len(self.files),
        }

    def to_text_row(self) -> dict[str, str]:
        """Return the figures in one row, for people."""
        return {
            "interface": self.iface,
            "time": format_duration(self.duration_s),
            "packets": str(self.totals["packets"]),
            "bytes": str(self.totals["wire_bytes"]),
            "flows": str(self.totals["flows"]),
            "dropped": str(self.totals["dropped"] + self.n_dropped_by_interface),
            "samples": str(self.n_samples),
            "CPU": f"{self.cpu_frac:.1%}",
            "files": str(len(self.files)),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values in SI units."""
        values = json_ready(asdict(self))
        return {"kind": "packets", "version": 1, **values.pop("totals"), **values}
