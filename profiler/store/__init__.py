"""The lake: one folder of Parquet files and the SQLite manifest that says which of them count.

::

    LAKE/manifest.sqlite                                    what counts; WAL
    LAKE/samples/date=YYYY-MM-DD/<host>-<t0>-<hash>.parquet counter readings, sorted by (series_id, t_ns)
    LAKE/<table>/<hash>.parquet                             every other table but recordings, which is in the manifest
    LAKE/writers.lock                                       one byte range a recording that is being written

A file is written to a temporary name, synced, renamed, its folder synced, and only then named in the manifest.
Readers trust the manifest alone, so whatever a kill leaves behind is never read, and is swept later. A lake belongs on
a file system of this host: SQLite's WAL does not work across hosts. A copy of it can be read from a bucket (`push`).
"""

from profiler.store.check import LakeCheck, check_lake
from profiler.store.compaction import Compaction, compact
from profiler.store.lake import Lake
from profiler.store.recording import Recording, file_digest, recording_id
from profiler.store.remote.attached import attach
from profiler.store.remote.push import Pushed, push
from profiler.store.series import Counter, Series, series_id
from profiler.store.writer import LakeWriter

__all__ = [
    "Compaction",
    "Counter",
    "Lake",
    "LakeCheck",
    "LakeWriter",
    "Pushed",
    "Recording",
    "Series",
    "attach",
    "check_lake",
    "compact",
    "file_digest",
    "push",
    "recording_id",
    "series_id",
]
