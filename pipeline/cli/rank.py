"""``offbeat rank``: placement candidates in order of how well their jobs would fit."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.lake_options import ClusterOption, MaybeLakeOption
from pipeline.cli.printer import CsvFlag, Format, FormatOption, JsonFlag, chosen_format, note, print_json, print_rows
from pipeline.cli.progress import port_progress
from profiler.errors import UsageError
from profiler.units import parse_duration_s

__all__ = ["By", "rank"]


class By(StrEnum):
    """What candidates are ranked by."""

    MEAN = "mean"
    WORST = "worst"
    TIME = "time"


def rank(
    candidates: Annotated[Path, typer.Argument(metavar="CANDIDATES", help="JSON file of placements.")],
    lake: MaybeLakeOption = None,
    cluster: ClusterOption = None,
    job: Annotated[
        list[str] | None,
        typer.Option("--job", metavar="NAME=PROFILE", help="What one rank of a job sends; repeat for each job."),
    ] = None,
    by: Annotated[
        By,
        typer.Option(
            "--by", help="Mean or worst score of the shared links, or simulated iteration time without a pacer."
        ),
    ] = By.MEAN,
    share_ports: Annotated[
        bool, typer.Option("--share-ports", help="Judge candidates too in which jobs share a port of a host.")
    ] = False,
    budget: Annotated[
        str | None,
        typer.Option("--budget", metavar="TIME", help="How long to judge candidates, in their order, such as 10s."),
    ] = None,
    output: FormatOption = Format.TABLE,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Rank placements of jobs by how well they would share the links.

    CANDIDATES is {"candidates": [{"id": …, "jobs": {JOB: [HOST, …]}}]}: for each placement the jobs that are new or
    moved, a host a rank in ring order (host:device where a host has several). All other jobs stay. What a job sends
    is known from the lake, or given as PROFILE, as in offbeat compat. Ends with 1 if no candidate can be judged.

    Example:

        offbeat rank candidates.json --lake lake --cluster cluster.toml --by worst

        offbeat rank candidates.json --cluster cluster.toml --job A=a.json --job B=b.json --json
    """
    from pipeline.cli.job_profiles import read_job_profiles
    from pipeline.cli.rank_table import readable_candidate
    from pipeline.ranking import rank as rank_candidates
    from pipeline.ranking import read_candidates
    from pipeline.ranking.lakejobs import read_lake_jobs
    from pipeline.scratch import with_results
    from pipeline.topology import read_cluster

    if lake is None and not cluster:
        raise UsageError("rank: give --lake, or --cluster with what each job sends as --job NAME=PROFILE")
    budget_s = None if budget is None else parse_duration_s(budget)
    placements = read_candidates(candidates)
    given = read_job_profiles(job or [])
    if lake is not None:
        with port_progress() as on_port, with_results(lake) as store:
            known = read_lake_jobs(store, cluster=cluster, on_port=on_port)
        topology, profiles = known.topology, {**known.profiles, **given}
        left_out = [(one.what, one.why) for one in known.skipped]
    else:
        topology, profiles = read_cluster(*(cluster or ())), given
        left_out = [(one.what, one.why) for one in topology.omissions]
    for what, why in left_out:
        note(f"offbeat: left out {what}: {why}")
    ranking = rank_candidates(
        placements,
        profiles=profiles,
        topology=topology,
        by=by.value,
        sharing="allowed" if share_ports else "refused",
        budget_s=budget_s,
    )
    chosen = chosen_format(output, as_json=as_json, as_csv=as_csv)
    if chosen is Format.JSON:
        print_json(ranking.to_dict())
    elif chosen is Format.CSV:
        print_rows(ranking.to_rows(), output=chosen)
    else:
        rows = [readable_candidate(one, place=i) for i, one in enumerate(ranking.candidates, start=1)]
        print_rows(rows, output=chosen)
    of_candidates = (warning for one in ranking.candidates for warning in one.warnings)
    for warning in dict.fromkeys((*ranking.warnings, *of_candidates)):
        note(f"offbeat: {warning}")
    for one in ranking.candidates:
        if one.reason:
            note(f"offbeat: {candidates}: candidate {one.id!r}: {one.reason}")
    if ranking.best is None:
        raise typer.Exit(1)
