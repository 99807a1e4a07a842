"""Two real jobs, known by their packets alone, against the counters of the same ports and the jobs' own logs."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from ctypes.util import find_library
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest

from pipeline import analyze
from pipeline.discover import discover_lake
from pipeline.sql import open_lake
from profiler import RateSeries
from tests.rig.observers import CHECKOUT
from tests.rig.spec import Step
from tests.rig.test_rig import read_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.rig.rig import Rig
    from tests.rig.truth import Truth

pytestmark = [
    pytest.mark.rig,
    pytest.mark.skipif(find_library("pcap") is None, reason="packets are captured with libpcap"),
    pytest.mark.skipif(shutil.which("tcpdump") is None, reason="tcpdump is not here"),
]

SECONDS: Final = 6.0
STEPS: Final = {
    "A": Step(compute_s=0.25, allreduce_bytes=2_500_000),
    "B": Step(compute_s=0.16, allreduce_bytes=1_500_000),
}
"""Periods of 0.3 and 0.19 s, Up for 0.05 and 0.03: they meet now and then, and do not lock."""
COLUMNS: Final = {
    "10.77.0.1": "p1.rx_bytes",
    "10.77.0.2": "p1.tx_bytes",
    "10.77.1.1": "p2.rx_bytes",
    "10.77.1.2": "p2.tx_bytes",
}
"""The column of switch sw1's counters that counts what each rank sends."""
MOST_APART_S: Final = 0.003
TCPDUMP: Final = "trap : INT; tcpdump --immediate-mode -i t1 -s 128 -B 65536 -w -"
OFFBEAT: Final = (sys.executable, "-c", "import sys; from pipeline.cli.main import main; sys.exit(main(sys.argv[1:]))")


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What both jobs did, and the trunk as its counters, a live capture and a pipe of tcpdump saw it."""

    folder: Path
    told: Truth
    table: dict[str, np.ndarray]

    def sent(self, lake: str) -> dict[str, RateSeries]:
        """Return what each address sent, as packets tell it, while the counters were read."""
        statement = "select host, t_ns, value from readings where metric = 'bytes' order by t_ns"
        with open_lake(self.folder / lake) as database:
            rows = database.sql(statement).to_pandas()
        rows = rows[rows["t_ns"].between(self.table["t_ns"][0], self.table["t_ns"][-1])]
        return {
            str(host): RateSeries.from_deltas(of["t_ns"].to_numpy(), of["value"].to_numpy()[1:])
            for host, of in rows.groupby("host")
        }


@pytest.fixture(scope="module")
def watched(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    folder = tmp_path_factory.mktemp("watched")
    (folder / "cluster.toml").write_text(rig.network.cluster_toml(), encoding="ascii")
    rig.start([replace(job, steps=(STEPS[job.name],), jitter_frac=0.005) for job in rig.spec.jobs])
    live = [*OFFBEAT, "record", "--capture", "t1", "--lake", str(folder / "live")]
    piped = shlex.join([*OFFBEAT, "ingest", "-", "--follow", "--host", "sw1", "--lake", str(folder / "piped")])
    programs = [
        _begun([*rig.exec_prefix("sw1"), *command], said=folder / name)
        for name, command in (("live.said", live), ("piped.said", ["bash", "-c", f"{TCPDUMP} | {piped}"]))
    ]
    _await("capturing on t1", folder / "live.said")
    _await("following -", folder / "piped.said")
    rig.sample(SECONDS, folder / "ports.csv.gz")
    time.sleep(0.2)  # the kernel hands packets over in blocks
    for program in programs:
        os.killpg(program.pid, signal.SIGINT)
    assert [program.wait(timeout=60) for program in programs] == [0, 0]
    assert "0 packets dropped by kernel" in (folder / "piped.said").read_text(encoding="utf-8")
    told = rig.stop()
    return Watched(folder=folder, told=told, table=read_table(folder / "ports.csv.gz"))


def _begun(command: Sequence[str], *, said: Path) -> subprocess.Popen[bytes]:
    with said.open("wb") as out:
        return subprocess.Popen(command, stdout=out, stderr=out, cwd=CHECKOUT, start_new_session=True)


def _await(words: str, said: Path) -> None:
    until_s = time.monotonic() + 60
    while words not in said.read_text(encoding="utf-8"):
        assert time.monotonic() < until_s, f"{words!r} was never said: {said.read_text(encoding='utf-8')}"
        time.sleep(0.05)


@pytest.mark.parametrize("lake", ["live", "piped"])
def test_packets_carry_what_the_counters_of_their_port_count_at_every_time(watched: Watched, lake: str) -> None:
    sent = watched.sent(lake)
    assert set(sent) == set(COLUMNS)
    for host, rate in sent.items():
        counted = watched.table[COLUMNS[host]]
        captured = np.interp(watched.table["t_ns"], rate.edges_ns, np.append(0, np.cumsum(rate.delta_bytes)))
        apart = np.abs((counted - counted[0]) - (captured - captured[0]))
        assert apart[-1] < 0.003 * captured[-1]
        # A bin is a millisecond long, and a counter is read up to one late, or more where the machine is busy.
        assert np.quantile(apart, 0.95) < MOST_APART_S * 400e6 / 8


def test_an_analysis_of_flows_alone_has_the_period_of_each_jobs_own_log(watched: Watched) -> None:
    analysis = analyze(watched.folder / "live", cluster=watched.folder / "cluster.toml")
    assert not analysis.skipped
    for job, told in watched.told.items():
        measured = analysis.profiles[f"{job.lower()}1/eth0/transmit"]
        assert measured.period_s == pytest.approx(median(told.durations_s()), rel=0.05)


def test_a_capture_tells_which_jobs_meet_on_the_trunk_and_whose_each_flow_is(watched: Watched) -> None:
    with open_lake(watched.folder / "live") as database:
        crossings = database.run("jobs_by_link", link_id="trunk").to_pylist()
        pairs = database.sql("from pair_jobs").to_pylist()
    assert {(row["direction"], row["job_id"]) for row in crossings} == {
        (direction, job) for direction in ("forward", "backward") for job in ("A", "B")
    }
    assert {(row["src"], row["dst"], row["job_id"]) for row in pairs} == {
        (f"10.77.{i}.{rank}", f"10.77.{i}.{3 - rank}", job) for i, job in enumerate("AB") for rank in (1, 2)
    }


def test_jobs_are_found_in_a_pipe_of_tcpdump_without_a_cluster_file(watched: Watched) -> None:
    found = discover_lake(watched.folder / "piped")
    jobs = [{member.host for member in job.own} for job in found.jobs]
    # Six seconds on a busy machine may be too few to be sure of both; what is not sure is said, not guessed.
    assert jobs
    assert all(job in ({"10.77.0.1", "10.77.0.2"}, {"10.77.1.1", "10.77.1.2"}) for job in jobs)
    assert set().union(*jobs) | {one.host for one in found.skipped} == set(COLUMNS)
