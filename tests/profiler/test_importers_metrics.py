"""Metrics of monitoring systems: what they count, exact to the last byte, and no expression taken for a counter."""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profiler.errors import BadInput
from profiler.importers import Options, ingest, read_counters
from profiler.importers.metrics.names import known_metric
from profiler.importers.timestamps import time_in
from profiler.rates import rate_series
from profiler.store import Lake
from tests.data import shared
from tests.profiler.dumps import n_samples, statuses
from tests.profiler.tables import first, read, table

if TYPE_CHECKING:
    from pathlib import Path

NS = 10**9
T0_S = 1_700_000_000


def page(
    t_s: float | None, value: float, name: str = "node_network_receive_bytes_total", labels: str = 'device="eth0"'
) -> str:
    when = "" if t_s is None else f" {round(t_s * 1000)}"
    return f"# HELP {name} about it\n# TYPE {name} counter\n{name}{{{labels}}} {value!r}{when}\n"


def answer(*results: dict[str, Any], kind: str = "matrix") -> str:
    return json.dumps({"status": "success", "data": {"resultType": kind, "result": list(results)}})


def matrix(name: str | None, values: list[Any], **labels: str) -> dict[str, Any]:
    return {"metric": ({"__name__": name} if name else {}) | labels, "values": values}


# Pages


def test_a_page_with_times_is_read_to_the_byte_and_other_metrics_are_counted(tmp_path: Path) -> None:
    text = page(T0_S, 5) + page(T0_S + 15, 2**53) + "node_load1 0.5\n"

    series, t_ns, value = first(table(tmp_path, text, "n1.prom"))

    assert (series.host, series.device, series.direction, series.layer) == ("n1", "eth0", "receive", "netdev")
    assert t_ns == [T0_S * NS, (T0_S + 15) * NS]
    assert value == [5, 2**53]


def test_open_metrics_give_seconds_and_prometheus_text_milliseconds(tmp_path: Path) -> None:
    lines = [
        f'node_network_receive_bytes_total{{device="eth0"}} 7 {when}\n' for when in ("1700000000.25", "1700000001250")
    ]

    _, t_ns, _ = first(table(tmp_path, "".join(lines), "n1.prom"))

    assert t_ns == [T0_S * NS + NS // 4, T0_S * NS + NS * 5 // 4]


def test_a_page_without_times_takes_that_of_its_name_and_the_host_of_the_rest(tmp_path: Path) -> None:
    for i in range(3):
        table(tmp_path, page(None, 100 * i), f"n7-{T0_S + i}.prom")

    assert read(tmp_path) == {
        ("n7", "eth0", "receive"): ([(T0_S + i) * NS for i in range(3)], [0, 100, 200]),
    }


def test_a_page_that_must_have_its_time_in_its_name_is_refused_without_one(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="name it by its time"):
        read_counters(table(tmp_path, page(None, 1), "n1.prom"), time_from="name")


@pytest.mark.parametrize("time_from", ["auto", "mtime"])
def test_a_page_whose_name_tells_no_time_was_taken_when_it_was_written(
    tmp_path: Path, time_from: Literal["auto", "mtime"]
) -> None:
    path = table(tmp_path, page(None, 1), "n1.prom")
    os.utime(path, (T0_S, T0_S + 0.25))

    ((_, t_ns, _, _),), _ = read_counters(path, time_from=time_from)

    assert t_ns.tolist() == [T0_S * NS + NS // 4]


def test_the_time_of_modification_counts_before_the_name_only_if_asked_for(tmp_path: Path) -> None:
    path = table(tmp_path, page(None, 1), f"n1-{T0_S}.prom")

    ((_, t_ns, _, _),), _ = read_counters(path)
    ((_, modified_ns, _, _),), _ = read_counters(path, time_from="mtime")

    assert t_ns.tolist() == [T0_S * NS]
    assert modified_ns[0] > T0_S * NS


def test_a_page_from_a_stream_was_taken_when_it_came(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before_s = table(tmp_path, "x", "before").stat().st_mtime
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(page(None, 1).encode())))

    ((_, t_ns, _, _),), _ = read_counters("-")

    assert 0 <= t_ns[0] / NS - before_s < 60


@pytest.mark.parametrize("apart_s", [0.0, 0.1, 2.0])
def test_copies_that_their_files_date_together_are_no_two_snapshots(tmp_path: Path, apart_s: float) -> None:
    paths = [
        table(tmp_path, page(None, value, labels='device="eth0",instance="n1:9100"'), f"{value}.prom")
        for value in (1, 2)
    ]
    for path, t_s in zip(paths, (T0_S, T0_S + apart_s), strict=True):
        os.utime(path, (t_s, t_s))
    lake = Lake.open(tmp_path / "lake", create=True)

    report = ingest(*paths, lake=lake)

    assert statuses(report) == ["read", "read" if apart_s > 1 else "failed"]
    assert n_samples(lake) == 1 + (apart_s > 1)
    if apart_s < 1:
        assert "as copies are" in report.inputs[1].message
        assert "as copies are" in "".join(read_counters(tmp_path / ".", format="metrics")[1])
    assert statuses(ingest(*paths, lake=tmp_path / "other", options=Options(time_from="mtime"))) == ["read", "read"]


def test_two_pages_of_one_content_are_two_readings_in_a_lake(tmp_path: Path) -> None:
    paths = [table(tmp_path, page(None, 1), f"n1-{T0_S + i}.prom") for i in range(2)]
    lake = Lake.open(tmp_path / "lake", create=True)

    assert statuses(ingest(*paths, lake=lake)) == ["read", "read"]
    assert statuses(ingest(*paths, lake=lake)) == ["already there", "already there"]
    assert n_samples(lake) == 2


def test_one_series_twice_in_a_page_without_times_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="more than once"):
        read_counters(table(tmp_path, page(None, 1) + page(None, 2), f"n1-{T0_S}.prom"))


