"""How long the jobs of each link were Up together: told by SQL, some links at a time, and anew only for new data."""

from __future__ import annotations

from pipeline.overlaps.find import find_overlaps

__all__ = ["find_overlaps"]
