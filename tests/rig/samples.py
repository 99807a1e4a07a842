"""Makes ``sample_data/``: two jobs that share the trunk unmanaged, each alone, a short capture, the truth of all."""

from __future__ import annotations

import gzip
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Final

from tests.rig.rig import Rig
from tests.rig.truth import Truth, require_iterations, summary_s, write_truth

if TYPE_CHECKING:
    from tests.rig.spec import JobSpec, RigSpec

__all__ = ["SampleTimes", "make_samples"]

_SETTLE_S: Final = 2.0
_README: Final = Path(__file__).parent / "samples_readme.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleTimes:
    """How long each part is recorded, in seconds."""

    shared_s: float = 60.0
    alone_s: float = 30.0
    capture_s: float = 2.0


def make_samples(folder: Path, spec: RigSpec, times: SampleTimes) -> list[str]:
    """Record all of ``sample_data/`` into a folder, and return what was measured, a line a run.

    Raises
    ------
    RigError, RigNotHere
        If the rig cannot run.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with Rig(spec) as rig:
        (folder / "cluster.toml").write_text(rig.network.cluster_toml(), encoding="ascii")
        runs = [("shared", spec.jobs, times.shared_s)]
        runs += [(f"alone_{job.name.lower()}", (job,), times.alone_s) for job in spec.jobs]
        lines = [_record(rig, folder / name, jobs, seconds=seconds) for name, jobs, seconds in runs]
        lines.append(_capture(rig, folder, seconds=times.capture_s))
    readme = Template(_README.read_text(encoding="utf-8"))
    measured = "\n".join(f"- {line}" for line in lines)
    (folder / "README.md").write_text(readme.substitute(measured=measured), encoding="utf-8")
    return lines


def _record(rig: Rig, stem: Path, jobs: Sequence[JobSpec], *, seconds: float) -> str:
    rig.start(jobs)
    time.sleep(_SETTLE_S)
    covered_ns = rig.sample(seconds, stem.with_suffix(".csv.gz"))
    truth = _between(rig.stop(), *covered_ns)
    write_truth(stem.with_suffix(".truth.json"), truth)
    return _describe(f"{stem.name}.csv.gz", truth)


def _capture(rig: Rig, folder: Path, *, seconds: float) -> str:
    rig.start()
    time.sleep(_SETTLE_S)
    raw = rig.folder / "trunk.pcap"
    covered_ns = rig.capture(seconds, raw)
    truth = _between(rig.stop(), *covered_ns)
    write_truth(folder / "trunk.truth.json", truth)
    with raw.open("rb") as source, gzip.GzipFile(folder / "trunk.pcap.gz", "wb", mtime=0) as packed:
        shutil.copyfileobj(source, packed)
    return _describe("trunk.pcap.gz", truth)


def _between(truth: Truth, from_ns: int, to_ns: int) -> Truth:
    return {job: told.between(from_ns, to_ns) for job, told in truth.items()}


def _describe(name: str, truth: Truth) -> str:
    require_iterations(truth, name)
    parts = []
    for job, told in truth.items():
        lengths, ups = summary_s(told.durations_s()), summary_s(told.communication_s())
        p50_ms, p90_ms, up_ms = (1e3 * value for value in (lengths["p50_s"], lengths["p90_s"], ups["p50_s"]))
        parts.append(
            f"{job} {lengths['n']} iterations, p50 {p50_ms:.1f} ms, p90 {p90_ms:.1f} ms, Up p50 {up_ms:.1f} ms"
        )
    return f"{name}: {'; '.join(parts)}"
