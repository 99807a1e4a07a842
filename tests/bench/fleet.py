"""A fleet of ports as a cluster's monitoring gives them, written straight through the lake's writer.

``python -m tests.bench.fleet LAKE --ports 500 --seconds 100000 --interval 1`` writes one; `tests.bench.fleet_run`
measures what is done with it.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from profiler.store import Lake, Recording, Series

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["HOSTS_PER_RECORDING", "T0_NS", "Fleet", "draw_host", "write_cluster", "write_fleet"]

PORTS_PER_HOST: Final = 8
HOSTS_PER_JOB: Final = 2
HOSTS_PER_RECORDING: Final = 16
"""A collector's dump holds several hosts; so series of one host stand among others'."""
KINDS: Final = ("job", "job", "noise", "idle")
"""What hosts do, in turn by job: half of them train, a quarter serve without a beat, a quarter idle."""
PORT_BPS: Final = 100e9
UP_FRACS: Final = (0.2, 0.6)
PERIOD_READS: Final = (30.0, 120.0)
JITTER_FRAC: Final = 0.02
IDLE_BYTES_PER_S: Final = 200
T0_NS: Final = 1_796_000_000_000_000_000
SEED: Final = 6100


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """How large a fleet is; ``interval_s`` is the time between reads, and each port has two directions."""

    n_ports: int
    duration_s: float
    interval_s: float = 1.0

    @property
    def n_hosts(self) -> int:
        """Hosts, of `PORTS_PER_HOST` ports each, the last one perhaps of fewer."""
        return -(-self.n_ports // PORTS_PER_HOST)

    @property
    def n_reads(self) -> int:
        """Reads of each series."""
        return int(self.duration_s / self.interval_s)

    @property
    def n_samples(self) -> int:
        """Samples of all series."""
        return 2 * self.n_ports * self.n_reads

    def kind(self, i_host: int) -> str:
        """Return what a host does."""
        return KINDS[i_host // HOSTS_PER_JOB % len(KINDS)]


def write_fleet(root: Path, fleet: Fleet, *, seed: int = SEED) -> Path:
    """Write a fleet's counters into a new lake, and return the cluster file that tells of its links and jobs."""
    lake = Lake.open(root, create=True)
    for first in range(0, fleet.n_hosts, HOSTS_PER_RECORDING):
        key = hashlib.sha256(f"{fleet}/{seed}/{first}".encode()).hexdigest()
        with lake.writer(Recording(recording_id=key, source=f"fleet hosts {first}-", format="synthetic")) as writer:
            for i_host in range(first, min(first + HOSTS_PER_RECORDING, fleet.n_hosts)):
                for series, t_ns, value in draw_host(fleet, i_host, seed=seed):
                    writer.write_samples(writer.add_series(series), t_ns, value)
    return write_cluster(root, fleet)


def write_cluster(root: Path, fleet: Fleet) -> Path:
    """Write the file that tells of a fleet's links and jobs beside its lake, and return its path."""
    cluster = root.with_suffix(".toml")
    cluster.write_text("\n".join(_cluster(fleet)), encoding="utf-8")
    return cluster


