"""Every value of the real InfiniBand files, one by one, against a plain reader of each that shares no code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from profiler.importers import read_counters
from tests.data import shared
from tests.profiler.tables import table
from tests.profiler.ttar import read_ttar

if TYPE_CHECKING:
    from pathlib import Path

T0_S = 1_700_000_000
WORD_BYTES = 4

Values = dict[tuple[str, str, str, str], int]
"""By device, port, direction and metric."""


def read(path: Path) -> Values:
    counters, problems = read_counters(path)
    assert problems == []
    assert {t_ns.tolist()[0] for _, t_ns, _, _ in counters} == {T0_S * 10**9}
    assert all(value.size == 1 for _, _, value, _ in counters)
    return {(s.device, s.port, s.direction, s.metric): int(value[0]) for s, _, value, _ in counters}


FIELDS = {
    "PortXmitData": ("transmit", "bytes", WORD_BYTES),
    "PortRcvData": ("receive", "bytes", WORD_BYTES),
    "PortXmitPkts": ("transmit", "packets", 1),
    "PortRcvPkts": ("receive", "packets", 1),
}


@pytest.mark.parametrize(
    ("name", "n_ports"),
    [("506b4b03005c2740", 1), ("7cfe9003003b4b96", 1), ("7cfe9003003b4bde", 1), ("7cfe9003009ce5b0", 2)],
)
def test_every_port_of_perfquery(tmp_path: Path, name: str, n_ports: int) -> None:
    text = shared(f"infiniband/perfquery__0x{name}.out").read_text()
    wanted: Values = {}
    for block in text.split("# Port extended counters: Lid ")[1:]:
        lid, port = re.findall(r"\d+", block)[:2]
        for field, (direction, metric, scale) in FIELDS.items():
            (value,) = re.findall(rf"^{field}:\.+(\d+)$", block, re.MULTILINE)
            wanted[f"lid{lid}", port, direction, metric] = int(value) * scale

    assert len(wanted) == 4 * n_ports
    assert read(table(tmp_path, text, f"{name}-{T0_S}.out")) == wanted


PAGE = {
    "node_infiniband_legacy_data_received_bytes_total": ("receive", "bytes"),
    "node_infiniband_legacy_data_transmitted_bytes_total": ("transmit", "bytes"),
    "node_infiniband_legacy_packets_received_total": ("receive", "packets"),
    "node_infiniband_legacy_packets_transmitted_total": ("transmit", "packets"),
    "node_infiniband_port_data_received_bytes_total": ("receive", "bytes"),
    "node_infiniband_port_data_transmitted_bytes_total": ("transmit", "bytes"),
    "node_infiniband_port_packets_received_total": ("receive", "packets"),
    "node_infiniband_port_packets_transmitted_total": ("transmit", "packets"),
}


def test_every_metric_of_the_page_of_node_exporter(tmp_path: Path) -> None:
    text = shared("infiniband/e2e-infiniband-ethtool.prom").read_text()
    wanted: Values = {}
    for line in text.splitlines():
        found = re.fullmatch(r'(node_infiniband_\w+)\{device="(\w+)",port="(\d)"\} (\S+)', line)
        if found and found[1] in PAGE:
            wanted.setdefault((found[2], found[3], *PAGE[found[1]]), int(float(found[4])))
    for direction, way in (("receive", "received"), ("transmit", "transmitted")):
        for unit in ("bytes", "packets"):
            for device, value in re.findall(
                rf'^node_ethtool_{way}_{unit}_total\{{device="(\w+)"\}} (\S+)$', text, re.M
            ):
                wanted[device, "", direction, unit] = int(float(value))

    assert len({key[:2] for key in wanted}) >= 2
    assert read(table(tmp_path, text, f"n1-{T0_S}.prom")) == wanted


FILES = {
    ("transmit", "bytes"): (("counters_ext/port_xmit_data_64", "counters/port_xmit_data"), WORD_BYTES),
    ("receive", "bytes"): (("counters_ext/port_rcv_data_64", "counters/port_rcv_data"), WORD_BYTES),
    ("transmit", "packets"): (("counters_ext/port_xmit_packets_64", "counters/port_xmit_packets"), 1),
    ("receive", "packets"): (("counters_ext/port_rcv_packets_64", "counters/port_rcv_packets"), 1),
    ("transmit", "xmit_wait"): (("counters/port_xmit_wait", "counters/port_xmit_wait"), 1),
    ("receive", "out_of_sequence"): (("hw_counters/out_of_sequence", "hw_counters/out_of_sequence"), 1),
    ("transmit", "packet_seq_err"): (("hw_counters/packet_seq_err", "hw_counters/packet_seq_err"), 1),
}


@pytest.mark.parametrize(("name", "n_ports"), [("procfs_class_infiniband", 4), ("class_infiniband", 2)])
def test_every_port_of_a_saved_tree(tmp_path: Path, name: str, n_ports: int) -> None:
    archive = shared(f"infiniband/{name}.ttar")
    files = {path.rpartition("class/infiniband/")[2]: text for path, text in read_ttar(archive).items()}
    wanted: Values = {}
    for path, text in files.items():
        port = re.fullmatch(r"(\w+)/ports/(\d)/state", path)
        if port is None or text.strip() != "4: ACTIVE":
            continue
        for (direction, metric), (names, scale) in FILES.items():
            texts = [files.get(f"{port[1]}/ports/{port[2]}/{file}", "").strip() for file in names]
            values = [int(text) for text in texts if text.isdecimal()]
            if values:
                wanted[port[1], port[2], direction, metric] = values[0] * scale

    assert len({key[:2] for key in wanted}) == n_ports
    assert read(table(tmp_path, archive.read_bytes(), f"n1-{T0_S}.ttar")) == wanted


def test_every_statistic_of_ethtool(tmp_path: Path) -> None:
    text = shared("infiniband/ethtool_eth0_statistics.txt").read_text()
    wanted = {
        ("eth0", "", "receive" if way == "rx" else "transmit", unit): int(value)
        for way, unit, value in re.findall(r"^ +(rx|tx)_(bytes|packets): (\d+)$", text, re.MULTILINE)
    }

    assert wanted
    assert read(table(tmp_path, text, f"n1-{T0_S}.txt")) == wanted
