"""What monitoring and tools really hand out: refusals, duplicates, restarts, several hosts, versions, odd values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from profiler.errors import BadInput
from profiler.importers import Coverage, ingest, read_counters
from profiler.importers.clocks import note_clock, note_clocks
from profiler.importers.metrics.readings import value_of
from profiler.importers.timestamps import time_in
from profiler.store import Lake
from tests.profiler.counter_dumps import NS, T0_S
from tests.profiler.tables import table

if TYPE_CHECKING:
    from pathlib import Path

NAME = "node_network_receive_bytes_total"


def answer(*results: dict[str, Any], **more: Any) -> str:
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": list(results)}} | more)


def result(values: list[Any], name: str = NAME, **labels: str) -> dict[str, Any]:
    return {"metric": {"__name__": name, "device": "eth0", "instance": "n1:9100"} | labels, "values": values}


def series_of(path: Path, **told: Any) -> dict[tuple[str, str, str, str], tuple[list[float], list[int]]]:
    """Return times in s since T0 and values by host, device, port and direction; nothing may be wrong."""
    counters, problems = read_counters(path, **told)
    assert problems == []
    return {
        (s.host, s.device, s.port, s.direction): (((t_ns - T0_S * NS) / NS).tolist(), value.tolist())
        for s, t_ns, value, _ in counters
    }


def skipped(path: Path, lake: Path) -> str:
    (report,) = ingest(path, lake=Lake.open(lake, create=True)).inputs
    return "\n".join(f"{item.what}: {item.why}" for item in report.skipped)


# Answers of Prometheus


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"status":"error","errorType":"bad_data","error":"1:1: parse error"}',
            "refused the query: '1:1: parse error'",
        ),
        ('{"status":"success","data":{"resultType":"scalar","result":[1700000000,"1"]}}', "none, or a scalar"),
        ('{"status":"success","data":{"resultType":"matrix","result":[]}}', "none, or a scalar"),
        (answer({"metric": {"__name__": "h"}, "histograms": [[T0_S, {"count": "3"}]]}), "native histograms"),
    ],
)
def test_an_answer_without_counters_says_what_it_is(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read_counters(table(tmp_path, text, "a.json"))


def test_a_partial_answer_is_partial(tmp_path: Path) -> None:
    text = answer(result([[T0_S, "1"]]), warnings=["receive series from store-2: Unavailable"])

    counters, problems = read_counters(table(tmp_path, text, "a.json"))

    assert [value.tolist() for _, _, value, _ in counters] == [[1]]
    assert "store-2: Unavailable" in problems[0]


def test_replicas_that_scrape_one_port_give_it_once(tmp_path: Path) -> None:
    replicas = [result([[T0_S + o, "1"], [T0_S + o + 1, "2"]], replica=r) for r, o in (("a", 0), ("b", 0.5))]
    path = table(tmp_path, answer(*replicas), "a.json")

    assert series_of(path) == {("n1", "eth0", "", "receive"): ([0, 1], [1, 2])}
    assert f"{NAME} of replica=b (2)" in skipped(path, tmp_path / "lake")


@pytest.mark.parametrize("order", [1, -1])
def test_a_port_goes_on_under_the_labels_of_another_pod(tmp_path: Path, order: int) -> None:
    pods = [result([[T0_S + o, str(o)], [T0_S + o + 1, str(o + 1)]], pod=p) for p, o in (("x", 0), ("y", 5))]

    found = series_of(table(tmp_path, answer(*pods[::order]), "a.json"))

    assert found == {("n1", "eth0", "", "receive"): ([0, 1, 5, 6], [0, 1, 5, 6])}


def test_answers_of_several_queries_in_one_file_are_one_series(tmp_path: Path) -> None:
    pages = [answer(result([[T0_S + o, str(o)], [T0_S + o + 1, str(o + 1)]])) for o in (0, 2)]

    assert series_of(table(tmp_path, "\n".join(pages), "a.json")) == {
        ("n1", "eth0", "", "receive"): ([0, 1, 2, 3], [0, 1, 2, 3])
    }


def test_an_export_of_victoria_metrics_has_ms_and_nulls(tmp_path: Path) -> None:
    lines = [
        {"metric": {"__name__": NAME, "device": device}, "values": [1, 2, None], "timestamps": [t, t + 500, t + 999]}
        for t, device in ((T0_S * 1000, "eth0"), (T0_S * 1000, "eth1"))
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)

    found = series_of(table(tmp_path, text, "export.json"))

    assert found == {("export", device, "", "receive"): ([0, 0.5], [1, 2]) for device in ("eth0", "eth1")}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.234567890123456e+15", 1_234_567_890_123_456),
        ("9.007199254740992e+15", 2**53),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", None),
        ("9.223372036854775807e+18", None),
        ("1.8446744073709552e+19", None),
        ("1e400", None),
        ("-0", 0),
        ("-1", None),
        ("+Inf", None),
    ],
)
def test_floats_are_taken_to_the_byte_or_not_at_all(text: str, value: int | None) -> None:
    assert value_of(text) == value


def test_floats_too_large_to_be_exact_are_said_to_be(tmp_path: Path) -> None:
    path = table(tmp_path, answer(result([[T0_S, str(2**53 - 1)], [T0_S + 1, "9.007199254740994e+15"]])), "a.json")

    assert "exactness of readings (1)" in skipped(path, tmp_path / "lake")


# Pages


def test_numbers_of_an_exemplar_are_not_those_of_the_reading(tmp_path: Path) -> None:
    text = f"""# TYPE node_network_receive_bytes counter
{NAME}{{device="eth0"}} 17.0 {T0_S}.25 # {{trace_id="KOO5S4vxi0o"}} 0.67
{NAME}{{device="eth0"}} 18 {T0_S + 1} # {{trace_id="KOO5S4vxi0o"}} 0.67 1520879607.789
{NAME}{{device="eth1"}} 19 # {{trace_id="K"}} 1
{NAME.replace("total", "created")}{{device="eth0"}} 1520430000.123
# EOF
"""
    assert series_of(table(tmp_path, text, f"n1-{T0_S + 2}.prom")) == {
        ("n1", "eth0", "", "receive"): ([0.25, 1], [17, 18]),
        ("n1", "eth1", "", "receive"): ([2], [19]),
    }


def test_labels_are_read_as_they_are_escaped(tmp_path: Path) -> None:
    text = f'  {NAME} {{ device="a\\\\b\\"c}}#" , }} 7 {T0_S}000\n'

    assert series_of(table(tmp_path, f"# HELP {NAME} x\n{text}", "n1.prom")) == {
        ("n1", 'a\\b"c}#', "", "receive"): ([0], [7])
    }


INFINIBAND = """infiniband_hca_info{guid="0x7c",hca="o0002 mlx5_0",lid="2080"} 1
infiniband_hca_port_transmit_data_bytes_total{guid="0x7c",port="1"} 1.8e+10
infiniband_switch_info{guid="0x50",switch="ib-i4l1s01",lid="1719"} 1
infiniband_switch_port_receive_data_bytes_total{guid="0x50",port="7"} 7.16e+11
infiniband_switch_port_receive_data_bytes_total{guid="0x51",port="7"} 5
"""


def test_ports_of_infiniband_exporter_are_named_as_the_fabric_names_the_ends_of_links(tmp_path: Path) -> None:
    assert series_of(table(tmp_path, INFINIBAND, f"ib-{T0_S}.prom")) == {
        ("o0002", "mlx5_0", "1", "transmit"): ([0], [18_000_000_000]),
        ("ib-i4l1s01", "7", "", "receive"): ([0], [716_000_000_000]),
        ("0x51", "7", "", "receive"): ([0], [5]),
    }


DCGM = """# TYPE DCGM_FI_PROF_PCIE_TX_BYTES counter
DCGM_FI_PROF_PCIE_TX_BYTES{gpu="0",UUID="GPU-1",device="nvidia0",Hostname="dgx1"} 65464216
DCGM_FI_PROF_NVLINK_RX_BYTES{gpu="0",UUID="GPU-1",device="nvidia0",Hostname="dgx1"} 1.5464216e+10
DCGM_FI_PROF_PCIE_TX_BYTES{gpu="1",device="nvidia1",GPU_I_ID="3",Hostname="dgx1"} 4
DCGM_FI_PROF_PCIE_TX_BYTES{gpu="1",device="nvidia1",GPU_I_ID="4",Hostname="dgx1"} 5
DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL{gpu="0",device="nvidia0",Hostname="dgx1"} 0
DCGM_FI_DEV_GPU_UTIL{gpu="0",device="nvidia0",Hostname="dgx1"} 97
"""


def test_rates_of_dcgm_are_gauges_of_each_instance_and_the_rest_is_named(tmp_path: Path) -> None:
    path = table(tmp_path, DCGM, f"dcgm-{T0_S}.prom")

    counters, _ = read_counters(path)

    assert {(s.kind, s.metric, s.unit, s.width_bits) for s, _, _, _ in counters} == {
        ("gauge", "bytes_per_s", "bytes/s", None)
    }
    assert series_of(path) == {
        ("dgx1", "nvidia0", "", "transmit"): ([0], [65_464_216]),
        ("dgx1", "nvidia0", "", "receive"): ([0], [15_464_216_000]),
        ("dgx1", "nvidia1", "3", "transmit"): ([0], [4]),
        ("dgx1", "nvidia1", "4", "transmit"): ([0], [5]),
    }
    assert "such as DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL, DCGM_FI_DEV_GPU_UTIL" in skipped(path, tmp_path / "lake")


def test_a_gauge_and_a_counter_of_one_port_are_two_series(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path / "lake", create=True)
    record = {
        "timestamp": {"date": "2023-11-14", "time": "22:13:20", "utc": 1},
        "network": {"net-dev": [{"iface": "eth0", "rxkB": 1.0, "txkB": 2.0}]},
    }
    rates = json.dumps({"sysstat": {"hosts": [{"nodename": "n1", "statistics": [record]}]}})
    ingest(table(tmp_path, rates, "sa.json"), table(tmp_path, answer(result([[T0_S, "5"]])), "a.json"), lake=lake)

    received = [row for row in lake.read("series").to_pylist() if row["direction"] == "receive"]
    assert {row["kind"]: lake.counter(row["series_id"]).value.tolist() for row in received} == {
        "gauge": [1024],
        "counter": [5],
    }


# sadf


def sadf(*hosts: tuple[str, dict[str, Any]], rate: float = 1.0) -> str:
    interfaces = {"net-dev": [{"iface": "eth0", "rxkB": rate, "txkB": rate}]}
    return json.dumps(
        {
            "sysstat": {
                "hosts": [
                    {
                        "nodename": name,
                        "statistics": [
                            {
                                "timestamp": {"date": "2023-11-14", "time": f"22:13:{20 + i}"} | stamp,
                                "network": interfaces,
                            }
                            for i in range(2)
                        ],
                        "restarts": [{"boot": {"date": "2023-11-14", "time": "22:13:20", "cpu_count": 8}}],
                    }
                    for name, stamp in hosts
                ]
            }
        }
    )


@pytest.mark.parametrize("stamp", [{"utc": 1}, {"tz": "UTC"}, {"tz": "GMT", "interval": 1}])
def test_every_version_of_sysstat_says_utc_in_its_own_way(tmp_path: Path, stamp: dict[str, Any]) -> None:
    found = series_of(table(tmp_path, sadf(("n1", stamp)), "sa.json"))

    assert found["n1", "eth0", "", "receive"] == ([0, 1], [1024, 1024])


@pytest.mark.parametrize("stamp", [{"utc": 0}, {"tz": "CST"}, {}])
def test_times_of_a_zone_that_has_several_meanings_are_refused(tmp_path: Path, stamp: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="without -t and -T"):
        read_counters(table(tmp_path, sadf(("n1", stamp)), "sa.json"))


@pytest.mark.parametrize("is_one_document", [True, False])
def test_several_hosts_in_one_file_keep_their_names(tmp_path: Path, *, is_one_document: bool) -> None:
    hosts = [("n1", {"utc": 1}), ("n2", {"utc": 1})]
    text = sadf(*hosts) if is_one_document else "\n".join(sadf(host) for host in hosts)

    found = series_of(table(tmp_path, text, "sa.json"))

    assert {key[0] for key in found} == {"n1", "n2"}
    assert all(values == [1024, 1024] for _, values in found.values())


# collectl


LEXPR = """sample.time {t}.003 22:13:20
cputotals.user 3
netinfo.kbin.eth0 5
netinfo.kbout.eth0 6
nettotals.kbin 11
iconnect.kbout 7
netinfo.kbin.eth1 -1
"""


def test_lines_of_lexpr_are_rates_at_the_time_above_them(tmp_path: Path) -> None:
    text = "".join(LEXPR.format(t=T0_S + i) for i in range(2))

    counters, problems = read_counters(table(tmp_path, text, "n4.lexpr"))

    assert {(s.host, s.device, s.direction, s.layer): v.tolist() for s, _, v, _ in counters} == {
        ("n4", "eth0", "receive", "netdev"): [5 * 1024] * 2,
        ("n4", "eth0", "transmit", "netdev"): [6 * 1024] * 2,
        ("n4", "all", "receive", "netdev"): [11 * 1024] * 2,
        ("n4", "all", "transmit", "rdma_vport"): [7 * 1024] * 2,
    }
    assert "line 7: 'netinfo.kbin.eth1 -1'" in problems[0]


def test_an_hour_that_comes_twice_is_taken_once(tmp_path: Path) -> None:
    rows = [(2, 58, 1), (2, 59, 2), (2, 0, 3), (2, 59, 4), (3, 0, 5)]  # 2023-10-29: 3:00 CEST is 2:00 CET
    text = (
        "# Host:       n4\n# Date:       20231029-025800  Secs: 1698541080 TZ: +0200\n#Date Time [NET:eth0]RxKB\n"
        + "".join(f"20231029 {hour:02}:{minute:02}:00 {rate}\n" for hour, minute, rate in rows)
    )

    counters, problems = read_counters(table(tmp_path, text, "c.tab"))

    assert counters[0][2].tolist() == [1024, 2 * 1024, 5 * 1024]
    assert "line 6" in problems[0]
    assert "with -oU, which prints UTC" in problems[0]


# perfquery


def test_a_port_reached_by_a_directed_route_is_named_by_it_and_a_sum_of_ports_is_said_to_be_one(tmp_path: Path) -> None:
    blocks = ["DR path slid 65535; dlid 65535; 0,1,3 port 1", "Lid 7 Gid fe80::1 port 2", "Lid 7 port 255"]
    text = "".join(f"# Port extended counters: {block} (CapMask: 0x1)\nPortXmitData:...1\n" for block in blocks)
    path = table(tmp_path, text, f"ib-{T0_S}.out")

    assert {key[1:3] for key in series_of(path)} == {("path0,1,3", "1"), ("lid7", "2"), ("lid7", "255")}
    assert "port 255 of lid7" in skipped(path, tmp_path / "lake")


def test_counters_of_32_bits_do_not_mix_with_those_of_64(tmp_path: Path) -> None:
    text = "".join(
        f"{T0_S + i}\n# Port {kind}counters: Lid 7 port 1 (CapMask: 0x1)\nPortXmitData:...{value}\n"
        for i, (kind, value) in enumerate([("extended ", 2**40), ("", 2**32 - 1), ("extended ", 2**40 + 1)])
    )
    path = table(tmp_path, text, "ib.out")

    assert series_of(path) == {("ib", "lid7", "1", "transmit"): ([0, 2], [2**42, 2**42 + 4])}
    assert "run perfquery -x alone" in skipped(path, tmp_path / "lake")


# Clocks


@pytest.mark.parametrize(
    ("text", "offset_s"),
    [
        ("2023-11-14T22:13:20+01:00", -3600),
        ("2023-11-14 22:13:20-08:00", 8 * 3600),
        ("2023-11-14T22:13:20+0530", -5.5 * 3600),
        ("2023-11-14T22:13:20Z", 0),
        ("n1-20231114-221320-1234.txt", 0),
    ],
)
def test_an_offset_after_a_time_counts(text: str, offset_s: float) -> None:
    assert time_in(text) == T0_S + offset_s


def test_readings_later_than_their_file_are_said_to_have_another_clock() -> None:
    last_s, coverages = T0_S, [Coverage(t_first_ns=T0_S * NS, t_last_ns=T0_S * NS) for _ in range(4)]

    for coverage, modified_s in zip(coverages, (last_s, last_s - 60, last_s - 3600, None), strict=True):
        note_clock(coverage, modified_s=modified_s)

    assert [[item.what for item in coverage.skipped] for coverage in coverages] == [[], [], ["clock"], []]
    assert "1 h after the file" in coverages[2].skipped[0].why.replace("60 min", "1 h")


def test_times_without_a_date_are_named_where_others_have_one() -> None:
    dated, undated, empty = (Coverage(t_first_ns=t, t_last_ns=t) for t in (T0_S * NS, T0_S * 1000, None))

    note_clocks([dated, undated, empty])
    alone = Coverage(t_first_ns=0, t_last_ns=1)
    note_clocks([alone])

    assert [len(coverage.skipped) for coverage in (dated, undated, empty, alone)] == [0, 1, 0, 0]
    assert "1970-01-01 00:28:20" in undated.skipped[0].why


@pytest.mark.parametrize(("factor", "unit"), [(1, "s"), (1000, "ms")])
def test_a_column_of_another_unit_than_its_name_is_refused(tmp_path: Path, factor: int, unit: str) -> None:
    rows = "".join(f"{(T0_S + i) * factor},{i}\n" for i in range(5))
    with pytest.raises(BadInput, match=f"look like {unit}: as ns"):
        read_counters(table(tmp_path, "t_ns,eth0.rx_bytes\n" + rows))


def test_times_since_a_start_are_not_taken_for_another_unit(tmp_path: Path) -> None:
    rows = "".join(f"{1_700_000_000 + i * 1_000_000},{i}\n" for i in range(5))

    counters, problems = read_counters(table(tmp_path, "t_ns,eth0.rx_bytes\n" + rows))

    assert problems == []
    assert counters[0][2].tolist() == list(range(5))
