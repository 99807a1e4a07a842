"""The description of a rig: its network, and the jobs that train on it; read from TOML or JSON.

::

    [network]
    trunk = "400Mbps"                # the shared link
    host_over_trunk = 2.0            # rate of each host's link over the trunk's

    [[job]]
    name = "A"
    steps = [{compute = "141ms", allreduce_bytes = 5_600_000}]     # several steps: several Up phases an iteration
    jitter_frac = 0.0                # standard deviation of each compute time over its mean
    offset = "20ms"                  # start of the first iteration after the common start
    pace = {period = "266ms", shift = "133ms"}                     # or {plan = "plan.json"}; leave out for none
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from profiler.errors import BadInput, OffbeatError
from profiler.pacer import Pacer
from profiler.units import parse_duration_s, parse_rate_bps

__all__ = ["TWO_VGG19", "JobSpec", "NetworkSpec", "Pace", "RigSpec", "Step", "read_spec"]

TWO_VGG19: Final = Path(__file__).parent / "two_vgg19.toml"
"""The rig of DESIGN section 9: two equal jobs that share the trunk."""
_JOB_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]{0,7}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSpec:
    """Rates of the rig's links."""

    trunk_bps: float = 400e6
    host_over_trunk: float = 2.0
    """Host links at the trunk's own rate would make two jobs drift apart by themselves: DESIGN section 9."""

    def __post_init__(self) -> None:
        if not (0 < self.trunk_bps < math.inf and 0 < self.host_over_trunk < math.inf):
            raise BadInput(f"{self}: both must be positive and finite")

    @property
    def host_bps(self) -> float:
        """Rate of each host's link in bits per second."""
        return self.trunk_bps * self.host_over_trunk


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One computation followed by one all-reduce."""

    compute_s: float
    allreduce_bytes: int

    def __post_init__(self) -> None:
        if self.compute_s <= 0 or self.allreduce_bytes < 4:
            raise BadInput(f"{self}: compute_s must be positive and allreduce_bytes at least 4 (one float)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The slots a job is held to: those of a plan file, or a period and a shift."""

    plan: str | None = None
    period_s: float | None = None
    shift_s: float = 0.0

    def __post_init__(self) -> None:
        if (self.plan is None) == (self.period_s is None):
            raise BadInput(f"pace {self}: give either a plan, or a period and a shift")

    def to_pacer(self, job: str) -> Pacer:
        """Return a pacer that holds the job on these slots."""
        if self.plan is not None:
            return Pacer.from_plan(self.plan, job=job)
        return Pacer(period_s=self.period_s, shift_s=self.shift_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """One job of two ranks, on either side of the trunk."""

    name: str
    steps: tuple[Step, ...]
    jitter_frac: float = 0.0
    offset_s: float = 0.0
    seed: int = 0
    pace: Pace | None = None

    def __post_init__(self) -> None:
        if not _JOB_NAME.fullmatch(self.name):
            raise BadInput(f"job name {self.name!r}: expected a letter and up to seven letters or digits")
        if not self.steps:
            raise BadInput(f"job {self.name}: has no steps")
        if not 0 <= self.jitter_frac < 1 or self.offset_s < 0:
            raise BadInput(f"job {self.name}: jitter_frac must lie in [0, 1) and offset must not be negative")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> JobSpec:
        """Return the job that `to_dict` described."""
        steps = tuple(Step(**step) for step in values["steps"])
        pace = Pace(**values["pace"]) if values["pace"] else None
        return cls(**{**values, "steps": steps, "pace": pace})

    def to_dict(self) -> dict[str, Any]:
        """Return the job as JSON-ready values."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class RigSpec:
    """A network and its jobs."""

    jobs: tuple[JobSpec, ...]
    network: NetworkSpec = field(default_factory=NetworkSpec)

    def __post_init__(self) -> None:
        names = [job.name.lower() for job in self.jobs]
        if not names or len(set(names)) != len(names):
            raise BadInput(f"jobs {names}: need at least one, each with a name of its own (case does not count)")


def read_spec(path: Path) -> RigSpec:
    """Read a rig's description.

    Raises
    ------
    BadInput
        If the file is not such a description; the message says where.
    OSError
        If it cannot be read.
    """
    text = path.read_text(encoding="utf-8")
    try:
        document = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
        network, jobs = document.get("network", {}), document["job"]
        return RigSpec(network=_network(network), jobs=tuple(_job(job, folder=path.parent) for job in jobs))
    except (OffbeatError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadInput(f"{path}: {type(error).__name__}: {error}; see the head of tests/rig/spec.py") from error


def _network(entry: Mapping[str, Any]) -> NetworkSpec:
    default = NetworkSpec()
    return NetworkSpec(
        trunk_bps=parse_rate_bps(entry["trunk"]) if "trunk" in entry else default.trunk_bps,
        host_over_trunk=float(entry.get("host_over_trunk", default.host_over_trunk)),
    )


def _job(entry: Mapping[str, Any], *, folder: Path) -> JobSpec:
    return JobSpec(
        name=str(entry["name"]),
        steps=tuple(
            Step(compute_s=parse_duration_s(step["compute"]), allreduce_bytes=int(step["allreduce_bytes"]))
            for step in entry["steps"]
        ),
        jitter_frac=float(entry.get("jitter_frac", 0.0)),
        offset_s=parse_duration_s(entry["offset"]) if "offset" in entry else 0.0,
        seed=int(entry.get("seed", 0)),
        pace=_pace(entry["pace"], folder=folder) if "pace" in entry else None,
    )


def _pace(entry: Mapping[str, Any], *, folder: Path) -> Pace:
    return Pace(
        plan=str(folder / entry["plan"]) if "plan" in entry else None,
        period_s=parse_duration_s(entry["period"]) if "period" in entry else None,
        shift_s=parse_duration_s(entry["shift"]) if "shift" in entry else 0.0,
    )
