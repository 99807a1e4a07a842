"""Real inputs that tests compare with: the rig's recordings and their truth, and what others recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest
from numpy.typing import NDArray

from profiler.importers import read_counters
from profiler.rates import rate_series

if TYPE_CHECKING:
    from profiler.signals import RateSeries

__all__ = ["REAL_CAPTURES", "ROOT", "SAMPLE_DATA", "SHARED_DATA", "rates_of", "shared", "truth_of"]

ROOT = Path(__file__).parents[1]
SAMPLE_DATA = ROOT / "sample_data"
SHARED_DATA = ROOT.parent / "shared" / "data"
REAL_CAPTURES: Final = (
    "PcapPlusPlus__GrePackets.cap",
    "PcapPlusPlus__VlanPackets.pcap",
    "PcapPlusPlus__nanosecs.pcap",
    "PcapPlusPlus__nanosecs_big_endian.pcap",
    "PcapPlusPlus__pcapng-example.pcapng.zst",
    "PcapPlusPlus__sll.pcap",
    "PcapPlusPlus__sll2.pcap",
    "pcap-parser__modified-format.pcap",
    "pcapng-test-generator__test011.pcapng",
    "pcapng-test-generator__test102.pcapng",
    "pcapng-test-generator__test202.pcapng",
    "tcpdump__802.1ad_QinQ.pcap",
    "tcpdump__gso-ipv4-vxlan-ipv4.pcap",
    "tcpdump__timestamp_invalid_nano.pcap",
)
"""Files of the shared folder ``captures``, by name: all of them."""


def shared(name: str) -> Path:
    """Return a file of the shared data, or skip the test where the folder is missing."""
    path = SHARED_DATA / name
    if not path.exists():
        pytest.skip(f"{path} is not here: the shared data is not part of the project")
    return path


def rates_of(path: Path) -> dict[tuple[str, str], RateSeries]:
    """Return each series of a table by device and direction."""
    counters, problems = read_counters(path)
    assert not problems
    return {(s.device, s.direction): rate_series(s, t_ns=t_ns, value=value) for s, t_ns, value, _ in counters}


def truth_of(path: Path) -> dict[str, NDArray[np.int64]]:
    """Return each job's iterations as the job itself logged them: [start, communication start, end] in ns."""
    log = json.loads(path.read_text(encoding="utf-8"))
    return {job: np.array(rows, dtype=np.int64) for job, rows in log.items()}
