"""The ``offbeat`` command: where commands are listed, and where errors become exit codes.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 ran well and the answer is no, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, Final

import typer

from pipeline.cli.analyze import analyze
from pipeline.cli.compat import compat
from pipeline.cli.demo import demo
from pipeline.cli.discover import discover
from pipeline.cli.doctor import doctor
from pipeline.cli.ingest import ingest
from pipeline.cli.lake import lake
from pipeline.cli.plain_command import PlainCommand
from pipeline.cli.profile import profile
from pipeline.cli.query import query
from pipeline.cli.rank import rank
from pipeline.cli.record import record
from pipeline.cli.report import report
from pipeline.cli.simulate import simulate
from pipeline.cli.sql import sql
from pipeline.cli.statement_command import StatementCommand
from profiler.errors import OffbeatError, UsageError
from profiler.threads import ONE_THREAD

__all__ = ["COMMANDS", "INTERRUPTED", "app", "main", "run"]

COMMANDS: Final[dict[str, Callable[..., Any]]] = {
    "demo": demo,
    "doctor": doctor,
    "record": record,
    "profile": profile,
    "ingest": ingest,
    "lake": lake,
    "discover": discover,
    "analyze": analyze,
    "query": query,
    "sql": sql,
    "compat": compat,
    "rank": rank,
    "simulate": simulate,
    "report": report,
}
"""Every command; its module parses, calls one function and prints. Heavy libraries are imported inside it."""

INTERRUPTED: Final = 130
"""What a shell tells of a command that SIGINT ended."""

app = typer.Typer(
    name="offbeat",
    help="Find the beat of every training job on a network, and move jobs that collide off each other's beat.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for _name, _command in COMMANDS.items():
    app.command(_name, cls=StatementCommand if _command is sql else PlainCommand)(_command)


@app.callback()
def _offbeat() -> None:
    pass


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code; tests call this without a subprocess."""
    try:
        app(arguments)
    except SystemExit as done:
        code = done.code if isinstance(done.code, int) else int(done.code is not None)
        if code == INTERRUPTED:
            sys.stderr.write("offbeat: interrupted\n")
        return code
    except KeyboardInterrupt:
        sys.stderr.write("offbeat: interrupted\n")
        return INTERRUPTED
    except UsageError as error:
        sys.stderr.write(f"offbeat: {error}\n")
        return 2
    except (OffbeatError, OSError) as error:
        sys.stderr.write(f"offbeat: {error}\n")
        return 1
    except MemoryError:
        sys.stderr.write("offbeat: memory ran out; free some, or give this process more (ulimit -v, its container)\n")
        return 1
    return 0


def run() -> None:
    """Entry point of the installed command."""
    for name, value in ONE_THREAD.items():
        os.environ.setdefault(name, value)
    code = main()
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone, as head does; the interpreter would complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = code or 1
    sys.exit(code)