def test_lines_that_are_no_metric_are_named_and_the_rest_is_read(tmp_path: Path) -> None:
    text = page(T0_S, 1) + 'node_network_receive_bytes_total{device="eth0" 7\n' + page(T0_S + 1, 2)

    counters, problems = read_counters(table(tmp_path, text, "n1.prom"))

    assert counters[0][2].tolist() == [1, 2]
    assert "line 4" in problems[0]
    assert "(1)" in problems[0]


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-1", "1e30"])
def test_a_value_that_is_none_is_absent_not_zero(tmp_path: Path, value: str) -> None:
    text = page(T0_S, 1) + f'node_network_receive_bytes_total{{device="eth0"}} {value} {(T0_S + 1) * 1000}\n'

    assert first(table(tmp_path, text, "n1.prom"))[2] == [1]


def test_words_that_an_exporter_made_bytes_are_not_multiplied_again(tmp_path: Path) -> None:
    name, labels = "node_infiniband_port_data_received_bytes_total", 'device="mlx5_0",port="1"'

    series, _, value = first(table(tmp_path, page(T0_S, 4096, name, labels), "n1.prom"))

    assert (series.layer, series.port, series.raw_scale, value) == ("rdma_vport", "1", 1.0, [4096])


def test_of_two_metrics_that_count_the_same_the_first_is_taken_and_the_other_named(tmp_path: Path) -> None:
    labels = 'device="mlx4_0",port="1"'
    text = page(T0_S, 8, "node_infiniband_legacy_data_received_bytes_total", labels)
    text += page(T0_S, 5, "node_infiniband_port_data_received_bytes_total", labels)
    lake = Lake.open(tmp_path / "lake", create=True)

    (report,) = ingest(table(tmp_path, text, "n1.prom"), lake=lake).inputs

    (series_id,) = lake.read("series")["series_id"].to_pylist()
    assert lake.counter(series_id).value.tolist() == [8]
    assert "counted by node_infiniband_legacy_data_received_bytes_total (1)" in report.skipped[0].what