def draw_host(
    fleet: Fleet, i_host: int, *, seed: int = SEED
) -> Iterator[tuple[Series, NDArray[np.int64], NDArray[np.int64]]]:
    """Yield each series of a host, its times (UTC epoch ns) and cumulative bytes."""
    job_rng = np.random.default_rng([seed, i_host // HOSTS_PER_JOB])
    edges_s, up_frac = _iterations(fleet, job_rng), float(job_rng.uniform(*UP_FRACS))
    n_ports = min(PORTS_PER_HOST, fleet.n_ports - i_host * PORTS_PER_HOST)
    directions: tuple[Literal["transmit", "receive"], ...] = ("transmit", "receive")
    for i_port in range(n_ports):
        rng = np.random.default_rng([seed, i_host, i_port])
        t_s = rng.uniform(0, fleet.interval_s) + fleet.interval_s * np.arange(fleet.n_reads, dtype=np.float64)
        for direction in directions:
            series = Series(host=_name(i_host), device=f"mlx5_{i_port}", direction=direction, layer="wire")
            sent = _sent(fleet.kind(i_host), t_s, edges_s=edges_s, up_frac=up_frac, rng=rng)
            yield series, T0_NS + np.round(t_s * 1e9).astype(np.int64), np.round(sent).astype(np.int64)


def _iterations(fleet: Fleet, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the starts of a job's iterations, which cover the recording."""
    period_s = fleet.interval_s * float(np.exp(rng.uniform(*np.log(PERIOD_READS))))
    n_iterations = int(fleet.duration_s / period_s * 1.2) + 3
    lengths_s = period_s * (1 + JITTER_FRAC * rng.standard_normal(n_iterations))
    starts_s: NDArray[np.float64] = np.cumsum(lengths_s) - 2 * period_s
    return starts_s


def _sent(
    kind: str, t_s: NDArray[np.float64], *, edges_s: NDArray[np.float64], up_frac: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the bytes that a port had sent at each time."""
    dt_s = np.diff(t_s, prepend=t_s[0])
    if kind == "idle":
        return IDLE_BYTES_PER_S * t_s
    if kind == "noise":
        busy: NDArray[np.float64] = np.cumsum(rng.gamma(2.0, PORT_BPS / 8 / 20, t_s.size) * dt_s)
        return busy
    lengths_s = np.diff(edges_s)
    ups_s = edges_s[:-1] + up_frac * lengths_s
    at_s = np.column_stack([edges_s[:-1], ups_s]).ravel()
    volume = PORT_BPS / 8 * up_frac * lengths_s * rng.uniform(0.7, 0.9)
    before = np.cumsum(volume) - volume
    total = np.column_stack([before, before + volume]).ravel()
    sent: NDArray[np.float64] = np.interp(t_s, at_s, total) + IDLE_BYTES_PER_S * t_s
    return sent


def _cluster(fleet: Fleet) -> Iterator[str]:
    """Yield the lines of a cluster file: hosts on leaf switches, every job over one trunk, two jobs a trunk."""
    for i_host in range(fleet.n_hosts):
        for i_port in range(min(PORTS_PER_HOST, fleet.n_ports - i_host * PORTS_PER_HOST)):
            name, leaf = f"{_name(i_host)}:mlx5_{i_port}", f"leaf{i_host // (2 * HOSTS_PER_JOB)}-{i_host % 2}"
            yield _link(f"{_name(i_host)}-{i_port}", name, f"{leaf}:p{i_host}-{i_port}", PORT_BPS)
    for i_pod in range(-(-fleet.n_hosts // (2 * HOSTS_PER_JOB))):
        yield _link(f"trunk{i_pod}", f"leaf{i_pod}-0:up", f"leaf{i_pod}-1:up", 1.2 * PORTS_PER_HOST * PORT_BPS)
    for first in range(0, fleet.n_hosts - 1, HOSTS_PER_JOB):
        if fleet.kind(first) == "job":
            hosts = [_name(i_host) for i_host in range(first, min(first + HOSTS_PER_JOB, fleet.n_hosts))]
            ranks = [f'{{host = "{host}", device = "mlx5_{i}"}}' for host in hosts for i in range(PORTS_PER_HOST)]
            yield f'[[job]]\nid = "job{first // HOSTS_PER_JOB}"\nranks = [{", ".join(ranks)}]'


def _link(name: str, a: str, b: str, capacity_bps: float) -> str:
    return f'[[link]]\nid = "{name}"\na = "{a}"\nb = "{b}"\ncapacity = "{capacity_bps:.0f}bps"'


def _name(i_host: int) -> str:
    return f"h{i_host:04d}"


def main() -> None:
    """Write a fleet as the command line tells."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lake", type=Path)
    parser.add_argument("--ports", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=100_000.0)
    parser.add_argument("--interval", type=float, default=1.0, help="seconds between reads")
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    fleet = Fleet(n_ports=given.ports, duration_s=given.seconds, interval_s=given.interval)
    write_fleet(given.lake, fleet, seed=given.seed)


if __name__ == "__main__":
    main()
