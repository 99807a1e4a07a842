"""The ports of a lake profiled in shards: on processes of this machine, on a Ray cluster, or by a job array.

`plan_shards` divides ports by host, and time by windows; `profile_shard` is the pure function; an `Engine` runs it on
many shards, wherever; `Work` keeps what is finished; `profile_ports` is all of that in order.
"""

from __future__ import annotations

from pipeline.batch.compute import SeriesProfile, profile_shard
from pipeline.batch.engines import ENGINES, Engine, EngineName
from pipeline.batch.files import SampleFile
from pipeline.batch.finished import OnPort
from pipeline.batch.options import BatchOptions, Share
from pipeline.batch.plan import plan_shards
from pipeline.batch.run import PortProfiles, ShareRun, profile_ports, profile_share
from pipeline.batch.shard import Shard, tool_version
from pipeline.batch.work import Work

__all__ = [
    "ENGINES",
    "BatchOptions",
    "Engine",
    "EngineName",
    "OnPort",
    "PortProfiles",
    "SampleFile",
    "SeriesProfile",
    "Shard",
    "Share",
    "ShareRun",
    "Work",
    "plan_shards",
    "profile_ports",
    "profile_shard",
    "profile_share",
    "tool_version",
]