def test_the_host_of_an_hca_is_the_one_it_is_in_not_the_one_that_asks(tmp_path: Path) -> None:
    labels = 'guid="0x7c",hca="o0001 HCA-1",port="1",switch="",instance="monitor:9315"'
    text = page(T0_S, 1, "infiniband_hca_port_receive_data_bytes_total", labels)

    series, _, _ = first(table(tmp_path, text, "ib.prom"))

    assert (series.host, series.device, series.port) == ("o0001", "HCA-1", "1")


def test_the_page_of_node_exporter_is_read_as_it_says(tmp_path: Path) -> None:
    path = shared("infiniband/e2e-infiniband-ethtool.prom")
    text = path.read_text()

    found = read(table(tmp_path, text, f"n1-{T0_S}.prom"))

    wanted = {}
    for line in text.splitlines():
        for way, direction in (("received", "receive"), ("transmitted", "transmit")):
            if line.startswith(f"node_infiniband_legacy_data_{way}_bytes_total") and 'port="2"' in line:
                wanted["n1", "mlx4_0", direction] = int(float(line.split()[-1]))
    assert len(wanted) == 2
    counters, _ = read_counters(table(tmp_path, text, f"n2-{T0_S}.prom"))
    ports = {(s.host, s.device, s.direction): v[0] for s, _, v, _ in counters if s.port == "2" and s.metric == "bytes"}
    assert ports == {("n2", *key[1:]): value for key, value in wanted.items()}
    assert {key[1] for key in found} == {"mlx4_0"}


# DCGM


def test_what_dcgm_calls_a_counter_is_a_rate(tmp_path: Path) -> None:
    name, labels = "DCGM_FI_PROF_NVLINK_TX_BYTES", 'gpu="0",device="nvidia0",Hostname="h1"'
    text = "".join(page(T0_S + i, 1000, name, labels) for i in range(5))

    ((series, t_ns, value, _),), _ = read_counters(table(tmp_path, text, "dcgm.prom"))
    rate = rate_series(series, t_ns=t_ns, value=value)

    assert (series.kind, series.layer, series.unit) == ("gauge", "nvlink", "bytes/s")
    np.testing.assert_allclose(rate.rate_bps, 8000.0)
    assert "gauge" in rate.notes[-1]


# Answers of Prometheus


@pytest.mark.parametrize("pack", [str.encode, lambda text: gzip.compress(text.encode())])
def test_an_answer_of_query_range_is_read_to_the_byte(tmp_path: Path, pack: Any) -> None:
    values = [[T0_S + 15 * i + 0.781, str(10**15 + i)] for i in range(100)]
    result = matrix("node_network_transmit_bytes_total", values, device="eth1", instance="n3:9100", job="node")

    series, t_ns, value = first(table(tmp_path, pack(answer(result)), "answer.json"))

    assert (series.host, series.device, series.direction) == ("n3", "eth1", "transmit")
    assert value == [10**15 + i for i in range(100)]
    assert t_ns[0] == pytest.approx((T0_S + 0.781) * NS, abs=200)


def test_the_bare_list_that_clients_save_and_an_instant_answer_are_read_too(tmp_path: Path) -> None:
    name = "node_network_transmit_bytes_total"
    bare = json.dumps([matrix(name, [[T0_S, "1"], [T0_S + 1, "2"]], device="eth0")])
    instant = answer({"metric": {"__name__": name, "device": "eth0"}, "value": [T0_S, "1"]}, kind="vector")

    assert first(table(tmp_path, bare, "a.json"))[2] == [1, 2]
    assert first(table(tmp_path, instant, "b.json"))[2] == [1]


def test_the_answer_to_an_expression_is_not_taken_for_a_counter(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="ask for the counter itself"):
        read_counters(table(tmp_path, answer(matrix(None, [[T0_S, "1"]], device="eth0")), "answer.json"))


def test_metrics_that_are_no_traffic_are_refused_with_their_number() -> None:
    with pytest.raises(BadInput, match="count no traffic"):
        read_counters(shared("prometheus/up_201907281200.json"))


