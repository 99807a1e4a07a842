"""What command-line tools print of counters: perfquery, ethtool, sadf, collectl."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from profiler.errors import BadInput
from profiler.importers import read_counters
from profiler.rates import rate_series
from tests.data import shared
from tests.profiler.tables import table

if TYPE_CHECKING:
    from pathlib import Path

NS = 10**9
T0_S = 1_700_000_000


def counters_of(path: Path, **told: Any) -> dict[tuple[str, str, str, str], tuple[list[int], list[int]]]:
    """Return times and values by device, port, direction and layer of bytes; nothing may be wrong."""
    counters, problems = read_counters(path, **told)
    assert problems == []
    return {
        (s.device, s.port, s.direction, s.layer): (t_ns.tolist(), value.tolist())
        for s, t_ns, value, _ in counters
        if s.metric in ("bytes", "bytes_per_s")
    }


# perfquery

BLOCK = """# Port extended counters: Lid 7 port 1 (CapMask: 0x5300)
PortSelect:......................1
PortXmitData:....................{sent}
PortRcvData:.....................{received}
PortXmitPkts:....................3
"""


def test_words_of_perfquery_are_four_bytes_and_times_between_blocks_are_theirs(tmp_path: Path) -> None:
    text = "".join(f"{T0_S + i}.5\n" + BLOCK.format(sent=10 * i, received=2**60 + i) for i in range(3))

    found = counters_of(table(tmp_path, text, "ib.out"))

    times = [(T0_S + i) * NS + NS // 2 for i in range(3)]
    assert found["lid7", "1", "transmit", "wire"] == (times, [0, 40, 80])
    assert found["lid7", "1", "receive", "wire"] == (times, [4 * (2**60 + i) for i in range(3)])


@pytest.mark.parametrize("name", ["506b4b03005c2740", "7cfe9003003b4b96", "7cfe9003003b4bde", "7cfe9003009ce5b0"])
def test_real_outputs_of_perfquery_are_read_to_the_word(tmp_path: Path, name: str) -> None:
    text = shared(f"infiniband/perfquery__0x{name}.out").read_text()

    found = counters_of(table(tmp_path, text, f"{name}-{T0_S}.out"))

    words = re.findall(r"^Port(?:Xmit|Rcv)Data:\.*(\d+)$", text, re.MULTILINE)
    assert sorted(value for _, (value,) in found.values()) == sorted(4 * int(word) for word in words)


def test_counters_that_are_not_extended_have_32_bits(tmp_path: Path) -> None:
    text = BLOCK.replace(" extended", "").format(sent=1, received=2)

    counters, _ = read_counters(table(tmp_path, text, f"ib-{T0_S}.out"))

    assert {series.width_bits for series, _, _, _ in counters} == {32}


def test_blocks_of_one_port_without_times_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="more than once"):
        read_counters(table(tmp_path, BLOCK.format(sent=1, received=2) * 2, f"ib-{T0_S}.out"))


def test_a_value_that_is_no_number_is_named_and_the_rest_read(tmp_path: Path) -> None:
    counters, problems = read_counters(table(tmp_path, BLOCK.format(sent="N/A", received=2), f"ib-{T0_S}.out"))

    assert [value.tolist() for series, _, value, _ in counters if series.metric == "bytes"] == [[8]]
    assert "line 3" in problems[0]


def test_an_empty_output_of_perfquery_is_refused() -> None:
    with pytest.raises(BadInput, match="empty"):
        read_counters(shared("infiniband/perfquery__0x506b4b0300cc02a6.out"))


# ethtool


def test_counters_of_ethtool_are_told_apart_by_layer(tmp_path: Path) -> None:
    counts = {"rx_bytes": 1, "tx_bytes": 2, "rx_bytes_phy": 3, "rx_vport_rdma_unicast_bytes": 4, "rx3_bytes": 5}
    text = "# ethtool -S eth3\nNIC statistics:\n" + "".join(f"     {name}: {value}\n" for name, value in counts.items())

    found = counters_of(table(tmp_path, text, f"n1-{T0_S}.txt"))

    assert {key[0] for key in found} == {"eth3"}
    assert {(key[2], key[3]): value for key, (_, value) in found.items()} == {
        ("receive", "netdev"): [1],
        ("transmit", "netdev"): [2],
        ("receive", "wire"): [3],
        ("receive", "rdma_vport"): [4],
    }


def test_real_text_of_ethtool_has_packets_alone(tmp_path: Path) -> None:
    text = shared("infiniband/ethtool_eth0_statistics.txt").read_text()

    counters, problems = read_counters(table(tmp_path, text, f"n1-{T0_S}.txt"))

    assert problems == []
    assert {(s.device, s.metric, s.direction): v.tolist() for s, _, v, _ in counters} == {
        ("eth0", "packets", "transmit"): [961500],
        ("eth0", "packets", "receive"): [1260062],
    }


# sadf


def sadf(*rates: float | None, utc: int = 1, iface: str = "eth0") -> str:
    records = [
        {
            "timestamp": {"date": "2023-11-14", "time": f"22:13:{20 + i}", "utc": utc, "interval": 1},
            "network": {"net-dev": [{"iface": iface, "rxkB": rate, "txkB": 0.5}]},
        }
        for i, rate in enumerate(rates)
        if rate is not None
    ]
    return json.dumps({"sysstat": {"hosts": [{"nodename": "n9", "statistics": records}]}})


def test_kilobytes_of_sar_are_1024_bytes_and_its_rates_are_means_over_intervals(tmp_path: Path) -> None:
    path = table(tmp_path, sadf(1.0, 2.0, 3.0, 4.0), "sa.json")
    ((series, t_ns, value, _), (sent, _, _, _)), problems = read_counters(path)

    rate = rate_series(series, t_ns=t_ns, value=value)

    assert problems == []
    assert (series.host, series.device, series.direction, sent.direction) == ("n9", "eth0", "receive", "transmit")
    assert t_ns.tolist() == [(T0_S + i) * NS for i in range(4)]
    np.testing.assert_allclose(rate.rate_bps, np.array([2, 3, 4]) * 1024 * 8)


def test_an_interval_that_sar_missed_is_a_hole_not_a_rate(tmp_path: Path) -> None:
    text = sadf(*[1.0] * 10, *[None] * 10, *[2.0] * 10)
    ((series, t_ns, value, _), _), _ = read_counters(table(tmp_path, text, "sa.json"))

    rate = rate_series(series, t_ns=t_ns, value=value)

    assert np.flatnonzero(~rate.known).tolist() == [9]


def test_local_times_of_sar_are_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="without -t and -T"):
        read_counters(table(tmp_path, sadf(1.0, utc=0), "sa.json"))


def test_sar_without_interfaces_says_what_to_ask_for(tmp_path: Path) -> None:
    text = sadf(1.0).replace("net-dev", "net-nfs")
    with pytest.raises(BadInput, match="-n DEV"):
        read_counters(table(tmp_path, text, "sa.json"))


# collectl

COLLECTL = """################################################################################
# Collectl:   V4.3.1-1  HiRes: 1  Options: -sNX -P
# Host:       n4  DaemonOpts:
# Date:       20231114-221320  Secs: 1700000000 TZ: {zone}
# SubSys:     NX Options: {options} Interval: 2 NumCPUs: 4
################################################################################
#Date Time [CPU]User% [NET:eth0]RxKB [NET:eth0]TxKB [IB:mlx5_0:1]InKB [IB:mlx5_0:1]OutKB
20231114 {hour}:13:20 3 1 2 3 4
20231114 {hour}:13:22.500 3 5 6 7 8
"""


@pytest.mark.parametrize(("zone", "hour"), [("+0000", 22), ("-0500", 17), ("+0130", 23)])
def test_columns_of_collectl_are_ports_and_its_zone_is_heeded(tmp_path: Path, zone: str, hour: int) -> None:
    text = COLLECTL.format(zone=zone, hour=hour, options="")
    if zone == "+0130":
        text = text.replace("23:13:", "23:43:")

    found = counters_of(table(tmp_path, text, "collectl.tab"))

    times = [T0_S * NS, T0_S * NS + 5 * NS // 2]
    assert found == {
        ("eth0", "", "receive", "netdev"): (times, [1024, 5 * 1024]),
        ("eth0", "", "transmit", "netdev"): (times, [2 * 1024, 6 * 1024]),
        ("mlx5_0", "1", "receive", "rdma_vport"): (times, [3 * 1024, 7 * 1024]),
        ("mlx5_0", "1", "transmit", "rdma_vport"): (times, [4 * 1024, 8 * 1024]),
    }


def test_amounts_of_an_interval_are_made_rates(tmp_path: Path) -> None:
    found = counters_of(table(tmp_path, COLLECTL.format(zone="+0000", hour=22, options="n"), "c.tab"))

    assert found["eth0", "", "receive", "netdev"][1] == [512, 5 * 512]


def test_rows_of_collectl_that_are_cut_are_named(tmp_path: Path) -> None:
    text = COLLECTL.format(zone="+0000", hour=22, options="") + "20231114 22:13:24 3 1\n"

    counters, problems = read_counters(table(tmp_path, text, "c.tab"))

    assert len(counters[0][1]) == 2
    assert "line 10" in problems[0]
