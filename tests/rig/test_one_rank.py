"""One rank profiled by its process, its network namespace and its host's port: the same beat, as its log tells."""

from __future__ import annotations

import subprocess
import sys
from statistics import median
from typing import TYPE_CHECKING

import pytest

from profiler import profile
from profiler.sources import read_rates
from tests.rig.observers import CHECKOUT

if TYPE_CHECKING:
    from pathlib import Path

    from profiler.signals import RateSeries
    from tests.rig.rig import Rig
    from tests.rig.truth import JobTruth

pytestmark = pytest.mark.rig

RECORD = (sys.executable, "-c", "from pipeline.cli.main import run; run()", "record", "--for", "10s", "--json")
SAME_FRAC = 0.03
RIGHT_FRAC = 0.05
"""1 and 2 % on a quiet machine; a busy one's iterations are uneven, and the recordings begin a second apart."""


def test_a_rank_has_the_period_of_its_hosts_port(rig: Rig, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rig.start(rig.spec.jobs[:1])
    host = rig.network.hosts("A")[0]
    pid = rank_of(rig.network.namespace(host))
    recorders = [
        start(tmp_path / "pid", "--pid", pid, "--interval", "20ms"),
        start(tmp_path / "netns", "--netns", pid),
        start(tmp_path / "iface", "--iface", "eth0", inside=rig.exec_prefix(host)),
    ]
    for recorder in recorders:
        recorder.communicate(timeout=60)
    log = rig.stop()["A"]

    found = [
        (name, rate, profile(rate).period_s) for name in ("pid", "netns", "iface") for rate in rates(tmp_path / name)
    ]
    with capsys.disabled():
        for name, rate, period_s in found:
            sys.stdout.write(f"\n--{name} {rate.direction}: {period_s} s; log of the job {true_s(log, rate):.4f} s")
    port_s = median(period_s for name, _, period_s in found if name == "iface" and period_s)
    assert len(found) == 6
    for name, rate, period_s in found:
        assert period_s == pytest.approx(port_s, rel=SAME_FRAC), f"--{name} {rate.direction}"
        assert period_s == pytest.approx(true_s(log, rate), rel=RIGHT_FRAC), f"--{name} {rate.direction}"


def rank_of(namespace: str) -> str:
    """Return the process of the one rank in a namespace."""
    (pid,) = subprocess.check_output(["ip", "netns", "pids", namespace], text=True).split()
    return pid


def start(lake: Path, *options: str, inside: list[str] | None = None) -> subprocess.Popen[str]:
    command = [*(inside or []), *RECORD, "--lake", str(lake), *options]
    return subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True)


def rates(lake: Path) -> list[RateSeries]:
    found, problems = read_rates(lake)
    assert problems == []
    return found


def true_s(log: JobTruth, rate: RateSeries) -> float:
    """Return how long the job's iterations were while it was recorded: a busy machine's run now faster, now slower."""
    return median(log.between(int(rate.edges_ns[0]), int(rate.edges_ns[-1])).durations_s())
