"""``offbeat compat``: how well jobs fit on a link, and the shifts that make them fit."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from pipeline.cli.printer import CsvFlag, Format, FormatOption, JsonFlag, chosen_format, note, print_json, print_rows
from profiler.units import parse_duration_s, parse_rate_bps

__all__ = ["compat"]

_NO: Final = frozenset({"futile", "overloaded", "unknown"})
"""Verdicts that end with exit code 3."""


def compat(
    job: Annotated[list[str], typer.Option("--job", help="NAME=PROFILE of a job; repeat for each job.")],
    capacity: Annotated[str, typer.Option("--capacity", help="Of the link, such as 50Gbps.")],
    horizon: Annotated[
        str | None, typer.Option("--horizon", help="Time that shifts are to last, such as 300s; else for ever.")
    ] = None,
    shared: Annotated[
        bool, typer.Option("--shared", help="The profiles were measured while the jobs shared this link.")
    ] = False,
    output: FormatOption = Format.TABLE,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Say how well jobs fit on a link, and which shifts make them fit.

    PROFILE is a file that offbeat profile --json wrote, {"period_s": …, "phases": […]} in a file or inline, a lake or a
    table of counters; #DEVICE/DIRECTION behind it chooses a series. Ends with 3 if nothing makes the jobs fit.

    Example:

        offbeat compat --capacity 400Mbps --job 'A={"period_s": 0.255, "phases": [{"start_s": 0, "width_s": 0.114,
        "rate_bps": 4e8}]}' --job B=b.json
    """
    from pipeline.cli.compat_table import readable_jobs, readable_scores
    from pipeline.cli.job_profiles import own_profiles, read_job_profiles
    from pipeline.compat.solve import solve

    capacity_bps = parse_rate_bps(capacity)
    horizon_s = None if horizon is None else parse_duration_s(horizon)
    profiles = read_job_profiles(job)
    notes: list[str] = []
    if shared:
        profiles, notes = own_profiles(profiles, capacity_bps=capacity_bps)
    found = solve(profiles, capacity_bps=capacity_bps, horizon_s=horizon_s)
    chosen = chosen_format(output, as_json=as_json, as_csv=as_csv)
    if chosen is Format.JSON:
        print_json(found.to_dict())
    elif chosen is Format.CSV:
        print_rows(found.to_rows(), output=chosen)
    else:
        print_rows(readable_jobs(found), output=chosen)
        typer.echo("\n" + readable_scores(found))
    for message in (*notes, *found.warnings):
        note(f"offbeat: {message}")
    if found.verdict in _NO:
        raise typer.Exit(3)
