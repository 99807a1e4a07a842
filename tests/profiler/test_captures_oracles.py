"""Oracles: that others see in the traps what we say is there, and the reader in real captures what others see."""

from __future__ import annotations

import shutil
from collections import Counter
from typing import TYPE_CHECKING, Final

import pytest

from profiler.importers import Options
from profiler.importers.capture import CAPTURE
from profiler.importers.inputs import Input
from profiler.importers.sink import MemorySink
from tests.data import REAL_CAPTURES, SHARED_DATA, shared
from tests.profiler.captures_oracles import (
    Totals,
    capinfos_totals,
    scapy_flow,
    scapy_totals,
    totals_of,
    tshark_flows,
    tshark_packets,
)
from tests.profiler.captures_traps import TRAPS, write_traps
from tests.profiler.captures_truth import Ends, Trap

if TYPE_CHECKING:
    from pathlib import Path

FOLDER: Final = "captures"
CUSTOM_BLOCK: Final = "data"
BEYOND_TSHARK_NS: Final = {
    "tcpdump__timestamp_invalid_nano.pcap": (1418145369_999_999_999, 1418145370_000_000_000 + 2_147_483_648)
}
"""Times by arithmetic: of the second packet's fraction tshark turns the sign."""
BY_SCAPY: Final = [name for name, trap in TRAPS.items() if "scapy" not in trap.flows_wrong and trap.is_of_one_link]
N_LEAST: Final = 41
"""Traps that the project's targets were measured on."""

needs_wireshark = pytest.mark.skipif(
    shutil.which("capinfos") is None or shutil.which("tshark") is None, reason="capinfos and tshark are not installed"
)


def truth_of(trap: Trap) -> Totals:
    return Totals(len(trap.packets), trap.wire_bytes, *trap.span_ns)


# Traps


def test_there_are_more_traps_than_the_targets_were_measured_on() -> None:
    assert len(TRAPS) > N_LEAST
    assert {path.name for path in (SHARED_DATA / FOLDER).glob("*")} <= set(REAL_CAPTURES)


@needs_wireshark
def test_capinfos_counts_in_the_traps_what_was_written(tmp_path: Path) -> None:
    write_traps(tmp_path)
    expected = {name: truth_of(trap) for name, trap in TRAPS.items() if "capinfos" not in trap.totals_wrong}

    found = capinfos_totals([tmp_path / name for name in expected])

    assert found == expected


@pytest.mark.filterwarnings("ignore")
def test_scapy_counts_in_the_traps_what_was_written(tmp_path: Path) -> None:
    write_traps(tmp_path)
    expected = {name: truth_of(trap) for name, trap in TRAPS.items() if "scapy" not in trap.totals_wrong}

    assert {name: scapy_totals(tmp_path / name) for name in expected} == expected


@needs_wireshark
def test_tshark_names_the_flows_of_the_traps_as_we_do(tmp_path: Path) -> None:
    traps = [trap for trap in TRAPS.values() if "tshark" not in trap.flows_wrong and trap.is_of_one_link]
    shown = [(trap.link, packet.data, packet.written_bytes) for trap in traps for packet in trap.packets]
    expected = [(trap.name, packet.ends) for trap in traps for packet in trap.packets]

    found = tshark_flows(shown, tmp_path)

    assert list(zip((name for name, _ in expected), found, strict=True)) == expected


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", BY_SCAPY)
def test_scapy_names_the_flows_of_the_traps_as_we_do(name: str) -> None:
    trap = TRAPS[name]
    for packet in trap.packets[:10]:
        assert scapy_flow(trap.link, packet.data) == packet.ends


# Real captures


@needs_wireshark
@pytest.mark.parametrize("name", REAL_CAPTURES)
def test_real_capture_holds_what_tshark_sees_in_it(name: str) -> None:
    path = shared(f"{FOLDER}/{name}")
    sink = MemorySink()
    coverage = CAPTURE.read(Input(name=name, path=path), sink, Options())
    seen = [packet for packet in tshark_packets(path) if packet.protocols != CUSTOM_BLOCK]
    flows = Counter[Ends]()
    for row in sink.flows[0].to_pylist():
        flows[Ends(*(row[key] for key in Ends._fields))] += row["packets"]

    assert coverage.problems == []
    counts = coverage.totals["packets"], coverage.totals["wire_bytes"]
    times_ns = coverage.t_first_ns, coverage.t_last_ns
    expected = totals_of(seen)
    assert counts == expected[:2]
    assert times_ns == BEYOND_TSHARK_NS.get(name, expected[2:])
    assert flows == Counter(packet.ends for packet in seen)
