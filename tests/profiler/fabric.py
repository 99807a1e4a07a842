"""The ports of one leaf of a real fabric, unpacked one by one from the archive of all."""

from __future__ import annotations

import tarfile
from typing import TYPE_CHECKING

from profiler.sources import read_rates

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from profiler.signals import RateSeries

__all__ = ["rates_of_ports"]


def rates_of_ports(archive: Path, names: Collection[str], *, into: Path) -> dict[str, list[RateSeries]]:
    """Return both directions of each port ("Leaf-14_5_1"), by name, in order of direction: receive, transmit."""
    with tarfile.open(archive) as tar:
        members = [member for member in tar if member.isfile() and _port_of(member.name) in names]
        tar.extractall(into, members=members, filter="data")
    rates: dict[str, list[RateSeries]] = {}
    for member in members:
        found, problems = read_rates(into / member.name, mapping="zhejianglab")
        assert not problems
        rates[_port_of(member.name)] = sorted(found, key=lambda rate: rate.direction)
    assert set(rates) == set(names)
    return rates


def _port_of(path: str) -> str:
    stem = path.rsplit("/", 1)[-1].removesuffix(".csv")
    return "Leaf-14" + stem.rsplit("Leaf-14", 1)[-1]
