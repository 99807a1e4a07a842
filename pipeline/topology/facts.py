"""`Facts`: what one file knows of a cluster, in its own words; nothing is placed yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pipeline.topology.cluster import Link, Omission, Pattern

__all__ = ["Facts", "KnownAddress", "KnownJob", "Seat"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """Where a file puts a part of a job; device and port where it names them."""

    host: str
    device: str = ""
    port: str = ""

    def __str__(self) -> str:
        return f"{self.host}:{self.device or '*'}" + (f"/{self.port}" if self.port else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAddress:
    """An address as captures write it, where it is, and where the file says so."""

    address: str
    seat: Seat
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownJob:
    """A job as one file knows it.

    Of ``ranks``, each seat is one rank, which sends through one port. Of ``hosts``, nothing more is known than where
    the job runs: it has a rank on each adapter, or on each that a seat names. ``place`` is where the file says so.
    """

    job_id: str
    seats: tuple[Seat, ...]
    known: Literal["ranks", "hosts"]
    place: str
    pattern: Pattern = "ring"
    start_ns: int | None = None
    end_ns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What one file knows; ``aliases`` has a host's name by each other name of it."""

    source: str
    links: tuple[Link, ...] = ()
    jobs: tuple[KnownJob, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    omissions: tuple[Omission, ...] = ()
    addresses: tuple[KnownAddress, ...] = ()
