"""`PlainCommand`: a command that says what is wrong with an option in its own words alone."""

from __future__ import annotations

from typing import Any, Final

import typer
from typer.core import TyperCommand

__all__ = ["PlainCommand"]

_PREFIX: Final = "Value error, "
"""What pydantic, with which Typer checks values, puts before the words of whoever found one wrong."""


class PlainCommand(TyperCommand):
    """Takes off complaints about values what only programmers know."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - Typer does not tell its class
        """Parse the arguments.

        Raises
        ------
        typer.BadParameter
            If a value is none of those that it may be.
        """
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix(_PREFIX)
            raise
