"""Every table of the lake: columns, types, units and meanings. The only place where a column is defined.

`TABLES` maps a table's name to its `Table`; Arrow schemas, Parquet field metadata and the documentation derive from it.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

__all__ = ["SCHEMA_VERSION", "TABLES", "Column", "Flag", "Table", "arrow_schema"]

SCHEMA_VERSION: Final = 2
"""Raised when an older Offbeat would read a lake wrongly; tables and nullable columns that are new it does not show."""


class Flag(enum.IntFlag):
    """What is known to be wrong with a sample; the bits of ``samples.flags``."""

    NONE = 0
    RESET = 1
    """The counter stepped back to a small value: driver reload or reboot; ``epoch`` goes up by one."""
    WRAP = 2
    """The counter passed its width; the bytes are known."""
    SATURATED = 4
    """The counter stands at its maximum (InfiniBand 32-bit counters stick there)."""
    MISSED = 8
    """The recorder missed at least one tick before this sample."""
    STALE = 16
    """A re-read of a value that the device had not refreshed."""
    INTERPOLATED = 32
    """Computed between two reads, not read."""
    IMPOSSIBLE = 64
    """A rate that the link cannot carry, or a value that cannot be."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: name, Arrow type, unit ("" where it has none) and meaning."""

    name: str
    type: pa.DataType
    unit: str
    meaning: str
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """One table of the lake; the first ``n_key`` columns are its key."""

    name: str
    meaning: str
    n_key: int
    columns: tuple[Column, ...]

    @property
    def key(self) -> tuple[str, ...]:
        """Names of the key columns."""
        return tuple(column.name for column in self.columns[: self.n_key])


def _text(name: str, meaning: str, *, nullable: bool = True) -> Column:
    return Column(name, pa.string(), "", meaning, nullable)


def _real(name: str, unit: str, meaning: str) -> Column:
    return Column(name, pa.float64(), unit, meaning)


def _whole(name: str, unit: str, meaning: str, *, nullable: bool = True) -> Column:
    return Column(name, pa.int64(), unit, meaning, nullable)


_SERIES_ID: Final = Column(
    "series_id", pa.uint64(), "", "hash of host, device, port, direction, metric, layer", nullable=False
)

_CLOCK: Final = (
    _real("refresh_s", "s", "interval of the counter's own clock; null: none was found"),
    Column("knots_ns", pa.list_(pa.int64()), "ns", "times between which that clock ticks evenly, UTC epoch"),
    Column("knots_ticks", pa.list_(pa.float64()), "", "its ticks up to each of these times"),
)

