"""``offbeat simulate``: what jobs that share links will take, by themselves and with a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.lake_options import ClusterOption, MaybeLakeOption
from pipeline.cli.printer import CsvFlag, Format, FormatOption, JsonFlag, chosen_format, note, print_json, print_rows
from profiler.errors import UsageError

__all__ = ["simulate"]


def simulate(
    job: Annotated[
        list[str] | None, typer.Option("--job", metavar="NAME=PROFILE", help="A job; repeat for each that shares.")
    ] = None,
    capacity: Annotated[
        str | None, typer.Option("--capacity", metavar="RATE", help="Capacity of the link, such as 50Gbps.")
    ] = None,
    lake: MaybeLakeOption = None,
    cluster: ClusterOption = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            "--plan", metavar="FILE", help="Plan to follow, as offbeat analyze writes it; else the one advised."
        ),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option("--log", metavar="FILE", help="Iterations that the jobs logged, to calibrate jitter and sharing."),
    ] = None,
    jitter: Annotated[
        float | None,
        typer.Option(
            "--jitter",
            metavar="FRACTION",
            help="Standard deviation of iterations, such as 0.03 of their length; else as profiled.",
        ),
    ] = None,
    older_weight: Annotated[
        float | None,
        typer.Option(
            "--older-weight",
            metavar="RATIO",
            help="Weight of the older of two flows against the younger one, such as 1.1.",
        ),
    ] = None,
    iterations: Annotated[
        int, typer.Option("--iterations", metavar="N", help="Iterations to simulate of the slowest job.")
    ] = 2000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Seed of random phases and jitter.")] = 0,
    output: FormatOption = Format.TABLE,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Simulate the iterations of jobs that share links, unmanaged and with a plan.

    Give the jobs of one link as --job and its --capacity (PROFILE as in offbeat compat), or a lake. LOG is JSON,
    {JOB: [[start_ns, first_sent_ns, end_ns], …]}, of a run in which nobody was paced.

    Example:

        offbeat simulate --capacity 400Mbps --job A=a.json --job B=b.json --iterations 5000

        offbeat simulate --lake lake --plan plan.json --json
    """
    from pipeline.cli.simulate_inputs import calibrated, jobs_of_lake, jobs_of_link
    from pipeline.cli.simulate_table import readable_links, readable_runs
    from pipeline.simulation import compare

    if log is not None and (jitter is not None or older_weight is not None):
        raise UsageError("simulate: --log tells jitter and weight; leave out --jitter and --older-weight, or --log")
    if lake is None:
        if cluster:
            raise UsageError("simulate: --cluster tells of the links of a lake; leave it out, or give --lake")
        given = jobs_of_link(job or [], capacity=capacity, jitter_frac=jitter, plan=plan)
    else:
        if job or capacity is not None or jitter is not None:
            raise UsageError(
                "simulate: --job, --capacity and --jitter are for jobs of one link; leave them out with --lake"
            )
        given = jobs_of_lake(lake, cluster=cluster, plan=plan)
    traffic, calibration = calibrated(given.traffic, log=log)
    found = compare(
        traffic,
        plan=given.shifts,
        n_iterations=iterations,
        older_weight=calibration.older_weight if calibration else (1.0 if older_weight is None else older_weight),
        rng=seed,
    )
    chosen = chosen_format(output, as_json=as_json, as_csv=as_csv)
    if chosen is Format.JSON:
        print_json({**found.to_dict(), "calibration": calibration and calibration.to_dict()})
    elif chosen is Format.CSV:
        print_rows(found.to_rows(), output=chosen)
    else:
        print_rows(readable_runs(found), output=chosen)
        typer.echo("\n" + readable_links(found))
    for warning in (*given.notes, *(calibration.warnings if calibration else ()), *found.warnings):
        note(f"offbeat: {warning}")
