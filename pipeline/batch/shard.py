"""`Shard`: ports of one host over a stretch of time, and the key of what comes of profiling them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import profiler

__all__ = ["PORT_COLUMNS", "READINGS_DIGITS", "SOURCES", "Shard", "tool_version"]

PORT_COLUMNS: Final = (
    "series_id",
    "host",
    "device",
    "port",
    "direction",
    "layer",
    "kind",
    "raw_scale",
    "width_bits",
    "capacity_bps",
)
"""Columns of query ``series_by_port`` that profiling reads."""

_CAPACITY: Final = "capacity_bps"
READINGS_DIGITS: Final = 32
"""Hexadecimal digits of `Shard.readings`, and of what follows it in the key: 128 bits are never the same by chance."""

SOURCES: Final = (
    "batch/outcome.py",
    "period",
    "phases",
    "rates.py",
    "refresh",
    "schema.py",
    "signals",
    "store/counters.py",
    "store/ordering.py",
    "units.py",
)
"""Parts of the profiler that make a profile of stored samples; a test holds that they import no others."""


@lru_cache(maxsize=1)
def tool_version() -> str:
    """Return the version of the profiler and a digest of its sources, for a checkout changes while its version stands.

    Two installations of the same release have the same, and so have two checkouts that profile alike.
    """
    package, here = Path(profiler.__file__).parent, Path(__file__).parent
    sources = [here / "compute.py", here / "results.py"]
    for name in SOURCES:
        part = package / name
        sources += sorted(part.rglob("*.py")) if part.is_dir() else [part]
    digest = hashlib.sha256()
    for source in sources:
        digest.update(f"{source.relative_to(package.parent)}\0".encode() + source.read_bytes())
    try:
        version = metadata.version("offbeat")
    except metadata.PackageNotFoundError:  # run from a source tree that is not installed
        version = "0"
    return f"{version}+{digest.hexdigest()[:16]}"


@dataclass(frozen=True, kw_only=True)
class Shard:
    """Ports of one host over a stretch of time: all that a process needs to profile them, without the manifest.

    Parameters
    ----------
    host
        Host or switch.
    ports
        `PORT_COLUMNS` of each series.
    paths, digests
        The sample files that hold readings of these ports, and the SHA-256 that the manifest has of each.
    tags
        What the bucket said of each when it was copied there, see `profiler.store.remote.tags`; None where that is not
        known, and empty where it is of none.
    from_ns, to_ns
        Readings at ``from_ns <= t < to_ns`` are profiled, UTC epoch ns.
    is_present
        Whether it reaches to the newest readings of the host; else it is a closed range of its history.
    n_samples
        About how many readings that are.
    n_left_out
        About how many older readings of the range are left out, since it holds too many to profile at once.
    version
        `tool_version` of whoever planned it.
    """

    host: str
    ports: tuple[Mapping[str, Any], ...]
    paths: tuple[Path, ...]
    digests: tuple[str, ...]
    from_ns: int
    to_ns: int
    is_present: bool = True
    n_samples: int = 0
    n_left_out: int = 0
    tags: tuple[str | None, ...] = ()
    version: str = field(default_factory=tool_version)

    @cached_property
    def key(self) -> str:
        """Digest of all that the result depends on: what `readings` are of, and the capacities of the ports."""
        return self.readings + _digest([port[_CAPACITY] for port in self.ports])

    @cached_property
    def readings(self) -> str:
        """Digest of input files, ports, time, and the version of the tool; how each key of the same readings begins."""
        return _digest(
            [
                self.version,
                sorted(self.digests),
                [[port[name] for name in PORT_COLUMNS if name != _CAPACITY] for port in self.ports],
                [self.from_ns, self.to_ns, self.n_left_out],
            ]
        )

    @property
    def name(self) -> str:
        """The host and its ports, in words."""
        first = f"{self.host}/{self.ports[0]['device']}"
        return first if len(self.ports) == 1 else f"{first} and {len(self.ports) - 1} more series of {self.host}"


def _digest(told: list[Any]) -> str:
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:READINGS_DIGITS]
