"""Functions that any statement can call: macros of ``queries/functions``, and the exact kernel of two jobs.

A file holds one ``create macro`` under its header; parameters without a value must be given, the others by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from duckdb.func import FunctionNullHandling, PythonUDFType

from pipeline.sql.catalog import queries_folder, sql_files
from pipeline.sql.header import Parameter, read_header, read_parameters
from pipeline.sql.pair_function import PROFILE_TYPE, SCORE_TYPE, score_columns

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    import duckdb

__all__ = ["OF_VIEWS", "Function", "list_functions", "make_kernels"]


OF_VIEWS: Final = (
    "flow_rates",
    "series_bursts_of",
    "folded_rates",
    "metered_rates",
    "link_loads",
    "link_bursts",
    "link_meetings",
)
"""Functions that read views, so that these are made before, in order of making; the others read tables at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """One function: its header, and its text as it is made; "" for one that is not SQL."""

    name: str
    purpose: str
    params: tuple[Parameter, ...]
    returns: str
    example: str
    text: str

    @property
    def reads_views(self) -> bool:
        """Whether it is made of rows that views give."""
        return self.name in OF_VIEWS

    @property
    def call(self) -> str:
        """How it is called: each parameter with its type, and the value that it has unless given by name."""
        return f"{self.name}({', '.join(map(_shown, self.params))})"

    def to_row(self) -> dict[str, str]:
        """Return how it is called, what it returns, what for, and an example."""
        return {"function": self.call, "returns": self.returns, "purpose": self.purpose, "example": self.example}


_COMPAT: Final = Function(
    name="compat",
    purpose="how well two jobs fit on a link: the exact score of their best shift, and the score by chance",
    params=(
        Parameter(name="a", type="struct", default=None, is_needed=True, meaning="profile, as of profile_of"),
        Parameter(name="b", type="struct", default=None, is_needed=True, meaning="profile of the other job"),
        Parameter(name="capacity_bps", type="real", default=None, is_needed=True, meaning="capacity of the link"),
    ),
    returns="struct(score_best, score_random, shift_s): 1 - mean excess/capacity at the best shift of b after a, and "
    "over all shifts; null if a profile, its period, its phases or the capacity is null",
    example="compat(a.demand, b.demand, 50e9).score_best",
    text="",
)


def list_functions() -> tuple[Function, ...]:
    """Return every function, in order of name."""
    macros = [_read(file) for file in sql_files(queries_folder() / "functions")]
    return tuple(sorted((*macros, _COMPAT), key=lambda function: function.name))


def make_kernels(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the functions that are compiled Python, for as long as the connection is open."""
    connection.create_function(
        _COMPAT.name,
        lambda a, b, capacity_bps: score_columns(a, b, capacity_bps=capacity_bps),
        [PROFILE_TYPE, PROFILE_TYPE, "double"],
        SCORE_TYPE,
        type=PythonUDFType.ARROW,
        null_handling=FunctionNullHandling.SPECIAL,
    )


def _shown(parameter: Parameter) -> str:
    declared = f"{parameter.name} {parameter.type}"
    if parameter.is_needed:
        return declared
    return f"{declared} := {'null' if parameter.default is None else format(parameter.default, 'g')}"


def _read(file: Traversable) -> Function:
    text = file.read_text(encoding="utf-8")
    header = read_header(text, keys=("purpose", "params", "returns", "example"), place=str(file))
    return Function(
        name=file.name.removesuffix(".sql"),
        purpose=" ".join(header["purpose"]),
        params=read_parameters(header["params"], place=str(file)),
        returns=" ".join(header["returns"]),
        example=" ".join(header["example"]),
        text=text,
    )
