"""How many of the trap captures each tool counts exactly: packets, bytes on the wire, first and last time; and flows.

Run alone with ``python -m tests.bench.captures_exact [--verbose]``; a minute, most of it to start
tshark for every trap.
"""

from __future__ import annotations

import argparse
import logging
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from profiler.errors import BadInput
from profiler.importers import Options
from profiler.importers.capture import CAPTURE
from profiler.importers.inputs import Input
from profiler.importers.sink import MemorySink
from tests.bench.tables import layout
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
from tests.profiler.captures_truth import Ends

__all__ = ["TOOLS", "Exactness", "exact_table", "run_exact"]

NOT_READ: Final = Ends(src="not read")
PROGRAMS: Final = ("capinfos", "tshark")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exactness:
    """Of one tool the traps that it falls into, and of how many it was asked for flows."""

    tool: str
    totals_wrong: tuple[str, ...]
    flows_wrong: tuple[str, ...] = ()
    n_flows_asked: int = 0


def run_exact(tools: Iterable[str], *, folder: Path) -> list[Exactness]:
    """Return what each tool gets wrong; those that are not installed are left out."""
    write_traps(folder)
    return [TOOLS[tool](folder) for tool in tools if tool not in PROGRAMS or shutil.which(tool)]


def exact_table(found: Iterable[Exactness]) -> str:
    """Return one row a tool."""
    n_traps = len(TRAPS)
    rows = [["tool", "totals and times exact", "flows exact"]]
    for one in found:
        flows = f"{one.n_flows_asked - len(one.flows_wrong)} of {one.n_flows_asked}" if one.n_flows_asked else "-"
        rows.append([one.tool, f"{n_traps - len(one.totals_wrong)} of {n_traps}", flows])
    return layout(rows)


def _ours(folder: Path) -> Exactness:
    totals: dict[str, Totals | None] = {}
    flows: dict[str, set[tuple[Ends, int]]] = {}
    for name in TRAPS:
        sink = MemorySink()
        try:
            coverage = CAPTURE.read(Input(name=name, path=folder / name), sink, Options())
        except BadInput:
            flows[name] = set()
            continue
        counts = coverage.totals["packets"], coverage.totals["wire_bytes"]
        totals[name] = Totals(*counts, coverage.t_first_ns, coverage.t_last_ns)
        flows[name] = _added(
            (Ends(*(row[key] for key in Ends._fields)), row["packets"])
            for table in sink.flows
            for row in table.to_pylist()
        )
    return Exactness(
        tool="ours", totals_wrong=_wrong_totals(totals), flows_wrong=_wrong_flows(flows), n_flows_asked=len(flows)
    )


def _by_capinfos(folder: Path) -> Exactness:
    totals = capinfos_totals([folder / name for name in TRAPS])
    return Exactness(tool="capinfos", totals_wrong=_wrong_totals(totals))


def _by_tshark(folder: Path) -> Exactness:
    totals = {name: totals_of(tshark_packets(folder / name)) for name in TRAPS}
    shown = [(trap.link, packet) for trap in TRAPS.values() if trap.is_of_one_link for packet in trap.packets]
    ends = iter(tshark_flows(((link, packet.data, packet.written_bytes) for link, packet in shown), folder))
    flows = {name: _added((next(ends), 1) for _ in trap.packets) for name, trap in TRAPS.items() if trap.is_of_one_link}
    return Exactness(
        tool="tshark", totals_wrong=_wrong_totals(totals), flows_wrong=_wrong_flows(flows), n_flows_asked=len(flows)
    )


def _by_scapy(folder: Path) -> Exactness:
    totals = {name: scapy_totals(folder / name) for name in TRAPS}
    flows = {
        name: _added((scapy_flow(trap.link, packet.data) or NOT_READ, 1) for packet in trap.packets)
        for name, trap in TRAPS.items()
        if trap.is_of_one_link
    }
    return Exactness(
        tool="scapy", totals_wrong=_wrong_totals(totals), flows_wrong=_wrong_flows(flows), n_flows_asked=len(flows)
    )


TOOLS: Final[dict[str, Callable[[Path], Exactness]]] = {
    "ours": _ours,
    "capinfos": _by_capinfos,
    "tshark": _by_tshark,
    "scapy": _by_scapy,
}


def _added(flows: Iterable[tuple[Ends, int]]) -> set[tuple[Ends, int]]:
    """Return flows with the packets of each."""
    packets: dict[Ends, int] = {}
    for ends, n_packets in flows:
        packets[ends] = packets.get(ends, 0) + n_packets
    return set(packets.items())


def _wrong_totals(found: dict[str, Totals] | dict[str, Totals | None]) -> tuple[str, ...]:
    return tuple(
        name
        for name, trap in TRAPS.items()
        if found.get(name) != Totals(len(trap.packets), trap.wire_bytes, *trap.span_ns)
    )


def _wrong_flows(found: dict[str, set[tuple[Ends, int]]]) -> tuple[str, ...]:
    return tuple(
        name
        for name, flows in found.items()
        if flows != {(ends, flow.n_packets) for ends, flow in TRAPS[name].flows.items()}
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--verbose", action="store_true", help="name every trap that a tool falls into")
    is_verbose = parser.parse_args().verbose
    logging.getLogger("scapy").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as made:
        results = run_exact(TOOLS, folder=Path(made))
    sys.stdout.write(f"{exact_table(results)}\n")
    for result in results if is_verbose else ():
        for what, names in (("totals", result.totals_wrong), ("flows", result.flows_wrong)):
            sys.stdout.writelines(f"{result.tool}: {what}: {name}\n" for name in names)
