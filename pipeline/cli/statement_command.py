"""`StatementCommand`: a command whose argument may begin with a comment of SQL, which looks like an option."""

from __future__ import annotations

import re
from typing import Any, Final

from pipeline.cli.plain_command import PlainCommand

__all__ = ["StatementCommand"]

_COMMENTED: Final = re.compile(r"--[^=\s]*\s")
"""How a statement begins that no option can: names of options hold no white space."""


class StatementCommand(PlainCommand):
    """Takes what begins with a comment for a statement, wherever it stands among the options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - Typer does not tell its class
        """Parse the arguments, statements last."""
        if "--" not in args:
            statements = [arg for arg in args if _COMMENTED.match(arg)]
            args = [arg for arg in args if not _COMMENTED.match(arg)] + (["--", *statements] if statements else [])
        return super().parse_args(ctx, args)
