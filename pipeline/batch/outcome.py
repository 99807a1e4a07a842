"""`run_shard`: what an engine runs, in whatever process; a shard that fails is told and costs no other."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.batch.compute import profile_shard
from pipeline.batch.sealed import check_sealed
from pipeline.batch.shard import tool_version
from profiler.errors import LakeError, OffbeatError

if TYPE_CHECKING:
    from pipeline.batch.shard import Shard
    from pipeline.batch.work import Work

__all__ = ["Outcome", "run_shard"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a shard ended: what it took, and why it failed, None if its result is in the work folder.

    ``is_unread`` tells that it failed since a file of the lake could not be read, or is not what was sealed.
    """

    key: str
    spent_s: float = 0.0
    fault: str | None = None
    is_unread: bool = False


def run_shard(shard: Shard, work: Work) -> Outcome:
    """Profile a shard and keep the result in the work folder, if its files are those that were sealed."""
    start_s = time.monotonic()
    if shard.version != tool_version():
        why = f"this node has Offbeat {tool_version()}, the caller {shard.version}; install the same on every node"
        return Outcome(key=shard.key, fault=why)
    fault: str | None = None
    try:
        check_sealed(shard)
        work.write(shard.key, profile_shard(shard))
    except LakeError as error:
        return Outcome(key=shard.key, spent_s=time.monotonic() - start_s, fault=str(error), is_unread=True)
    except OffbeatError as error:
        fault = str(error)
    except MemoryError:
        fault = "memory ran out; use fewer processes, --workers 1"
    except Exception as error:  # noqa: BLE001 - one shard must not cost the others; the fault is told
        fault = f"failed with {type(error).__name__}: {error}; the fault is Offbeat's, please report it"
    return Outcome(key=shard.key, spent_s=time.monotonic() - start_s, fault=fault)
