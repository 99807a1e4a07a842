"""What a recording brought."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from profiler.results import json_ready
from profiler.units import format_duration

__all__ = ["RecordSummary"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordSummary:
    """What a recording brought.

    Parameters
    ----------
    duration_s
        Time from the start to the end, in seconds.
    n_ticks, n_missed
        Ticks read and missed.
    cpu_frac
        CPU time of this process over elapsed time, from the first tick on; 1 is one core.
    kernel_cpu_frac
        Part of it that the kernel takes to read the counters' files, measured before the first tick; None where no
        file was read.
    refresh_s
        How often devices copy their counters, by their names, as far as it was measured before.
    files
        Sealed files, relative to the lake.
    failed
        Sources of which nothing could be read, or not to the end.
    warnings
        What was wrong, counter by counter.
    remarks
        What is not seen, or seen twice, and what a read costs.
    """

    recording_id: str
    host: str
    sources: tuple[str, ...]
    interval_s: float
    duration_s: float
    n_samples: int
    n_ticks: int
    n_missed: int
    cpu_frac: float
    files: tuple[str, ...]
    kernel_cpu_frac: float | None = None
    refresh_s: Mapping[str, float] = field(default_factory=dict)
    failed: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def missed_frac(self) -> float:
        """Share of the ticks that were missed."""
        return self.n_missed / max(1, self.n_ticks + self.n_missed)

    def to_row(self) -> dict[str, str | int | float]:
        """Return the figures in one row, for programs."""
        return {
            "recording_id": self.recording_id,
            "host": self.host,
            "sources": " ".join(self.sources),
            "failed": " ".join(self.failed),
            "interval_s": self.interval_s,
            "duration_s": self.duration_s,
            "n_samples": self.n_samples,
            "n_ticks": self.n_ticks,
            "n_missed": self.n_missed,
            "missed_frac": self.missed_frac,
            "cpu_frac": self.cpu_frac,
            "kernel_cpu_frac": "" if self.kernel_cpu_frac is None else self.kernel_cpu_frac,
            "n_files": len(self.files),
        }

    def to_text_row(self) -> dict[str, str]:
        """Return the figures in one row, for people."""
        return {
            "sources": ", ".join(self.sources),
            "time": format_duration(self.duration_s),
            "samples": str(self.n_samples),
            "missed ticks": f"{self.missed_frac:.2%}",
            "CPU": f"{self.cpu_frac:.1%}",
            "of it in reads": "unknown" if self.kernel_cpu_frac is None else f"{self.kernel_cpu_frac:.1%}",
            "files": str(len(self.files)),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values in SI units."""
        values = json_ready(asdict(self))
        return {"kind": "recording", "version": 1, **values, "missed_frac": self.missed_frac}
