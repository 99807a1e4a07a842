"""``offbeat discover``: jobs found by their beat, where no scheduler tells of them."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from pipeline.cli.lake_options import LakeOption
from pipeline.cli.printer import (
    CsvFlag,
    Format,
    FormatOption,
    JsonFlag,
    chosen_format,
    note,
    print_json,
    print_lines,
    print_rows,
)
from pipeline.cli.progress import step_progress

__all__ = ["discover"]


def discover(
    lake: LakeOption,
    last: Annotated[
        str | None,
        typer.Option("--last", metavar="TIME", help="Look at so much before the newest sample; else at 8,192 ticks."),
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Keep the jobs found in the lake, for analyze and query.")
    ] = False,
    capacity: Annotated[
        str | None,
        typer.Option(
            "--capacity",
            metavar="RATE",
            help="With --write, where the lake knows no links: capacity of the link made for each port.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace jobs that a cluster file told of.")] = False,
    output: FormatOption = Format.TABLE,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Group ports that beat together into jobs, and tell which jobs each uplink carries.

    No scheduler is asked: ports of a job do alike and keep their lag, while other jobs drift. Ports in no job are named
    with the reason. Ends with 1 if a file cannot be read (the rest is looked at all the same), with 3 if no job is
    found; the lake then keeps the jobs it has, and says so.

    Example:

        offbeat discover --lake lake

        offbeat discover --lake lake --last 1h --write --capacity 100Gbps
    """
    from pipeline.cli.discover_table import readable_job, readable_skipped, readable_twins, readable_uplinks
    from pipeline.discover import MEMBER_COLUMNS, check_known, discover_lake, keep_found
    from profiler.store import Lake
    from profiler.store.remote.address import require_local
    from profiler.units import format_count, parse_duration_s, parse_rate_bps

    capacity_bps = None if capacity is None else parse_rate_bps(capacity)
    last_s = None if last is None else parse_duration_s(last)
    if write:
        require_local(
            lake,
            what="--write",
            instead=f"keep results in a folder of this machine: offbeat analyze --lake {lake} --results DIR, then "
            "offbeat discover --lake DIR --write",
        )
        check_known(Lake.open(lake), known="replace" if force else "keep", capacity_bps=capacity_bps)
    with step_progress() as on_step:
        profiled, compared = partial(on_step, "profiling ports"), partial(on_step, "comparing ports")
        found = discover_lake(lake, last_s=last_s, on_port=profiled, on_step=compared)
    if write and found.has_answer:
        kept = keep_found(Lake.open(lake), found, capacity_bps=capacity_bps)
        note(f"offbeat: kept {len(kept.jobs)} jobs, {len(kept.placements)} ranks and {len(kept.paths)} paths in {lake}")
        for omission in kept.omissions:
            note(f"offbeat: {omission.what}: {omission.why}")
    elif write:
        n_before = Lake.open(lake).read("jobs").num_rows
        before = f"; {lake} still has the {format_count(n_before, 'job')} it knew before" if n_before else ""
        note(f"offbeat: no job found, so nothing was written{before}")
    chosen = chosen_format(output, as_json=as_json, as_csv=as_csv)
    if chosen is Format.JSON:
        print_json(found.to_dict())
    elif chosen is Format.CSV:
        print_rows(found.to_rows(), output=chosen, columns=MEMBER_COLUMNS)
    else:
        if found.jobs:
            print_rows([readable_job(job) for job in found.jobs], output=Format.TABLE)
        print_lines([*readable_twins(found), *readable_uplinks(found), *readable_skipped(found)])
    if not found.is_whole:
        raise typer.Exit(1)
    if not found.has_answer:
        raise typer.Exit(3)
