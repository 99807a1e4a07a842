"""Properties are held without a deadline an example: the first one waits for loops to be compiled."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("compiled", deadline=None)
settings.load_profile("compiled")
