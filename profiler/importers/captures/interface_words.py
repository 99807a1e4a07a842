"""Columns of the kernel's table of interfaces; `profiler.importers.captures.clocks` has the first three."""

from __future__ import annotations

from typing import Final

__all__ = ["INTERFACE_WORDS", "LABEL", "SNAP", "TYPE"]

SNAP: Final = 3
"""Longest captured packet; 0 where there is no limit."""
TYPE: Final = 4
"""Link type."""
LABEL: Final = 5
"""Number that stands for the interface's name, the same in all sections."""
INTERFACE_WORDS: Final = 6
