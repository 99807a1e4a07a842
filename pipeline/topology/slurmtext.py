"""Jobs and their nodes from Slurm, as ``scontrol show job`` prints them without ``--json``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pipeline.topology.slurm import read_slurm

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.topology.facts import Facts

__all__ = ["is_slurm_text", "read_slurm_text"]

_EMPTY: Final = "No jobs in the system"
_JOB: Final = re.compile(r"^JobId=(?=\d)", re.MULTILINE)
_KEYS: Final = {
    "HetJobId": "het_job_id",
    "HetJobOffset": "het_job_offset",
    "ArrayJobId": "array_job_id",
    "ArrayTaskId": "array_task_id",
    "JobState": "job_state",
    "Reason": "state_reason",
    "NodeList": "nodes",
}
"""The text's names, and those of the JSON. Times are left out: their zone is not told."""
_FIELD: Final = re.compile(rf"(?<!\S)({'|'.join(_KEYS)})=(\S*)")
_NULL: Final = "(null)"
MAX_DIGITS: Final = 12
"""A number of so many digits is no number of a job."""


def is_slurm_text(text: str) -> bool:
    """Return whether a text is of ``scontrol show job``, with or without ``-o``."""
    return text.lstrip().startswith(("JobId=", _EMPTY))


def read_slurm_text(text: str, *, path: Path) -> Facts:
    """Return the jobs that run, as `read_slurm` does."""
    return read_slurm({"jobs": [_job(block) for block in _JOB.split(text)[1:]]}, path=path)


def _job(block: str) -> dict[str, str | int]:
    """Return one job; of a key that stands twice, as in a name given by a user, the last, which Slurm wrote."""
    job: dict[str, str | int] = {"job_id": block.split(maxsplit=1)[0]}
    for name, value in _FIELD.findall(block):
        if value != _NULL:
            job[_KEYS[name]] = int(value) if value.isascii() and value.isdigit() and len(value) < MAX_DIGITS else value
    return job
