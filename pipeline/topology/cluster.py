"""`Cluster`: what stands where; its parts have the columns of the lake's tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from profiler.schema import arrow_schema

__all__ = ["Address", "Cluster", "Direction", "Job", "Link", "Omission", "Path", "Pattern", "Placement"]

Direction = Literal["forward", "backward"]
"""Along a link: forward is from its end ``a`` to its end ``b``."""

Pattern = Literal["ring", "all_to_all"]
"""Who of a job's ranks speaks to whom: each to the next, or each to every other alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A cable; its ends are ``node:device``, or ``node:device/port`` where a device has several ports.

    ``capacity_bps`` holds in each direction. A link whose ``state`` is ``down`` carries nothing.
    """

    link_id: str
    a: str
    b: str
    capacity_bps: float
    tier: str | None = None
    state: str = "up"
    valid_from_ns: int | None = None
    valid_to_ns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A training job; ``source`` is the file or scheduler it is known from.

    It runs from ``start_ns`` to ``end_ns``, where they are known; without an end, still.
    """

    job_id: str
    n_ranks: int
    source: str
    pattern: Pattern = "ring"
    start_ns: int | None = None
    end_ns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """One rank of a job, and the port it sends on."""

    job_id: str
    rank: int
    host: str
    device: str
    port: str = ""

    @property
    def end(self) -> str:
        """The end of a link at which the rank's traffic enters the network."""
        return f"{self.host}:{self.device}/{self.port}" if self.port else f"{self.host}:{self.device}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """An address of the network, and the host, and port if it is known, that has it."""

    address: str
    host: str
    device: str | None = None
    port: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """A job's traffic on one direction of a link; ``weight_frac`` is in units of one rank's transmit rate."""

    job_id: str
    link_id: str
    direction: Direction
    weight_frac: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Omission:
    """Something that is known of, and could not be used; and why."""

    what: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Links, jobs, where the jobs' ranks are, and the links that their traffic takes."""

    links: tuple[Link, ...]
    jobs: tuple[Job, ...] = ()
    placements: tuple[Placement, ...] = ()
    paths: tuple[Path, ...] = ()
    omissions: tuple[Omission, ...] = ()
    addresses: tuple[Address, ...] = ()

    def to_tables(self) -> dict[str, pa.Table]:
        """Return the Arrow tables ``links``, ``jobs``, ``placements``, ``paths`` and ``addresses``."""
        parts: dict[str, Sequence[Link | Job | Placement | Path | Address]] = {
            "links": self.links,
            "jobs": self.jobs,
            "placements": self.placements,
            "paths": self.paths,
            "addresses": self.addresses,
        }
        return {name: _table(name, rows) for name, rows in parts.items()}


def _table(name: str, rows: Sequence[Link | Job | Placement | Path | Address]) -> pa.Table:
    """Return rows column by column: a large cluster has millions of paths."""
    schema = arrow_schema(name)
    arrays = [pa.array([getattr(row, field.name) for row in rows], field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)
