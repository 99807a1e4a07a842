"""Small inputs of importers, and what became of them."""

from __future__ import annotations

import io
import tarfile
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from tests.profiler.frames import ethernet, ipv4, pcap, ports

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from profiler.importers import IngestReport
    from profiler.store import Lake

__all__ = ["CAPTURE", "FRAME", "TABLE", "n_samples", "put", "statuses", "tar_of"]

TABLE = "t_ns,eth0.rx_bytes\n1000,1\n2000,3\n"
FRAME = ethernet(ipv4(ports(1000, 2000), ("10.0.0.1", "10.0.0.2"), proto=6), 0x0800)
CAPTURE = pcap([(1, 0, FRAME, 100), (1, 2500, FRAME, 200)])


def statuses(report: IngestReport) -> list[str]:
    return [found.status for found in report.inputs]


def n_samples(lake: Lake) -> int:
    return sum(pq.read_metadata(path).num_rows for path in lake.files("samples"))


def put(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def tar_of(path: Path, members: Iterable[tuple[str, bytes]]) -> Path:
    with tarfile.open(path, "w:xz") as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path
