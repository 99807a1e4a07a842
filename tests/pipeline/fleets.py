"""Lakes of several hosts for the tests of batches, and what an engine runs in them when all goes wrong."""

from __future__ import annotations

import hashlib
import os
import signal
from typing import TYPE_CHECKING, Any

from pipeline.batch import BatchOptions, PortProfiles, Work, plan_shards, profile_ports
from pipeline.batch import outcome as outcomes
from pipeline.batch.files import read_sample_files
from pipeline.batch.plan import DAY_S
from pipeline.batch.results import _rows
from pipeline.measured import read_ports
from profiler.store import Lake, Recording
from tests.pipeline.lakes import T0_NS, on_off_counter, port

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pipeline.batch import OnPort, SeriesProfile, Shard

__all__ = ["DEADLY", "add_host", "fleet", "profiles", "rows", "run_deadly_shard", "sample_file", "shards_of"]

DEADLY = "h2"
"""The host that kills whoever profiles it with `run_deadly_shard`."""


def add_host(lake: Lake, host: str, *, start_s: float = 0.0, duration_s: float = 4.0, period_s: float = 0.25) -> None:
    """Record one more host, or a host for some time more: two ports, Up for two fifths of each period."""
    period_ns = round(period_s * 1e9)
    t_ns, value = on_off_counter(period_ns=period_ns, up_ns=period_ns * 2 // 5, rate_bps=300e6, duration_s=duration_s)
    t_ns = t_ns + round(start_s * 1e9)
    key = hashlib.sha256(f"{host}/{start_s}/{duration_s}/{period_s}".encode()).hexdigest()
    with lake.writer(Recording(recording_id=key, source=host, format="test")) as writer:
        for device in ("eth0", "eth1"):
            series = port(host, device, "transmit")
            writer.write_samples(writer.add_series(series), t_ns, value + int(t_ns[0] - T0_NS) // 100)


def fleet(root: Path, *, n_hosts: int = 4) -> Lake:
    """Return a lake of hosts ``h0``, ``h1``, …, each recorded by itself."""
    lake = Lake.open(root, create=True)
    for i in range(n_hosts):
        add_host(lake, f"h{i}", period_s=0.2 + 0.05 * i)
    return lake


def profiles(lake: Lake, options: BatchOptions | None = None, **others: Any) -> PortProfiles:
    """Profile a lake's ports."""
    on_port: OnPort = others.pop("on_port", lambda _n_done, _n_series: None)
    return profile_ports(lake, read_ports(lake), options=options or BatchOptions(), on_port=on_port, **others)


def rows(found: Iterable[SeriesProfile]) -> str:
    """Return every field of profiles, to the last bit; the text of a float tells all of it, and NaN equals itself."""
    return repr([row for one in found for row in _rows(one)])


def run_deadly_shard(shard: Shard, work: Work) -> outcomes.Outcome:
    """Do as `run_shard`, but die of the one host as if memory had run out."""
    if shard.host == DEADLY:
        os.kill(os.getpid(), signal.SIGKILL)
    return outcomes.run_shard(shard, work)


def shards_of(lake: Lake, work: Path, *, window_s: float = DAY_S) -> list[Shard]:
    """Return the shards of a lake whose files are all sound."""
    folder = Work(work)
    folder.prepare()
    files, broken = read_sample_files(lake, folder)
    assert broken == []
    return plan_shards(read_ports(lake), files, window_s=window_s)


def sample_file(lake: Lake, host: str) -> Path:
    """Return the file that a host's only recording is in."""
    (path,) = (path for path in lake.files("samples") if path.name.startswith(f"{host}-"))
    return path
