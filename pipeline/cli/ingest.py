"""``offbeat ingest``: dumps of counters, captures and other lakes into a lake."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pipeline.cli.lake_options import lake_address
from pipeline.cli.printer import CsvFlag, Format, JsonFlag, chosen_format, note, print_json, print_rows
from profiler.errors import UsageError

if TYPE_CHECKING:
    from profiler.importers import IngestReport, InputReport, Options

__all__ = ["ingest"]


def ingest(
    files: Annotated[list[str], typer.Argument(help="Files, folders, archives, pipes or lakes; - is stdin.")],
    lake: Annotated[
        Path,
        typer.Option(
            "--lake", metavar="PATH", parser=lake_address, help="Folder of the lake; made if missing or empty."
        ),
    ],
    input_format: Annotated[
        str | None,
        typer.Option(
            "--input-format",
            metavar="NAME",
            help="Importer to take, whatever the content: recorder, capture, nsys, sysfs, delimited, kineto, "
            "nccl_inspector, flight_recorder, prometheus, sadf, perfquery, ethtool, collectl or metrics.",
        ),
    ] = None,
    mapping: Annotated[
        str | None,
        typer.Option(
            "--mapping", metavar="FILE", help="Columns of tables: a TOML file, or a name such as zhejianglab."
        ),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option("--host", metavar="NAME", help="Host of counters that name none; where a capture was taken."),
    ] = None,
    bin_width: Annotated[
        str, typer.Option("--bin", metavar="TIME", help="Bins of packets and collectives: 1us to 2s.")
    ] = "1ms",
    series_by: Annotated[
        Literal["pair", "flow"], typer.Option("--by", help="One series of a capture: a pair of addresses, or a flow.")
    ] = "pair",
    time_from: Annotated[
        Literal["auto", "name", "mtime"],
        typer.Option(
            "--time-from",
            help="When a file without times was taken: its name, its modification, or the name if that tells.",
        ),
    ] = "auto",
    packets: Annotated[
        Path | None,
        typer.Option("--packets", metavar="DIR", help="Folder for a Parquet file of each capture with a row a packet."),
    ] = None,
    followed: Annotated[
        bool, typer.Option("--follow", help="Read a capture while it is written, until Ctrl-C or the pipe's end.")
    ] = False,
    output: Annotated[
        str,
        typer.Option(
            "--format", metavar="FORMAT", help="How to print the answer: table, json or csv; or as --input-format."
        ),
    ] = Format.TABLE,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Read counter tables, dumps of monitoring and tools, packet captures, traces and other lakes into a lake.

    Formats are told by content, whatever the file's name; gzip, zstd, xz, bzip2 and tar are unpacked on the way. What
    the lake holds already is left alone, so ingesting twice is harmless, and after Ctrl-C the same command goes on. No
    packet counts twice: a capture that has grown, or is read in other bins, takes the place of what was there of it,
    unless that was compacted; one that shares packets with another otherwise is refused. What was captured at two
    places is told apart by the --host of each.

    Prints a row a file: readings (packets, collectives) that it holds, how many of them were kept, the samples that
    they became, and what was left out and why. Ends with 1 if a file failed or was sound only in part; the others are
    read all the same.

    Example:

        offbeat ingest sample_data --lake lake

        offbeat ingest Leaf-5_3_1.csv.gz --lake lake --mapping zhejianglab

        ssh node7 cat trace.json.gz | offbeat ingest - --lake lake --host node7

        tcpdump -i mirror0 -s 512 -B 65536 -U -w - udp port 4791 | offbeat ingest - --lake lake --follow
    """
    from profiler.importers import IngestReport, Options, read_mapping
    from profiler.importers import ingest as ingest_inputs
    from profiler.units import parse_duration_s

    options = Options(
        host=host,
        mapping=None if mapping is None else read_mapping(mapping),
        bin_s=parse_duration_s(bin_width),
        series_by=series_by,
        time_from=time_from,
        packets=packets,
    )
    printed, importer = _formats(output, input_format)
    chosen = chosen_format(printed, as_json=as_json, as_csv=as_csv)
    if followed:
        _follow(files, lake=lake, options=options, output=chosen)
        return
    found: list[InputReport] = []
    try:
        with _progress(files) as advance:
            ingest_inputs(*files, lake=lake, options=options, format=importer, advance=advance, tell=found.append)
    finally:  # of what was done before Ctrl-C all is said
        if found:
            _print(IngestReport(inputs=tuple(found)), output=chosen)
    if any(report.is_faulty for report in found):
        raise typer.Exit(1)


def _follow(files: list[str], *, lake: Path, options: Options, output: Format) -> None:
    from profiler.importers import IngestReport, follow
    from profiler.record import stop_on_signals

    if options.packets is not None:
        raise UsageError("--packets: not with --follow, which keeps no packets; ingest the file once it is written")
    if len(files) != 1:
        raise UsageError(f"--follow: one capture at a time, {len(files)} were given")
    note(f"offbeat: following {files[0]}; Ctrl-C ends it")
    with stop_on_signals() as stop:
        report = follow(files[0], lake=lake, options=options, stop=stop)
    _print(IngestReport(inputs=(report,)), output=output)
    if report.is_faulty:
        raise typer.Exit(1)


def _formats(output: str, input_format: str | None) -> tuple[Format, str | None]:
    """Return how to print the answer, and the importer to take; ``--format`` may name either."""
    from profiler.importers import IMPORTERS

    if output in set(Format):
        return Format(output), input_format
    if output not in IMPORTERS or input_format not in (None, output):
        raise UsageError(
            f"--format {output}: expected {', '.join(Format)} to print the answer, or one importer to take: "
            f"{', '.join(IMPORTERS)}"
        )
    return Format.TABLE, output


def _print(report: IngestReport, *, output: Format) -> None:
    from pipeline.cli.ingest_table import readable_row, summary

    if output is Format.JSON:
        print_json(report.to_dict())
    else:
        rows = report.to_rows() if output is Format.CSV else [readable_row(found) for found in report.inputs]
        print_rows(rows, output=output)
    for found in report.inputs:
        if found.is_faulty:
            for problem in found.message.splitlines():
                note(f"offbeat: {problem}")
    if len(report.inputs) > 1:
        note(f"offbeat: {summary(report)}")


@contextmanager
def _progress(files: list[str]) -> Iterator[Callable[[int], object]]:
    """Yield what moves a bar on stderr by a number of bytes, if that is a terminal."""
    if not sys.stderr.isatty():
        yield int
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    from profiler.importers import total_bytes

    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total_bytes(files))
        yield lambda n_bytes: bar.advance(task, n_bytes)
