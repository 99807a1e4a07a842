"""``offbeat analyze``: from a lake to advice, in one go."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.batch_options import (
    EngineChoice,
    EngineOption,
    EveryOption,
    MergeFlag,
    RunsOption,
    ShardOption,
    WindowOption,
    WorkersOption,
    WorkOption,
    read_batch,
)
from pipeline.cli.faults import note_capacities, note_faults, note_window
from pipeline.cli.lake_options import ClusterOption, LakeOption, ResultsOption
from pipeline.cli.plan_options import BudgetOption, Goal, GoalOption, PinOption, WeightOption, read_options
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
from pipeline.cli.progress import port_progress
from pipeline.cli.run_rows import print_runs
from pipeline.cli.shard_run import run_share
from profiler.errors import UsageError
from profiler.units import parse_duration_s

if TYPE_CHECKING:
    from pipeline.analysis import Analysis

__all__ = ["analyze"]


def analyze(
    lake: LakeOption,
    results: ResultsOption = None,
    cluster: ClusterOption = None,
    plan: Annotated[
        Path | None, typer.Option("--plan", metavar="FILE", help="File to write the plan to, which the pacer reads.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file of --plan if it exists.")] = False,
    objective: GoalOption = Goal.MEAN,
    weight: WeightOption = [],  # noqa: B006 - typer makes a new list a call
    pin: PinOption = [],  # noqa: B006
    budget: BudgetOption = None,
    engine: EngineOption = EngineChoice.LOCAL,
    workers: WorkersOption = None,
    window: WindowOption = "24h",
    work: WorkOption = None,
    shard: ShardOption = None,
    merge: MergeFlag = False,
    every: EveryOption = None,
    runs: RunsOption = None,
    output: FormatOption = Format.TABLE,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Find the beat of every port, the jobs that meet on links, and the shifts that keep them apart.

    What is found is kept in the lake, for offbeat query and sql. Ports are profiled in shards, of a host over a
    stretch of time; what is finished is kept in the work folder and never computed again, so a run that was killed is
    resumed by running it again. Job arrays finish shards by --shard, give the same --cluster to each, and one process
    merges them when all have ended. Ends with 1 if a file or shard failed (the rest is analysed all the same), with 3
    if nothing is periodic, or if jobs collide and nothing helps.

    Example:

        offbeat analyze --lake lake --cluster cluster.toml --plan plan.json

        offbeat analyze --lake lake --objective worst --pin A=0s --budget 10s

        offbeat analyze --lake lake --shard $SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT

        offbeat analyze --lake lake --merge

        offbeat analyze --lake lake --every 5m --window 1h

        offbeat analyze --lake s3://bucket/lake --results found
    """
    from pipeline.outfile import Existing, check_target, write_text
    from pipeline.runs import Request, run_once

    chosen = chosen_format(output, as_json=as_json, as_csv=as_csv)
    _check_together(shard=shard, merge=merge, every=every, runs=runs, plan=plan)
    batch = read_batch(engine, workers=workers, window=window, work=work, merge=merge)
    lake = _writable(lake, results=results, shard=shard, work=work)
    if shard is not None:
        run_share(lake, shard=shard, cluster=cluster, batch=batch, output=chosen)
        return
    options = read_options(objective, weight=weight, pin=pin, budget=budget)
    request = Request(lake=lake, cluster=cluster, options=options, batch=batch)
    if every is not None:
        if not print_runs(request, every_s=parse_duration_s(every), n_runs=runs, output=chosen):
            raise typer.Exit(1)
        return
    existing: Existing = "replace" if force else "keep"
    if plan is not None:
        check_target(plan, existing=existing)
    with port_progress() as on_port:
        analysis, run = run_once(request, on_port=on_port)
    if plan is not None and analysis.kept:
        note(f"offbeat: {plan} was not written: it would lack {', '.join(one.what for one in analysis.kept)}")
    elif plan is not None:
        write_text(json.dumps(analysis.plan.to_dict(), indent=2, allow_nan=False) + "\n", plan, existing=existing)
        note(f"offbeat: wrote {plan}")
    _print_analysis(analysis, output=chosen)
    note_window(run)
    note_capacities(run.n_otherwise)
    note_faults(run.warnings)
    if not run.is_whole:
        raise typer.Exit(1)
    if not analysis.has_answer:
        raise typer.Exit(3)


def _writable(lake: Path, *, results: Path | None, shard: str | None, work: Path | None) -> Path:
    """Return the lake that results go to: of one in a bucket a folder over it; a share only reads."""
    from profiler.store import attach
    from profiler.store.remote.address import is_remote, require_local

    if shard is not None:
        if results is not None:
            raise UsageError("--shard only profiles ports: give --results to the run that merges")
        if work is None and is_remote(lake):
            raise UsageError(f"--shard of {lake}: give --work DIR, a folder that all shares and the merge see")
        return lake
    if results is not None:
        return attach(results, lake).root
    return require_local(lake, what="analyze", instead="give --results DIR, a folder of this machine for what is found")


def _check_together(*, shard: str | None, merge: bool, every: str | None, runs: int | None, plan: Path | None) -> None:
    """Refuse options that have no meaning together."""
    if shard is not None and (merge or every is not None or plan is not None):
        raise UsageError("--shard only profiles ports: give --merge, --every or --plan to a run that follows")
    if every is not None and (merge or plan is not None):
        raise UsageError("--every goes on by itself: --merge and --plan are for a single run")
    if runs is not None and every is None:
        raise UsageError("--runs ends --every: give both")


def _print_analysis(analysis: Analysis, *, output: Format) -> None:
    from pipeline.analysis import LINK_COLUMNS
    from pipeline.cli.analysis_table import readable_link, readable_omissions, readable_shift
    from pipeline.report import advise, summarize

    if output is Format.JSON:
        document = analysis.to_dict()
        print_json({**document, "plan": {**document["plan"], "elapsed_s": analysis.plan.elapsed_s}})
    elif output is Format.CSV:
        print_rows(analysis.to_rows(), output=output, columns=LINK_COLUMNS)
    else:
        _print_table([readable_link(link) for link in analysis.links])
        print_lines([*summarize(analysis), ""])
        _print_table([readable_shift(advice) for advice in advise(analysis)])
        print_lines(readable_omissions(analysis))


def _print_table(rows: list[dict[str, str]]) -> None:
    if rows:
        print_rows(rows, output=Format.TABLE)
        print_lines([""])
