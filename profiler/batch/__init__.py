"""The profiles of many series, on several processes and in bounded memory."""

from __future__ import annotations

from profiler.batch.many import profile_many

__all__ = ["profile_many"]
