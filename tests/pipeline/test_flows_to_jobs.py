"""Flows of captures, told to be jobs' by the addresses of a cluster file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pipeline.clusters import know_cluster
from pipeline.flow import Analysis, analyze
from pipeline.flowsums import summed
from pipeline.sql import open_lake
from profiler.importers import Options, ingest
from profiler.schema import Flag
from profiler.store import Counter, Lake
from tests.pipeline.roce_captures import PACKET_BYTES, RoceJob, capture_of
from tests.profiler.frames import ethernet, ipv4, pcap, ports

if TYPE_CHECKING:
    from pathlib import Path

    from profiler.importers.captures.series import SeriesBy

A = RoceJob(addresses=("10.0.1.1", "10.0.1.2"), period_s=0.255, up_s=0.1, n_qps=3)
B = RoceJob(addresses=("10.0.2.1", "10.0.2.2"), period_s=0.19, up_s=0.06, first_qp=300, n_qps=3)
NETWORK = "".join(
    f'[[link]]\nid = "{host}"\na = "{host}:eth0"\nb = "{switch}:{host}"\ncapacity = "100Gbps"\n'
    for host, switch in (("a1", "s1"), ("b1", "s1"), ("c1", "s1"), ("a2", "s2"), ("b2", "s2"))
) + (
    '[[link]]\nid = "trunk"\na = "s1:t"\nb = "s2:t"\ncapacity = "100Gbps"\ntier = "spine"\n'
    '[[job]]\nid = "A"\nhosts = ["a1", "a2"]\n[[job]]\nid = "B"\nhosts = ["b1", "b2"]\n'
)
ADDRESSES = (
    '[[host]]\nname = "a1"\naddresses = ["10.0.1.1"]\n[[host]]\nname = "a2"\naddresses = {eth0 = "10.0.1.2"}\n'
    '[[host]]\nname = "b1"\naliases = ["10.0.2.1"]\n'
    '[[host]]\nname = "b2"\naddresses = ["0000:0000:0000:0000:0000:ffff:0a00:0202"]\n'
    '[[host]]\nname = "c1"\naddresses = ["10.0.3.1"]\n'
)
STRAYS = {
    ("10.0.1.1", "10.0.2.2"): "the ends are of two jobs: A to B",
    ("10.0.3.1", "10.0.1.2"): "no job has a rank at the sender",
    ("10.0.1.1", "10.0.3.1"): "no job has a rank at the receiver",
    ("10.0.1.1", "10.9.9.9"): "the receiving address is of no known host",
    ("10.9.9.9", "10.0.1.1"): "the sending address is of no known host",
    ("10.9.9.9", "10.9.9.8"): "neither address is of a known host",
}


def _captured(folder: Path, capture: bytes, *, by: SeriesBy = "flow") -> Path:
    (folder / "of.pcap").write_bytes(capture)
    ingest(folder / "of.pcap", lake=Lake.open(folder / "lake", create=True), options=Options(series_by=by))
    return folder / "lake"


def _analysed(folder: Path, capture: bytes, *, by: SeriesBy, cluster: str = NETWORK + ADDRESSES) -> Analysis:
    (folder / "c.toml").write_text(cluster)
    return analyze(_captured(folder, capture, by=by), cluster=folder / "c.toml")


def _query(lake: Path, name: str) -> list[dict[str, Any]]:
    with open_lake(lake) as database:
        rows: list[dict[str, Any]] = database.run(name).to_pylist()
    return rows


@pytest.mark.parametrize("by", ["flow", "pair"])
def test_a_lake_of_a_capture_alone_has_a_profile_of_each_job_and_a_verdict_on_their_link(
    tmp_path: Path, by: SeriesBy
) -> None:
    analysis = _analysed(tmp_path, capture_of(A, B, duration_s=10.0, rng=np.random.default_rng(3)), by=by)
    assert analysis.jobs["A"].period_s == pytest.approx(A.period_s, rel=0.01)
    assert analysis.jobs["B"].period_s == pytest.approx(B.period_s, rel=0.01)
    assert {(link.link, link.compatibility.verdict) for link in analysis.links} == {("trunk", "uncontended")}
    assert not analysis.skipped
    for row in _query(tmp_path / "lake", "flows_by_job"):
        job = {"A": A, "B": B}[row["job_id"]]
        rank_bps = row["bytes"] / 2 * 8 / ((row["last_ns"] - row["first_ns"]) / 1e9)
        assert analysis.jobs[row["job_id"]].mean_bps == pytest.approx(rank_bps, rel=0.02)
        assert (row["n_flows"], row["bytes"]) == (2 * job.n_qps, row["packets"] * PACKET_BYTES)
    assert sum(row["share_frac"] for row in _query(tmp_path / "lake", "flows_by_job")) == pytest.approx(1.0)


def _strays() -> bytes:
    pairs = [A.pairs[0], *STRAYS]
    frames = [ethernet(ipv4(ports(1, 2, bytes(72)), pair, proto=17), 0x0800) for pair in pairs]
    return pcap([(1_800_000_000 + i, 0, frame, 1000 + i) for i, frame in enumerate(frames)])


def test_flows_of_no_job_are_told_with_the_reason_and_their_bytes(tmp_path: Path) -> None:
    lake = _captured(tmp_path, _strays())
    (tmp_path / "c.toml").write_text(NETWORK + ADDRESSES)
    know_cluster(Lake.open(lake), tmp_path / "c.toml")
    with open_lake(lake) as database:
        assert all(database.sql(f"from {view}").num_rows for view in ("address_jobs", "pair_jobs", "flow_parts"))
    found = {row["reason"]: (row["job_id"], row["n_flows"], row["bytes"]) for row in _query(lake, "flows_by_job")}
    assert found == {None: ("A", 1, 1000)} | {why: (None, 1, 1001 + i) for i, why in enumerate(STRAYS.values())}


def test_an_analysis_skips_flows_of_no_job_by_reason(tmp_path: Path) -> None:
    skipped = {one.why: one.what for one in _analysed(tmp_path, _strays(), by="pair").skipped}
    for i, why in enumerate(STRAYS.values()):
        assert skipped[why] == f"1 flow of captures, {1001 + i} bytes"


def test_flows_are_skipped_with_advice_where_no_address_is_known(tmp_path: Path) -> None:
    skipped = _analysed(tmp_path, _strays(), by="pair", cluster=NETWORK).skipped
    assert ["[[host]] addresses" in one.why for one in skipped if "of captures" in one.what] == [True]


def _counter(t_ms: list[int], value: list[int]) -> Counter:
    flags = [int(Flag.MISSED)] + [0] * (len(t_ms) - 1)
    return Counter(
        t_ns=np.array(t_ms, np.int64) * 10**6,
        value=np.array(value, np.int64),
        flags=np.array(flags, np.uint16),
        epoch=np.zeros(len(t_ms), np.int32),
    )


def test_a_sum_has_every_byte_in_its_bin_though_flows_begin_and_end_at_different_times() -> None:
    total = summed([_counter([0, 1, 2, 5], [0, 10, 20, 0]), _counter([3, 4, 5, 6], [0, 7, 8, 9])])
    assert (total.t_ns // 10**6).tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert total.value.tolist() == [0, 10, 20, 0, 7, 8, 9]
    assert [bool(flag) for flag in total.flags] == [True] + [False] * 6


def test_a_sum_is_unknown_where_no_flow_was_seen() -> None:
    total = summed([_counter([0, 1], [0, 10]), _counter([3, 4], [0, 7])])
    assert total.value.tolist() == [0, 10, 0, 7]
    assert [bool(flag) for flag in total.flags] == [True, False, True, False]
