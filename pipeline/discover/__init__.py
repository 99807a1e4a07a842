"""Jobs found by their beat: ports that beat together are grouped, without a scheduler's help."""

from __future__ import annotations

from pipeline.discover.fleet import gather
from pipeline.discover.keeping import check_known, keep_found
from pipeline.discover.lake import discover_lake
from pipeline.discover.result import MEMBER_COLUMNS, Discovery, FoundJob, Member, Role, Skipped
from pipeline.discover.search import find_jobs

__all__ = [
    "MEMBER_COLUMNS",
    "Discovery",
    "FoundJob",
    "Member",
    "Role",
    "Skipped",
    "check_known",
    "discover_lake",
    "find_jobs",
    "gather",
    "keep_found",
]
