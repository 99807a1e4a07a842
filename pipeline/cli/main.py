"""The ``offbeat`` command: where commands are listed, and where errors become exit codes.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 ran well and the answer is no, 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

import typer

from pipeline.cli.analyze import analyze
from pipeline.cli.compat import compat
from pipeline.cli.demo import demo
from pipeline.cli.ingest import ingest
from pipeline.cli.profile import profile
from pipeline.cli.query import query
from pipeline.cli.record import record
from pipeline.cli.report import report
from pipeline.cli.sql import sql
from profiler.errors import OffbeatError, UsageError

__all__ = ["COMMANDS", "app", "main", "run"]

COMMANDS: Final[dict[str, Callable[..., Any]]] = {
    "demo": demo,
    "record": record,
    "profile": profile,
    "ingest": ingest,
    "analyze": analyze,
    "query": query,
    "sql": sql,
    "compat": compat,
    "report": report,
}
"""Every command; its module parses, calls one function and prints. Heavy libraries are imported inside it."""

app = typer.Typer(
    name="offbeat",
    help="Find the beat of every training job on a network, and move jobs that collide off each other's beat.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for _name, _command in COMMANDS.items():
    app.command(_name)(_command)


@app.callback()
def _offbeat() -> None:
    pass


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code; tests call this without a subprocess."""
    try:
        app(arguments)
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else int(done.code is not None)
    except UsageError as error:
        sys.stderr.write(f"offbeat: {error}\n")
        return 2
    except (OffbeatError, OSError) as error:
        sys.stderr.write(f"offbeat: {error}\n")
        return 1
    return 0


def run() -> None:
    """Entry point of the installed command."""
    sys.exit(main())
