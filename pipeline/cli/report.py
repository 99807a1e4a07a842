"""``offbeat report``: an analysis as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.lake_options import ClusterOption, LakeOption
from pipeline.cli.printer import CsvFlag, Format, FormatOption, JsonFlag, chosen_format, print_json, print_rows
from pipeline.cli.progress import port_progress

__all__ = ["report"]


def report(
    lake: LakeOption,
    cluster: ClusterOption = None,
    path: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="HTML file to write.")] = Path(
        "report.html"
    ),
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    output: FormatOption = Format.TABLE,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Analyse a lake and write the findings as one HTML page.

    The page loads nothing from elsewhere: it works offline, prints, and can be mailed.

    Example:

        offbeat report --lake lake --cluster cluster.toml -o report.html
    """
    from datetime import UTC, datetime

    from pipeline.flow import analyze
    from pipeline.outfile import Existing, check_target, write_text
    from pipeline.report import Origin, render
    from pipeline.scratch import with_results

    existing: Existing = "replace" if force else "keep"
    check_target(path, existing=existing)
    with port_progress() as on_port, with_results(lake) as store:
        analysis = analyze(store, cluster=cluster, on_port=on_port)
    origin = Origin(lake=str(lake), cluster=", ".join(map(str, cluster or ())), made_at=datetime.now(tz=UTC))
    write_text(render(analysis, origin=origin), path, existing=existing)
    chosen = chosen_format(output, as_json=as_json, as_csv=as_csv)
    if chosen is Format.JSON:
        print_json({"kind": "report", "version": 1, "path": str(path)})
    elif chosen is Format.CSV:
        print_rows([{"path": str(path)}], output=chosen)
    else:
        typer.echo(path)
