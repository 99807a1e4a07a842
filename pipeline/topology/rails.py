"""Jobs of which the hosts alone are known: a rank on each adapter, and one all-reduce ring a rail."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pipeline.topology.cluster import HostedJob, Omission, Placement

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["place_job", "rails_of"]


def place_job(job: HostedJob, ends: Mapping[str, Sequence[str]]) -> list[Placement] | Omission:
    """Return the ranks of a job, or why it cannot be placed.

    Parameters
    ----------
    job
        Hosts, in order of rank.
    ends
        Ends of links, ``node:device`` or ``node:device/port``, by node.

    Returns
    -------
    placements
        A rank on each adapter that all hosts have: those of one adapter (a rail) follow each other, in order of the
        hosts, since collectives keep to rails [1]_.

    References
    ----------
    .. [1] W. Wang et al., "Rail-only: A low-cost high-performance network for training LLMs", HOTI 2024.
    """
    missing = [host for host in job.hosts if host not in ends]
    what = f"job {job.job_id}"
    if missing:
        others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        return Omission(what=what, why=f"no link ends at its host {missing[0]}{others}")
    if len(job.hosts) == 1:
        return Omission(what=what, why=f"runs on one host, {job.hosts[0]}, and sends nothing over links")
    ports = [{end.partition(":")[2] for end in ends[host]} for host in job.hosts]
    common = set.intersection(*ports)
    if not common and all(len(of_host) == 1 for of_host in ports):
        rails = [[min(of_host) for of_host in ports]]
    elif common:
        rails = [[port] * len(ports) for port in sorted(common, key=_natural)]
    else:
        return Omission(what=what, why="its hosts have several adapters each, and none of a name that all have")
    return [
        _placement(job.job_id, i_rail * len(job.hosts) + i_host, host, interface)
        for i_rail, rail in enumerate(rails)
        for i_host, (host, interface) in enumerate(zip(job.hosts, rail, strict=True))
    ]


def rails_of(placements: Sequence[Placement]) -> Iterator[Sequence[Placement]]:
    """Yield the ring of each rail of a job that `place_job` placed."""
    n_hosts = len({placement.host for placement in placements})
    for first in range(0, len(placements), n_hosts):
        yield placements[first : first + n_hosts]


def _placement(job_id: str, rank: int, host: str, interface: str) -> Placement:
    device, _, port = interface.partition("/")
    return Placement(job_id=job_id, rank=rank, host=host, device=device, port=port)


def _natural(text: str) -> list[tuple[int, str]]:
    """Return what sorts ``mlx5_10`` after ``mlx5_9``."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", text)]
