"""Cells that could not be read: how many of each column, and where the first stands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from profiler.importers.blocks import Block
    from profiler.importers.cells import Cells

__all__ = ["Faults"]


@dataclass(slots=True)
class _Fault:
    line: int
    cell: Any
    n_cells: int


class Faults:
    """Notes bad cells while a table is read."""

    def __init__(self) -> None:
        self._faults: dict[str, _Fault] = {}

    def note(self, block: Block, column: str, cells: Cells) -> None:
        """Note the bad cells of a block's column."""
        wrong = np.flatnonzero(cells.bad)
        if not wrong.size:
            return
        if column in self._faults:
            self._faults[column].n_cells += wrong.size
            return
        i_first = int(wrong[0])
        self._faults[column] = _Fault(block.line_of(i_first), block.columns[column][i_first].as_py(), wrong.size)

    def problems(self, name: str) -> Iterator[str]:
        """Yield one sentence a column: place, value, what was done, remedy."""
        for column, fault in self._faults.items():
            yield (
                f"{name}: line {fault.line}: column {column}: {str(fault.cell)[:60]!r} cannot be read; "
                f"cells like it ({fault.n_cells}) were left out; correct them, or the mapping's unit or format"
            )
