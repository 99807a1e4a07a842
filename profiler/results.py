"""The small protocol that every result of Offbeat fits.

A result stands next to the function that makes it, records the method and parameters that made it, and can be had
as JSON-ready dict, Arrow table, pandas frame or Altair chart. `Tabular` gives all but ``to_dict`` and ``to_rows``.
"""

from __future__ import annotations

import html
import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd
    import pyarrow as pa

__all__ = ["Result", "Tabular", "json_ready"]


@runtime_checkable
class Result(Protocol):
    """What callers may ask of any result."""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values in SI units, without NaN."""

    def to_arrow(self) -> pa.Table:
        """Return the rows of the result as an Arrow table."""

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows of the result as a pandas frame."""

    def plot(self) -> alt.Chart:
        """Return an Altair chart of the result."""


class Tabular(ABC):
    """Arrow, pandas and HTML forms for a result that can list its rows."""

    __slots__ = ()

    @abstractmethod
    def to_rows(self) -> list[dict[str, Any]]:
        """Return one dict a row, with the same keys in each."""

    def to_arrow(self) -> pa.Table:
        """Return the rows of the result as an Arrow table."""
        import pyarrow as pa

        return pa.Table.from_pylist(self.to_rows())

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows of the result as a pandas frame."""
        import pandas as pd

        return pd.DataFrame(self.to_rows())

    def _repr_html_(self) -> str:
        rows = self.to_rows()
        columns = list(rows[0]) if rows else []
        head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(str(row[column]))}</td>" for column in columns) + "</tr>"
            for row in rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def json_ready(value: Any) -> Any:  # noqa: ANN401 - any JSON-like tree
    """Return a value with arrays, tuples and NumPy scalars as plain JSON values, NaN and infinities as None.

    Examples
    --------
    >>> json_ready({"a": (1.0, float("nan"))})
    {'a': [1.0, None]}
    """
    if isinstance(value, dict):
        return {str(key): json_ready(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_ready(item) for item in value]
    if hasattr(value, "tolist"):
        return json_ready(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value
