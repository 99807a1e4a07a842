"""`Checkup`: what was found out about a host's counters."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from profiler.results import Tabular, json_ready
from profiler.units import format_duration, format_rate

__all__ = ["Checkup", "PortCheck"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PortCheck:
    """One port.

    Parameters
    ----------
    name, collector
        As for ``offbeat record``.
    is_up
        Whether it can carry traffic.
    speed_bps
        Of its link; None where the kernel does not know.
    counters
        Kernel's names of the counters that can be read.
    read_us
        Mean time of reading one of them.
    moved_bytes
        Bytes counted, both directions, while it was watched.
    refresh_s
        How often the device copies its counters, if that is slower than they were read; None if it is not, or nothing
        moved.
    remarks
        What its user must know.
    """

    name: str
    collector: str
    is_up: bool
    speed_bps: float | None = None
    counters: tuple[str, ...] = ()
    read_us: float | None = None
    moved_bytes: int = 0
    refresh_s: float | None = None
    remarks: tuple[str, ...] = ()

    def to_text_row(self) -> dict[str, str]:
        """Return the figures in one row, for people."""
        return {
            "port": self.name,
            "read by": self.collector,
            "link": "up" if self.is_up else "down",
            "speed": "unknown" if self.speed_bps is None else format_rate(self.speed_bps),
            "a read": "none" if self.read_us is None else f"{self.read_us:.1f} us",
            "refreshed": self._refreshed(),
        }

    def _refreshed(self) -> str:
        if self.refresh_s is not None:
            return f"each {format_duration(self.refresh_s)}"
        return "with each read" if self.moved_bytes else "no traffic seen"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkup(Tabular):
    """A host.

    Parameters
    ----------
    watched_s
        Time for which all ports were read, each ``interval_s``.
    missed_frac
        Share of the ticks that were missed meanwhile.
    late_us
        How late the process woke up: median and 99 of 100.
    remarks
        What holds for the whole host.
    """

    host: str
    ports: tuple[PortCheck, ...]
    interval_s: float
    watched_s: float
    missed_frac: float
    late_us: tuple[float, float]
    remarks: tuple[str, ...] = ()

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row a port."""
        rows = []
        for port in self.ports:
            row = asdict(port)
            rows.append({**row, "counters": " ".join(port.counters), "remarks": "; ".join(port.remarks)})
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {"kind": "checkup", "version": 1, **json_ready(asdict(self))}