TABLES: Final[dict[str, Table]] = {
    table.name: table
    for table in (
        Table(
            "samples",
            "counter readings; one row a read",
            2,
            (
                _SERIES_ID,
                _whole("t_ns", "ns", "end of the window, UTC epoch", nullable=False),
                Column(
                    "window_ns", pa.int32(), "ns", "time the value covers or was read in; 0 if a point", nullable=False
                ),
                _whole("value", "canonical unit of the series", "bytes, packets or events", nullable=False),
                Column("flags", pa.uint16(), "", "bits of profiler.schema.Flag", nullable=False),
                Column(
                    "epoch", pa.int32(), "", "number of resets seen before; of a capture, its number", nullable=False
                ),
            ),
        ),
        Table(
            "series",
            "what each series of samples counts",
            1,
            (
                _SERIES_ID,
                _text("host", "host or switch that has the counter", nullable=False),
                _text("device", "interface or RDMA device", nullable=False),
                _text("port", "port of the device; empty where it has but one", nullable=False),
                _text("direction", "transmit or receive, seen from the device", nullable=False),
                _text("metric", "bytes, bytes_per_s (of gauges), packets or the event's name", nullable=False),
                _text("unit", "canonical unit of samples.value", nullable=False),
                _text("kind", "counter (cumulative), delta (bytes of the window) or gauge", nullable=False),
                _text("layer", "rdma_vport, wire, netdev, socket, capture or collective", nullable=False),
                _text("raw_name", "the source's own name, such as port_xmit_data", nullable=False),
                _real("raw_scale", "canonical unit per raw unit", "4 for InfiniBand words"),
                Column("width_bits", pa.int16(), "bit", "width at which the raw counter wraps"),
                _text("source", "file, collector or capture it came from", nullable=False),
            ),
        ),
        Table(
            "flows",
            "packet flows of captures",
            1,
            (
                Column("flow_id", pa.uint64(), "", "hash of the flow's row and of its place", nullable=False),
                _text("src", "source address"),
                _text("dst", "destination address"),
                Column("sport", pa.int32(), "", "source port"),
                Column("dport", pa.int32(), "", "destination port"),
                Column("proto", pa.int16(), "", "IP protocol number"),
                Column("qp", pa.int32(), "", "RoCE destination queue pair; null where not RDMA"),
                _whole("first_ns", "ns", "first packet, UTC epoch"),
                _whole("last_ns", "ns", "last packet, UTC epoch"),
                _whole("bytes", "bytes", "on the wire, headers included"),
                _whole("packets", "packets", "count"),
                _whole("payload_bytes", "bytes", "inside the headers of the innermost packet"),
                _whole("send_packets", "packets", "RDMA SENDs; this and all that follow are null where not RDMA"),
                _whole("write_packets", "packets", "RDMA WRITEs"),
                _whole("read_request_packets", "packets", "requests of RDMA READs, which flow against their data"),
                _whole("read_response_packets", "packets", "answers to RDMA READs, with the data"),
                _whole("ack_packets", "packets", "acknowledgements, negative ones included"),
                _whole("atomic_packets", "packets", "atomic operations and their answers"),
                _whole("cnp_packets", "packets", "congestion notifications to the sender of the other direction"),
                _whole("read_bytes", "bytes", "payload of answers to READs, in the direction in which it flows"),
                _whole("repeated_packets", "packets", "requests and answers whose sequence number came before"),
                _text("point", "where it was captured: host and interface; empty where neither is told"),
            ),
        ),
        Table(
            "links",
            "cables of the network",
            1,
            (
                _text("link_id", "name", nullable=False),
                _text("a", "one end, node:port", nullable=False),
                _text("b", "other end, node:port", nullable=False),
                _text("tier", "host, leaf, spine"),
                _real("capacity_bps", "bit/s", "in each direction"),
                _text("state", "up or down"),
                _whole("valid_from_ns", "ns", "known from"),
                _whole("valid_to_ns", "ns", "known to; null: still"),
            ),
        ),
        Table(
            "jobs",
            "training jobs",
            1,
            (
                _text("job_id", "name", nullable=False),
                Column("n_ranks", pa.int32(), "", "number of ranks placed"),
                _text("source", "scheduler or file it is known from"),
                _text("pattern", "ring or all_to_all: who of its ranks speaks to whom"),
                _whole("start_ns", "ns", "runs from"),
                _whole("end_ns", "ns", "runs to; null: still"),
            ),
        ),
        Table(
            "placements",
            "where each rank of a job runs",
            2,
            (
                _text("job_id", "job", nullable=False),
                Column("rank", pa.int32(), "", "rank", nullable=False),
                _text("host", "host it runs on", nullable=False),
                _text("device", "interface or RDMA device it sends on"),
                _text("port", "port of the device"),
            ),
        ),
        Table(
            "addresses",
            "which host, and where it is known which port, each address of the network is",
            1,
            (
                _text("address", "IPv4, IPv6 or GID as captures write it, or lid and its number", nullable=False),
                _text("host", "host that has it", nullable=False),
                _text("device", "interface or RDMA device that has it; null: any of the host's"),
                _text("port", "port of the device"),
            ),
        ),
        Table(
            "paths",
            "links that a job's traffic takes",
            3,
            (
                _text("job_id", "job", nullable=False),
                _text("link_id", "link", nullable=False),
                _text("direction", "forward (a to b) or backward", nullable=False),
                _real("weight_frac", "", "load on the link over one rank's transmit rate, ECMP included"),
            ),
        ),
        Table(
            "profiles",
            "one row a series: its iteration period",
            1,
            (
                _SERIES_ID,
                _text(
                    "status",
                    "periodic, aperiodic, constant, idle, undersampled, insufficient, no_data",
                    nullable=False,
                ),
                _text("reason", "why this status"),
                _real("period_s", "s", "iteration period"),
                _real("period_low_s", "s", "95 % interval, lower end"),
                _real("period_high_s", "s", "95 % interval, upper end"),
                _real("p90_period_s", "s", "nine of ten iterations take at most this"),
                _real("confidence", "", "calibrated, 0 to 1"),
                _real("n_cycles", "", "iterations seen"),
                _real("jitter_frac", "", "robust standard deviation of iteration length over period"),
                _real("mean_bps", "bit/s", "mean rate"),
                _real("peak_bps", "bit/s", "rate during Up"),
                _real("duty_frac", "", "time Up over period"),
                _real("repeated_frac", "", "part of the readings that repeat the one before amid traffic; null: none"),
                _real("need_more_s", "s", "seconds still to observe"),
                _whole("anchor_ns", "ns", "start of an Up phase, UTC epoch"),
                _whole("from_ns", "ns", "start of the time analysed"),
                _whole("to_ns", "ns", "end of the time analysed"),
                *_CLOCK,
            ),
        ),
        Table(
            "profile_history",
            "one row a series and time range: what its iteration period was then",
            2,
            (
                _SERIES_ID,
                _whole("from_ns", "ns", "start of the time range", nullable=False),
                _whole("to_ns", "ns", "end of the time range", nullable=False),
                _whole("analysed_ns", "ns", "start of the analysis that found it, UTC epoch", nullable=False),
                _text("status", "as of profiles", nullable=False),
                _text("reason", "why this status"),
                _real("period_s", "s", "iteration period"),
                _real("period_low_s", "s", "95 % interval, lower end"),
                _real("period_high_s", "s", "95 % interval, upper end"),
                _real("p90_period_s", "s", "nine of ten iterations take at most this"),
                _real("confidence", "", "calibrated, 0 to 1"),
                _real("n_cycles", "", "iterations seen"),
                _real("jitter_frac", "", "robust standard deviation of iteration length over period"),
                _real("mean_bps", "bit/s", "mean rate"),
                _real("peak_bps", "bit/s", "rate during Up"),
                _real("duty_frac", "", "time Up over period"),
                _whole("anchor_ns", "ns", "start of an Up phase, UTC epoch"),
                _text("shard", "key of the files, ports, time and version that gave the row"),
                *_CLOCK,
            ),
        ),
        Table(
            "runs",
            "one row an analysis: when, how long, what was found and what had changed",
            1,
            (
                _whole("run_ns", "ns", "when it began, UTC epoch", nullable=False),
                _real("duration_s", "s", "how long it took"),
                _real("window_s", "s", "length of the closed time ranges"),
                _whole("n_series", "", "series profiled, now or before"),
                _whole("n_profiled", "", "series profiled anew, counted once a time range"),
                _whole("n_periodic", "", "series that have a period"),
                _whole("n_jobs", "", "jobs that have a period"),
                _whole("n_links", "", "links and directions on which jobs meet"),
                _whole("n_skipped", "", "what could not be used, read or computed"),
                _whole("n_changes", "", "what is not as it was found before"),
                _text("changes", "in words, one a line"),
                _text("tool_version", "of offbeat"),
            ),
        ),
        Table(
            "phases",
            "one row a phase of a profile",
            2,
            (
                _SERIES_ID,
                Column("i_phase", pa.int32(), "", "order in the iteration", nullable=False),
                _text("kind", "up or down", nullable=False),
                _real("start_s", "s", "from the iteration's first Up phase"),
                _real("width_s", "s", "median"),
                _real("width_low_s", "s", "lower quartile"),
                _real("width_high_s", "s", "upper quartile"),
                _real("rate_bps", "bit/s", "mean in the phase"),
                _real("peak_bps", "bit/s", "rate reached when nothing hinders"),
            ),
        ),
        Table(
            "compat",
            "one row a link and direction: how compatible its jobs are",
            2,
            (
                _text("link_id", "link", nullable=False),
                _text("direction", "forward or backward", nullable=False),
                _real("capacity_bps", "bit/s", "of the link"),
                _text("verdict", "uncontended, compatible, paced, futile, overloaded, unknown", nullable=False),
                _real("score_now", "", "phases as observed"),
                _real("score_best", "", "best shifts, over horizon_s"),
                _real("score_random", "", "independent phases"),
                _real("score_cassini", "", "5-degree grid"),
                _real("score_paced", "", "jobs held to slots"),
                _real("score_robust", "", "expected under jitter"),
                _real("gap", "", "score_best is at most this below the optimum"),
                _real("horizon_s", "s", "null: for ever"),
                _real("hold_s", "s", "time an unheld shift lasts; null: for ever"),
            ),
        ),
        Table(
            "shifts",
            "one row a job: the advice",
            1,
            (
                _text("job_id", "job", nullable=False),
                _real("shift_s", "s", "start of the first Up phase after the common anchor"),
                _real("pace_period_s", "s", "slot period; null: do not pace"),
                _real("stretch_frac", "", "slot period over the job's own period, minus 1"),
                _real("hold_s", "s", "time an unheld shift lasts; null: for ever"),
            ),
        ),
        Table(
            "recordings",
            "one row an input: recorded, imported or broken",
            1,
            (
                _text("recording_id", "sha256 of input, parser version and parameters", nullable=False),
                _text("source", "path or collector", nullable=False),
                _text("format", "importer or collector", nullable=False),
                _text("tool_version", "of offbeat"),
                _text("parameters", "JSON"),
                _text("status", "ok, partial or error", nullable=False),
                _text("message", "what was wrong, what was skipped"),
                _whole("n_rows", "", "samples stored"),
                _whole("t_first_ns", "ns", "first sample"),
                _whole("t_last_ns", "ns", "last sample"),
                _whole("anchor_wall_ns", "ns", "wall clock at the clock anchor"),
                _whole("anchor_monotonic_ns", "ns", "monotonic clock at the clock anchor"),
            ),
        ),
    )
}


def arrow_schema(table: str) -> pa.Schema:
    """Return a table's Arrow schema, with unit and meaning in the metadata of each field."""
    return pa.schema(
        [
            pa.field(
                column.name,
                column.type,
                nullable=column.nullable,
                metadata={"unit": column.unit, "meaning": column.meaning},
            )
            for column in TABLES[table].columns
        ],
        metadata={"offbeat_schema_version": str(SCHEMA_VERSION), "offbeat_table": table},
    )
