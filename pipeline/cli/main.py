"""The ``offbeat`` command: where commands are listed, and where errors become exit codes.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 ran well and the answer is no, 130 interrupted.
"""

from __future__ import annotations

import sys

import click
import typer

from profiler.errors import OffbeatError, UsageError

__all__ = ["app", "main", "run"]

app = typer.Typer(
    name="offbeat",
    help="Find the beat of every training job on a network, and move jobs that collide off each other's beat.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code; tests call this without a subprocess."""
    try:
        result = app(arguments, standalone_mode=False)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        error.show()
        return 2
    except (KeyboardInterrupt, click.exceptions.Abort):
        sys.stderr.write("interrupted\n")
        return 130
    except UsageError as error:
        sys.stderr.write(f"offbeat: {error}\n")
        return 2
    except (OffbeatError, OSError) as error:
        sys.stderr.write(f"offbeat: {error}\n")
        return 1
    return result if isinstance(result, int) else 0


def run() -> None:
    """Entry point of the installed command."""
    sys.exit(main())
