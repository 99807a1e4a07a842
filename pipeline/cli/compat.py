"""``offbeat compat``: how well jobs fit on a link, and the shifts that make them fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

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
from profiler.units import parse_duration_s, parse_rate_bps

if TYPE_CHECKING:
    from pipeline.compat.result import Compatibility

__all__ = ["compat"]

_NO: Final = frozenset({"futile", "overloaded", "unknown"})
"""Verdicts that end with exit code 3."""


def compat(
    job: Annotated[list[str], typer.Option("--job", metavar="NAME=PROFILE", help="A job; repeat for each.")],
    capacity: Annotated[str, typer.Option("--capacity", metavar="RATE", help="Capacity of the link, such as 50Gbps.")],
    horizon: Annotated[
        str | None,
        typer.Option("--horizon", metavar="TIME", help="How long shifts are to last, such as 300s; else for ever."),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option("--budget", metavar="TIME", help="How long to search, such as 10s; then the best so far."),
    ] = None,
    jitter: Annotated[
        float,
        typer.Option(
            "--jitter", metavar="FRACTION", help="Fraction of its period by which each job may miss its shift."
        ),
    ] = 0.05,
    shared: Annotated[
        bool | None,
        typer.Option(
            "--shared/--alone", help="The jobs were measured while they shared the link, or not; else as it looks."
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show which bursts overlap, before the advice and after.")
    ] = False,
    output: FormatOption = Format.TABLE,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Say how well jobs fit on a link, and which shifts make them fit.

    PROFILE is a file that offbeat profile --json wrote, {"period_s": …, "phases": […]} in a file or inline, a lake or a
    table of counters; #DEVICE/DIRECTION behind it chooses a series. Ends with 3 if nothing makes the jobs fit.

    Example:

        offbeat compat --capacity 50Gbps --job A=a.json --job B=counters.csv#eth0/transmit --explain

        offbeat compat --capacity 400Mbps --job A=lake#p1/transmit --job B=lake#p2/transmit --budget 10s --json
    """
    from pipeline.cli.job_profiles import own_profiles, read_job_profiles
    from pipeline.compat.solve import solve

    capacity_bps = parse_rate_bps(capacity)
    horizon_s = None if horizon is None else parse_duration_s(horizon)
    budget_s = None if budget is None else parse_duration_s(budget)
    profiles, notes = own_profiles(read_job_profiles(job), capacity_bps=capacity_bps, shared=shared)
    found = solve(profiles, capacity_bps=capacity_bps, horizon_s=horizon_s, jitter_frac=jitter, budget_s=budget_s)
    _print(found, output=chosen_format(output, as_json=as_json, as_csv=as_csv), explain=explain)
    for message in (*notes, *found.warnings):
        note(f"offbeat: {message}")
    if found.verdict in _NO:
        raise typer.Exit(3)


def _print(found: Compatibility, *, output: Format, explain: bool) -> None:
    """Print the answer; as CSV either a row a job or, explained, a row an overlap."""
    from pipeline.cli.compat_table import readable_jobs, readable_scores
    from pipeline.cli.explain_table import readable_bursts, readable_overlaps, readable_sides
    from pipeline.compat.explanation.result import OVERLAP_COLUMNS

    told = found.explain() if explain else None
    if output is Format.JSON:
        explanation = {} if told is None else {"explanation": told.to_dict()}
        print_json({**found.to_dict(), "elapsed_s": found.elapsed_s, **explanation})
    elif output is Format.CSV:
        if told is None:
            print_rows(found.to_rows(), output=output)
        else:
            print_rows(told.to_rows(), output=output, columns=OVERLAP_COLUMNS)
    else:
        print_rows(readable_jobs(found), output=output)
        print_lines(["", *readable_scores(found)])
        if told is not None:
            print_lines(["", *readable_sides(told)])
            if told.overlaps:
                print_lines([""])
                print_rows(readable_overlaps(told), output=output)
                print_lines(["", *readable_bursts(told)])