def test_an_answer_that_is_cut_keeps_its_whole_results(tmp_path: Path) -> None:
    results = [matrix("node_network_transmit_bytes_total", [[T0_S, "1"]] * 50, device=f"eth{i}") for i in range(20)]
    text = answer(*results)

    counters, problems = read_counters(table(tmp_path, text[: len(text) // 2], "answer.json"))

    assert 8 <= len(counters) <= 10
    assert "damaged or cut" in problems[0]


def test_readings_that_are_none_are_counted(tmp_path: Path) -> None:
    values = [[T0_S, "1"], [T0_S + 1], ["x", "2"], [T0_S + 3, None], [T0_S + 4, "5"]]

    counters, problems = read_counters(
        table(tmp_path, answer(matrix("node_network_transmit_bytes_total", values, device="e")), "a.json")
    )

    assert counters[0][2].tolist() == [1, 5]
    assert "(3)" in problems[0]


@settings(deadline=None, max_examples=50)
@given(st.binary(max_size=400), st.integers(0, 400))
def test_no_damage_of_an_answer_is_more_than_a_message(
    tmp_path_factory: pytest.TempPathFactory, junk: bytes, at: int
) -> None:
    text = answer(matrix("node_network_transmit_bytes_total", [[T0_S, "1"], [T0_S + 1, "2"]], device="e")).encode()
    path = table(tmp_path_factory.mktemp("json"), text[:at] + junk + text[at:], "a.json")
    try:
        counters, _ = read_counters(path, format="prometheus")
    except BadInput:
        return
    assert all(series.direction == "transmit" for series, _, _, _ in counters)


# Names


@pytest.mark.parametrize(
    ("name", "direction", "metric", "layer"),
    [
        ("node_network_receive_packets_total", "receive", "packets", "netdev"),
        ("node_network_transmit_bytes", "transmit", "bytes", "netdev"),
        ("node_infiniband_port_data_transmitted_bytes_total", "transmit", "bytes", "rdma_vport"),
        ("node_infiniband_port_packets_received_total", "receive", "packets", "rdma_vport"),
        ("infiniband_switch_port_transmit_data_bytes_total", "transmit", "bytes", "wire"),
        ("container_network_transmit_bytes_total", "transmit", "bytes", "netdev"),
        ("ifHCInOctets", "receive", "bytes", "wire"),
        ("net_bytes_sent", "transmit", "bytes", "netdev"),
    ],
)
def test_known_names_say_what_they_count(name: str, direction: str, metric: str, layer: str) -> None:
    found = known_metric(name)

    assert found is not None
    assert (found.direction, found.metric, found.layer) == (direction, metric, layer)


@pytest.mark.parametrize(
    "name",
    ["node_network_receive_errs_total", "node_network_speed_bytes", "node_infiniband_rate_bytes_per_second", "up", ""],
)
def test_other_names_are_not_traffic(name: str) -> None:
    assert known_metric(name) is None


@pytest.mark.parametrize(
    ("name", "t_s"),
    [
        ("a-1700000000.prom", 1.7e9),
        ("a-1700000000123.prom", 1_700_000_000.123),
        ("a.1700000000.5.txt", 1_700_000_000.5),
        ("x/2023-11-14T22:13:20Z/page", 1.7e9),
        ("page_20231114_221320.txt", 1.7e9),
        ("perfquery__0x1234567890ab.out", None),
        ("20231399T000000", None),
    ],
)
def test_the_time_in_a_name_is_found_or_not_made_up(name: str, t_s: float | None) -> None:
    assert time_in(name) == t_s


def test_pods_of_one_name_in_two_namespaces_are_two_series(tmp_path: Path) -> None:
    pods = [("a", 1), ("b", 2)]
    line = 'container_network_receive_bytes_total{{interface="eth0",namespace="{}",node="n1",pod="worker-0"}} {} {}\n'
    path = table(tmp_path, "".join(line.format(space, value, 1_700_000_000_000) for space, value in pods), "n1.prom")

    counters, problems = read_counters(path)

    assert problems == []
    assert {(s.host, s.device, s.port): v.tolist() for s, _, v, _ in counters} == {
        ("n1", "eth0", "a/worker-0"): [1],
        ("n1", "eth0", "b/worker-0"): [2],
    }
