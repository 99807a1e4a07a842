"""``offbeat report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["report"]


def report(
    lake: Annotated[Path, typer.Option("--lake", help="Lake to analyse.")],
    cluster: Annotated[Path | None, typer.Option("--cluster", help="Cluster file: hosts, links, jobs.")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML file to write.")] = Path("report.html"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if it exists.")] = False,
) -> None:
    """Analyse a lake and write the result as one HTML page that needs no network.

    Example:

        offbeat report --lake out/lake --cluster sample_data/cluster.toml -o report.html
    """
    from datetime import UTC, datetime

    from pipeline.flow import analyze
    from pipeline.report import Origin, render, write_page

    analysis = analyze(lake, cluster=cluster)
    origin = Origin(lake=str(lake), cluster=str(cluster or ""), made_at=datetime.now(tz=UTC))
    write_page(render(analysis, origin=origin), output, existing="replace" if force else "keep")
    typer.echo(output)
