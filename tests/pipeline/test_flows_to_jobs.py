"""Flows of captures, told to be jobs' by the addresses of a cluster file."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pipeline.clusters import know_cluster
from pipeline.derived import open_derived
from pipeline.flow import Analysis, analyze
from pipeline.flowsums import foreign_flows, read_flow_parts
from pipeline.sql import open_lake
from profiler.importers import Options, ingest
from profiler.store import Lake
from tests.pipeline.lakes import add_reads, on_off_counter, only, port
from tests.pipeline.roce_captures import PACKET_BYTES, RoceJob, capture_of
from tests.profiler.frames import ethernet, ipv4, pcap, ports

if TYPE_CHECKING:
    from pathlib import Path

    from profiler.importers.captures.series import SeriesBy

A = RoceJob(addresses=("10.0.1.1", "10.0.1.2"), period_s=0.255, up_s=0.1, n_qps=2)
B = RoceJob(addresses=("10.0.2.1", "10.0.2.2"), period_s=0.19, up_s=0.06, first_qp=300, n_qps=2)
DURATION_S = 8.0
SEED = 3
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


def _known(lake: Path, cluster: str = NETWORK + ADDRESSES) -> Path:
    file = lake.with_suffix(".toml")
    file.write_text(cluster)
    know_cluster(Lake.open(lake), file)
    return lake


def _foreign(lake: Path, cluster: str) -> dict[str, str]:
    with open_derived(Lake.open(_known(lake, cluster))) as database:
        return {one.what: one.why for one in foreign_flows(database)}


def _query(lake: Path, name: str) -> list[dict[str, Any]]:
    with open_lake(lake) as database:
        rows: list[dict[str, Any]] = database.run(name).to_pylist()
    return rows


@pytest.fixture(scope="module")
def both() -> bytes:
    return capture_of(A, B, duration_s=DURATION_S, rng=np.random.default_rng(SEED))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("both")


@pytest.fixture(scope="module")
def analysis(folder: Path, both: bytes) -> Analysis:
    (folder / "c.toml").write_text(NETWORK + ADDRESSES)
    return analyze(_captured(folder, both), cluster=folder / "c.toml")


@pytest.fixture(scope="module")
def strays(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pairs = [A.pairs[0], *STRAYS]
    frames = [ethernet(ipv4(ports(1, 2, bytes(72)), pair, proto=17), 0x0800) for pair in pairs]
    capture = pcap([(1_800_000_000 + i, 0, frame, 1000 + i) for i, frame in enumerate(frames)])
    return _captured(tmp_path_factory.mktemp("strays"), capture, by="pair")


def test_a_lake_of_a_capture_alone_has_a_profile_of_each_job_and_a_verdict_on_their_link(
    analysis: Analysis, folder: Path
) -> None:
    assert analysis.jobs["A"].period_s == pytest.approx(A.period_s, rel=0.01)
    assert analysis.jobs["B"].period_s == pytest.approx(B.period_s, rel=0.01)
    assert {(link.link, link.compatibility.verdict) for link in analysis.links} == {("trunk", "uncontended")}
    assert not analysis.skipped
    told = _query(folder / "lake", "flows_by_job")
    for row in told:
        job = {"A": A, "B": B}[row["job_id"]]
        rank_bps = row["bytes"] / 2 * 8 / ((row["last_ns"] - row["first_ns"]) / 1e9)
        assert analysis.jobs[row["job_id"]].mean_bps == pytest.approx(rank_bps, rel=0.02)
        assert (row["n_flows"], row["bytes"]) == (2 * job.n_qps, row["packets"] * PACKET_BYTES)
    assert sum(row["share_frac"] for row in told) == pytest.approx(1.0)


def test_the_time_that_jobs_share_is_told_of_a_capture_alone(analysis: Analysis, folder: Path) -> None:
    rng = np.random.default_rng(SEED)
    bursts = [[(start, start + job.up_s) for start in job.starts_s(duration_s=DURATION_S, rng=rng)] for job in (A, B)]
    shared_s = sum(max(0.0, min(a[1], b[1]) - max(a[0], b[0])) for a in bursts[0] for b in bursts[1])
    told = _query(folder / "lake", "contention_by_link")
    assert [(row["link_id"], row["direction"]) for row in told] == [("trunk", "backward"), ("trunk", "forward")]
    # A burst ends with the millisecond of its last packet, up to 2 ms early, of 60.
    assert [row["shared_s"] for row in told] == pytest.approx([shared_s, shared_s], rel=0.05)
    assert {link.shared_frac for link in analysis.links} == {row["shared_frac"] for row in told}


def test_pairs_of_addresses_give_the_same_sums_as_flows(folder: Path, both: bytes, tmp_path: Path) -> None:
    lake = _known(_captured(tmp_path, both, by="pair"))
    n_parts, sums = [], []
    for root in (lake, folder / "lake"):
        with open_lake(root) as database:
            n_parts.append(database.sql("from flow_parts").num_rows)
            sums.append(database.sql("from flow_rates(null, null) where bytes > 0 order by series_id, t_ns"))
    assert n_parts == [4, 8]
    assert sums[0].equals(sums[1])
    assert sum(sums[0]["bytes"].to_pylist()) == sum(Lake.open(lake).read("flows")["bytes"].to_pylist())


@pytest.mark.usefixtures("analysis")
def test_a_port_that_a_counter_counts_is_told_by_it_alone(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "lake", tmp_path / "lake")
    lake = Lake.open(tmp_path / "lake")
    add_reads(lake, {port("a1", "eth0", "transmit"): on_off_counter(period_ns=10**9, up_ns=10**8, rate_bps=7e9)})
    with open_derived(lake) as database:
        ports = database.sql("from port_series where direction = 'transmit' and host not like '10.%'").to_pylist()
        counted = database.sql("from link_series where link_id = 'a1'").to_pylist()
        summed_hosts = {part["host"] for part in read_flow_parts(database)}
    assert {row["host"]: row["layer"] for row in ports} == {
        "a1": "netdev",
        **dict.fromkeys(("a2", "b1", "b2"), "capture"),
    }
    assert [row["series_id"] for row in counted] == [only(ports, host="a1")["series_id"]]
    assert summed_hosts == {"a2", "b1", "b2"}


def test_flows_from_an_address_at_one_of_several_ports_are_told_until_it_is_known_which(strays: Path) -> None:
    rails = NETWORK.replace(
        '[[job]]\nid = "A"\nhosts = ["a1", "a2"]',
        '[[link]]\nid = "a1-1"\na = "a1:eth1"\nb = "s1:a1-1"\ncapacity = "100Gbps"\n'
        '[[job]]\nid = "A"\nranks = [{host = "a1", device = "eth0"}, {host = "a1", device = "eth1"}, {host = "a2"}]',
    )
    what = "1 flow of job A from 10.0.1.1, 1000 bytes"
    why = _foreign(strays, rails + ADDRESSES)[what]
    assert "which of the ports eth0, eth1 of a1 has" in why
    assert 'addresses = {eth0 = "10.0.1.1"}' in why
    assert what not in _foreign(strays, rails + ADDRESSES.replace('["10.0.1.1"]', '{eth1 = "10.0.1.1"}'))


def test_of_two_points_the_one_that_saw_most_bytes_stands_for_a_port_and_the_other_is_told(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path / "lake", create=True)
    for point, sizes in (("tap-a", [1000, 1000]), ("tap-b", [9000])):
        frames = [ethernet(ipv4(ports(i, 2, bytes(72)), A.pairs[0], proto=17), 0x0800) for i in range(len(sizes))]
        packets = [(1_800_000_000, i, frame, size) for i, (frame, size) in enumerate(zip(frames, sizes, strict=True))]
        (tmp_path / point).write_bytes(pcap(packets))
        ingest(tmp_path / point, lake=lake, options=Options(series_by="flow", host=point))

    with open_derived(Lake.open(_known(lake.root))) as database:
        parts, told = read_flow_parts(database), {one.what: one.why for one in foreign_flows(database)}
    assert [part["capture_point"] for part in parts] == ["tap-b"]
    why = told["2000 bytes of job A from a1 eth0, captured at tap-a"]
    assert why.startswith("tap-b has 9000 bytes of it, which are analysed")


def test_flows_of_no_job_are_told_with_the_reason_and_their_bytes(strays: Path) -> None:
    with open_lake(_known(strays)) as database:
        assert all(database.sql(f"from {view}").num_rows for view in ("address_jobs", "pair_jobs", "flow_parts"))
        told = database.run("flows_by_job").to_pylist()
    found = {row["reason"]: (row["job_id"], row["n_flows"], row["bytes"]) for row in told}
    assert found == {None: ("A", 1, 1000)} | {why: (None, 1, 1001 + i) for i, why in enumerate(STRAYS.values())}


def test_an_analysis_skips_flows_of_no_job_by_reason(strays: Path) -> None:
    told = {one.why: one.what for one in analyze(_known(strays)).skipped}
    for i, why in enumerate(STRAYS.values()):
        assert told[why] == f"1 flow of captures, {1001 + i} bytes"


def test_flows_are_skipped_with_advice_where_no_address_is_known(strays: Path) -> None:
    told = _foreign(strays, NETWORK)
    assert told
    assert all("[[host]] addresses" in why for why in told.values())
