"""`run_demo`: the whole path on the sample data, and what it found against what the jobs themselves wrote down."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any, Final, Self

from pipeline.flow import analyze
from pipeline.outfile import write_text
from pipeline.report import Origin, render, summarize
from profiler.errors import BadInput, NotHere
from profiler.importers import ingest
from profiler.store import file_digest
from profiler.units import NS_PER_S, format_duration

if TYPE_CHECKING:
    from datetime import datetime

    from pipeline.analysis import Analysis

__all__ = ["SAMPLE_DATA", "Check", "Demo", "Truth", "find_sample_data", "run_demo"]

SAMPLE_DATA: Final = Path(__file__).parents[1] / "sample_data"
COUNTERS: Final = "shared.csv.gz"
CLUSTER: Final = "cluster.toml"
HOST: Final = "sw1"
TOGETHER: Final = "shared.truth.json"
ALONE: Final = ("alone_a.truth.json", "alone_b.truth.json")
"""Truth of the jobs as they ran together, which is what was measured, and alone, which has to be concluded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One figure that was found, against the one that the job itself wrote down."""

    job: str
    figure: str
    found_s: float | None
    true_s: float

    @property
    def off_frac(self) -> float | None:
        """How far off it is, as a fraction of the truth."""
        return None if self.found_s is None else self.found_s / self.true_s - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What a job wrote down: its iteration, median and 90th percentile, and how long it communicated in it."""

    period_s: float
    p90_period_s: float
    up_s: float

    @classmethod
    def of(cls, iterations: Sequence[tuple[int, int, int]]) -> Self:
        """Return the medians of iterations, each given as start, start and end of its communication in ns."""
        periods_ns = [later - earlier for (_, earlier, _), (_, later, _) in pairwise(iterations)]
        return cls(
            period_s=median(periods_ns) / NS_PER_S,
            p90_period_s=quantiles(periods_ns, n=10, method="inclusive")[-1] / NS_PER_S,
            up_s=median(end - start for _, start, end in iterations) / NS_PER_S,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """What the demo found and where it put it."""

    analysis: Analysis
    checks: tuple[Check, ...]
    lake: Path
    report: Path

    def to_dict(self) -> dict[str, Any]:
        """Return the demo as JSON-ready values."""
        checks = [{**asdict(check), "off_frac": check.off_frac} for check in self.checks]
        places = {"lake": str(self.lake), "report": str(self.report)}
        return {"kind": "demo", "version": 1, "checks": checks, "analysis": self.analysis.to_dict(), **places}

    def to_rows(self) -> list[dict[str, str]]:
        """Return one row a check, for people."""
        return [
            {
                "job": check.job,
                "figure": check.figure,
                "found": format_duration(check.found_s),
                "truth": format_duration(check.true_s),
                "off": "-" if check.off_frac is None else f"{check.off_frac:+.2%}",
            }
            for check in self.checks
        ]

    def in_words(self) -> list[str]:
        """Return the verdict, the advice and what it should bring, and where the report is, in lines."""
        return [*summarize(self.analysis), "", f"Report: {self.report}"]


def find_sample_data(folder: Path | None = None) -> Path:
    """Return the folder of the sample data, by default the one next to the code.

    Raises
    ------
    NotHere
        If it is not there: a wheel carries none.
    """
    chosen = folder or SAMPLE_DATA
    if not (chosen / COUNTERS).is_file():
        raise NotHere(
            f"{chosen}: holds no {COUNTERS}; the sample data come with the source, not with the installed package: "
            "run the demo in a checkout, or name its folder with --data"
        )
    return chosen


def run_demo(data: Path, *, out: Path, made_at: datetime, on_step: Callable[[str], None] = lambda _step: None) -> Demo:
    """Ingest the counters of two jobs that share a trunk, analyse them, write the report, and look up the truth.

    Parameters
    ----------
    data
        Folder of the sample data.
    out
        Folder for the lake and the report; made if missing, and its report replaced.
    made_at
        Time to write into the report.
    on_step
        Called with a sentence before each step.
    """
    # Named after its content: samples of another release would be analysed with these.
    lake = out / f"lake-{file_digest(data / COUNTERS)[:8]}"
    cluster, report = data / CLUSTER, out / "report.html"
    together, alone = _read_truths(data, (TOGETHER,)), _read_truths(data, ALONE)
    on_step(f"reading the counters of {data / COUNTERS} into the lake {lake}")
    _ingest(data / COUNTERS, lake)
    on_step("finding each job's beat, and shifts that keep the jobs apart")
    analysis = analyze(lake, cluster=cluster)
    on_step(f"writing the report {report}")
    origin = Origin(lake=str(lake), cluster=str(cluster), made_at=made_at)
    write_text(render(analysis, origin=origin), report, existing="replace")
    checks = _checks(analysis, together=together, alone=alone)
    return Demo(analysis=analysis, checks=tuple(checks), lake=lake, report=report)


def _ingest(counters: Path, lake: Path) -> None:
    """Read the counters into the lake; a lake that holds them already stays as it is."""
    lake.parent.mkdir(parents=True, exist_ok=True)
    read = ingest(counters, lake=lake, host=HOST)
    if not read.is_complete:
        raise BadInput("; ".join(found.message for found in read.inputs if found.message))


def _checks(analysis: Analysis, *, together: Mapping[str, Truth], alone: Mapping[str, Truth]) -> Iterator[Check]:
    for job in sorted(analysis.jobs.keys() & together.keys() & alone.keys()):
        own = analysis.jobs[job]
        measured = analysis.measured(job)
        shared, truth = together[job], alone[job]
        yield Check(job=job, figure="period, sharing the trunk", found_s=measured.period_s, true_s=shared.period_s)
        yield Check(
            job=job, figure="90 % take at most, sharing", found_s=measured.p90_period_s, true_s=shared.p90_period_s
        )
        yield Check(job=job, figure="period, alone (concluded)", found_s=own.period_s, true_s=truth.period_s)
        yield Check(job=job, figure="Up time, alone (concluded)", found_s=own.up_s, true_s=truth.up_s)


def _read_truths(data: Path, names: Sequence[str]) -> dict[str, Truth]:
    return {job: truth for name in names for job, truth in _read_truth(data / name).items()}


def _read_truth(path: Path) -> dict[str, Truth]:
    """Return what each job wrote down.

    The file maps a job to its iterations: start, start and end of the communication, in ns.
    """
    try:
        return {job: Truth.of(rows) for job, rows in json.loads(path.read_bytes()).items()}
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}; take the sample data whole from the source") from None
    except (ValueError, TypeError, AttributeError) as error:
        raise BadInput(f"{path}: {error}; expected each job's iterations as [start, start, end] in ns") from None
