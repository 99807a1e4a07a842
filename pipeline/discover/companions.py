"""`weak_groups`: ports none of which beats alone, but which do alike, and beat together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pipeline.discover.groups import Group, grown, line_energy
from pipeline.discover.periods import Beat, beat_together
from pipeline.discover.templates import MIN_LINES, template_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.discover.ports import SeenPort
    from pipeline.discover.spectra import Spectra

__all__ = ["weak_groups"]


def weak_groups(
    ports: Sequence[SeenPort], spectra: Spectra, *, rows: Sequence[int]
) -> tuple[list[tuple[Group, Beat]], dict[int, str]]:
    """Return groups among these ports that beat together, and why the ports of other groups do not.

    Ports of two cables at least must do alike: the two directions of one share whatever its host does. Much else makes
    ports alike, such as storage that all read at once; so each group must have a comb of lines together that noise has
    not (`profiler.ports`).
    """
    energy = line_energy(spectra)
    n_lines = np.count_nonzero(spectra.is_line, axis=1)
    left = [row for row in sorted(rows, key=lambda row: -energy[row]) if n_lines[row] >= MIN_LINES]
    found: list[tuple[Group, Beat]] = []
    reasons: dict[int, str] = {}
    while left:
        group = grown(ports, left[0], rows=left, spectra=spectra, period_s=None)
        taken = set(group.rows)
        left = [row for row in left if row not in taken]
        members = [ports[row] for row in group.rows]
        if len({port.unit for port in members}) < 2:
            continue
        beat = beat_together(members)
        if isinstance(beat, str):
            reasons |= {
                row: f"does as {len(members) - 1} others do, but they have no beat: {beat}" for row in group.rows
            }
        else:
            found.append((_sharpened(group, beat, spectra), beat))
    return found, reasons


def _sharpened(group: Group, beat: Beat, spectra: Spectra) -> Group:
    """Return the group with the lines of its period alone in its template, if it is known and they are enough."""
    template = template_of(spectra, group.rows, lags_s=group.lag_s, period_s=beat.period_s)
    return replace(group, template=template) if template.tells else group
