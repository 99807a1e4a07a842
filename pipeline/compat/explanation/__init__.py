"""Where the excess of a link comes from: which bursts of which jobs overlap, before and after."""

from __future__ import annotations

from pipeline.compat.explanation.causes import Scene
from pipeline.compat.explanation.overlaps import Overlap, Side
from pipeline.compat.explanation.result import Explanation, explain_scenes
from pipeline.compat.explanation.scenes import Scenes, scenes_of, scenes_without_beat

__all__ = ["Explanation", "Overlap", "Scene", "Scenes", "Side", "explain_scenes", "scenes_of", "scenes_without_beat"]
