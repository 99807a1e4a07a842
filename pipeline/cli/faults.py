"""What failed, on stderr, where it is not the end of a command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pipeline.cli.printer import note

__all__ = ["note_faults"]

MOST: Final = 20
"""One file can fail hundreds of shards; all of them are in the JSON."""


def note_faults(warnings: Sequence[str]) -> None:
    """Write the first of some warnings to stderr, and how many there are more."""
    for warning in warnings[:MOST]:
        note(f"offbeat: {warning}")
    if len(warnings) > MOST:
        note(f"offbeat: and {len(warnings) - MOST} more; --json lists them all")
