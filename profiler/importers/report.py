"""What became of each input: the result of ingesting."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal

from profiler.importers.coverage import Coverage, Skipped
from profiler.results import Tabular

__all__ = ["IngestReport", "InputReport", "InputStatus"]

InputStatus = Literal["read", "already there", "partial", "already there, partly", "skipped", "failed"]

_FAULTY: Final = ("partial", "already there, partly", "failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class InputReport:
    """One input.

    Parameters
    ----------
    source
        Its name.
    status
        ``read``; ``already there``: nothing to do; ``partial``: sound in part; ``already there, partly``: it was;
        ``skipped``: found in a folder or an archive, and no importer is for it; ``failed``: nothing was stored.
    format
        Importer; empty if none was found.
    message
        Why it is not ``read``, a line a problem: place, value, remedy.
    coverage
        How much was read.
    """

    source: str
    status: InputStatus
    format: str = ""
    message: str = ""
    coverage: Coverage = field(default_factory=Coverage)

    @property
    def is_faulty(self) -> bool:
        """Whether something is wrong with it."""
        return self.status in _FAULTY

    @property
    def skipped(self) -> list[Skipped]:
        """What of it was passed over."""
        return self.coverage.skipped

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {
            "source": self.source,
            "format": self.format,
            "status": self.status,
            "n_rows": self.coverage.n_rows,
            "n_samples": self.coverage.n_samples,
            "n_read": self.coverage.n_read,
            "n_kept": self.coverage.n_kept,
            "left_out": dict(self.coverage.left_out),
            "t_first_ns": self.coverage.t_first_ns,
            "t_last_ns": self.coverage.t_last_ns,
            **self.coverage.totals,
            "message": self.message,
            "skipped": [{"what": item.what, "why": item.why} for item in self.skipped],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport(Tabular):
    """Every input of one run, in order."""

    inputs: tuple[InputReport, ...]

    @property
    def is_complete(self) -> bool:
        """Whether nothing failed and nothing was cut."""
        return not any(report.is_faulty for report in self.inputs)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {"kind": "ingest", "version": 1, "inputs": [report.to_dict() for report in self.inputs]}

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row an input, with the same keys in each."""
        return [_row(report) for report in self.inputs]


def _row(report: InputReport) -> dict[str, Any]:
    skipped = "; ".join(f"{item.what}: {item.why}" for item in report.skipped)
    return {
        "source": report.source,
        "status": report.status,
        "format": report.format,
        "n_rows": report.coverage.n_rows,
        "n_samples": report.coverage.n_samples,
        "n_read": report.coverage.n_read,
        "n_kept": report.coverage.n_kept,
        "t_first_ns": report.coverage.t_first_ns,
        "t_last_ns": report.coverage.t_last_ns,
        "skipped": skipped,
        "message": report.message,
    }
