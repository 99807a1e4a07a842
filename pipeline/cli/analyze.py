"""``offbeat analyze``: from a lake to advice, in one go."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

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

__all__ = ["analyze"]


def analyze(
    lake: Annotated[Path, typer.Option("--lake", help="Folder of the lake.")],
    cluster: Annotated[
        list[Path] | None,
        typer.Option("--cluster", help="File that knows links or jobs; may be repeated. Else what the lake knows."),
    ] = None,
    plan: Annotated[Path | None, typer.Option("--plan", help="Write the plan that the pacer reads.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file of --plan if it exists.")] = False,
    objective: GoalOption = Goal.MEAN,
    weight: WeightOption = [],  # noqa: B006 - typer makes a new list a call
    pin: PinOption = [],  # noqa: B006
    budget: BudgetOption = None,
    output: FormatOption = Format.TABLE,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Find the beat of every port, the jobs that meet on links, and the shifts that keep them apart.

    What is found is kept in the lake, for offbeat query and sql. Ends with 3 if nothing is periodic, or if jobs
    collide and nothing helps.

    Example:

        offbeat analyze --lake lake --cluster cluster.toml --plan plan.json

        offbeat analyze --lake lake --objective worst --pin A=0s --budget 10s
    """
    from pipeline.analysis import LINK_COLUMNS
    from pipeline.cli.analysis_table import readable_link, readable_omissions, readable_shift
    from pipeline.flow import analyze as analyze_lake
    from pipeline.outfile import Existing, check_target, write_text
    from pipeline.report import advise, summarize

    options = read_options(objective, weight=weight, pin=pin, budget=budget)
    existing: Existing = "replace" if force else "keep"
    if plan is not None:
        check_target(plan, existing=existing)
    with port_progress() as on_port:
        analysis = analyze_lake(lake, cluster=cluster, options=options, on_port=on_port)
    if plan is not None:
        write_text(json.dumps(analysis.plan.to_dict(), indent=2, allow_nan=False) + "\n", plan, existing=existing)
        note(f"offbeat: wrote {plan}")
    chosen = chosen_format(output, as_json=as_json, as_csv=as_csv)
    if chosen is Format.JSON:
        document = analysis.to_dict()
        print_json({**document, "plan": {**document["plan"], "elapsed_s": analysis.plan.elapsed_s}})
    elif chosen is Format.CSV:
        print_rows(analysis.to_rows(), output=chosen, columns=LINK_COLUMNS)
    else:
        _print_table([readable_link(link) for link in analysis.links])
        print_lines([*summarize(analysis), ""])
        _print_table([readable_shift(advice) for advice in advise(analysis)])
        print_lines(readable_omissions(analysis))
    if not analysis.has_answer:
        raise typer.Exit(3)


def _print_table(rows: list[dict[str, str]]) -> None:
    if rows:
        print_rows(rows, output=Format.TABLE)
        print_lines([""])
