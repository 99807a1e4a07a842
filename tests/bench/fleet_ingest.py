"""What it takes to ingest a fleet's dumps, beside a bare read of the same files.

``python -m tests.bench.fleet_ingest LAKE [--ports 10000] [--seconds 3600] [--form csv|parquet]`` leaves the lake and
its cluster file, for `tests.bench.fleet_run` and `tests.bench.queries`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from tests.bench.fleet import HOSTS_PER_RECORDING, Fleet, draw_host, write_cluster
from tests.bench.steps import MB, OFFBEAT, Step, run_step, steps_table

__all__ = ["FORMS", "IngestedFleet", "ingest_fleet", "ingested_table", "write_dumps"]

MAPPING: Final = """
host = { column = "host" }
device = { column = "device" }
time = { column = "t_ns", unit = "ns" }
counter = [
    { column = "rx_bytes", direction = "in", layer = "wire" },
    { column = "tx_bytes", direction = "out", layer = "wire" },
]
"""
FORMS: Final = ("csv", "parquet")
BARE_READ: Final = """
import sys, pyarrow.csv, pyarrow.parquet
pyarrow.set_cpu_count(1)
for path in sys.argv[1:]:
    if path.endswith(".csv"):
        for batch in pyarrow.csv.open_csv(path):
            pass
    else:
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches():
            pass
"""
"""Every cell is parsed, by Arrow's own readers, and dropped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestedFleet:
    """What became of a fleet: the bytes of its dumps and of its lake, and what was done."""

    fleet: Fleet
    form: str
    dump_bytes: int
    lake_bytes: int
    steps: tuple[Step, ...]


def ingest_fleet(root: Path, fleet: Fleet, *, form: str = "csv", folder: Path | None = None) -> IngestedFleet:
    """Ingest the dumps of a fleet into a new lake, and again; the dumps are in ``folder`` for a while."""
    with tempfile.TemporaryDirectory(dir=folder) as made:
        dumps = write_dumps(Path(made), fleet, form=form)
        mapping = Path(made) / "ports.toml"
        mapping.write_text(MAPPING, encoding="utf-8")
        paths = [str(path) for path in dumps]
        command = [*OFFBEAT, "ingest", *paths, "--lake", str(root), "--mapping", str(mapping), "--json"]
        steps = (
            run_step("bare read", [sys.executable, "-c", BARE_READ, *paths]),
            run_step("ingest", command),
            run_step("again, nothing new", command),
        )
        dump_bytes = sum(path.stat().st_size for path in dumps)
    write_cluster(root, fleet)
    lake_bytes = sum(path.stat().st_size for path in root.rglob("samples/**/*.parquet"))
    return IngestedFleet(fleet=fleet, form=form, dump_bytes=dump_bytes, lake_bytes=lake_bytes, steps=steps)


def write_dumps(folder: Path, fleet: Fleet, *, form: str) -> list[Path]:
    """Write tables as a monitoring system exports them: a row a port and poll, of several hosts, in order of time."""
    dumps: list[Path] = []
    for first in range(0, fleet.n_hosts, HOSTS_PER_RECORDING):
        hosts = range(first, min(first + HOSTS_PER_RECORDING, fleet.n_hosts))
        table = pa.concat_tables(port for i_host in hosts for port in _ports(fleet, i_host))
        table = table.take(np.argsort(table["t_ns"].to_numpy(), kind="stable"))
        path = folder / f"ports-{first:05d}.{form}"
        if form == "csv":
            pyarrow.csv.write_csv(table, path)
        else:
            pq.write_table(table, path)
        dumps.append(path)
    return dumps


def ingested_table(found: IngestedFleet) -> str:
    """Return a row a step, and what the lake takes."""
    ingest, n_samples = found.steps[1], found.fleet.n_samples
    rate, dumps = n_samples / 1e6, f"{found.dump_bytes / MB:.0f} MB of {found.form}"
    return "\n".join(
        [
            f"{found.fleet.n_ports} ports, {n_samples} samples in {dumps}",
            "",
            steps_table(found.steps),
            "",
            f"{rate / ingest.cpu_s:.2f} Msamples/s of CPU, {rate / ingest.wall_s:.2f} of wall; "
            f"{found.lake_bytes / n_samples:.2f} bytes a sample in the lake",
        ]
    )


def _ports(fleet: Fleet, i_host: int) -> Iterator[pa.Table]:
    """Yield the table of each port of a host; its two directions are read at once."""
    drawn = iter(draw_host(fleet, i_host))
    for (series, t_ns, sent), (_, _, received) in zip(drawn, drawn, strict=True):
        names = {name: _repeated(getattr(series, name), t_ns.size) for name in ("host", "device")}
        yield pa.table({"t_ns": t_ns, **names, "rx_bytes": received, "tx_bytes": sent})


def _repeated(name: str, n_rows: int) -> pa.Array:
    return pa.repeat(name, n_rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Ingest a fleet as the command line tells, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lake", type=Path)
    parser.add_argument("--ports", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--interval", type=float, default=1.0, help="seconds between reads")
    parser.add_argument("--form", choices=FORMS, default="csv")
    given = parser.parse_args(arguments)
    fleet = Fleet(n_ports=given.ports, duration_s=given.seconds, interval_s=given.interval)
    found = ingest_fleet(given.lake, fleet, form=given.form, folder=given.lake.parent)
    sys.stdout.write(ingested_table(found) + "\n")


if __name__ == "__main__":
    main()
