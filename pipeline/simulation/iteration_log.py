"""What a job logged of a run: when each iteration began, first sent, and ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from profiler.errors import BadInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LOG_COLUMNS", "check_log", "read_log"]

LOG_COLUMNS: Final = ("start", "first sent", "end")
"""Of an iteration, as the rig's jobs and `sample_data` log them."""

MIN_ITERATIONS: Final = 20
"""A spread of fewer is a guess."""

NS_PER_S: Final = 1e9


def read_log(document: Mapping[str, Any], *, place: str = "log") -> dict[str, NDArray[np.float64]]:
    """Read ``{job: [[start_ns, first_sent_ns, end_ns], …]}``, as seconds after the first start of all.

    Raises
    ------
    BadInput
        If the document is anything else, times go back, or a job has too few iterations.
    """
    logs = {job: _times_ns(rows, place=f"{place}: job {job}") for job, rows in document.items()}
    if not logs:
        raise BadInput(f"{place}: no job; expected {{job: [[start_ns, first_sent_ns, end_ns], …]}}")
    origin_ns = min(int(times_ns[0, 0]) for times_ns in logs.values())
    log = {job: (times_ns - origin_ns) / NS_PER_S for job, times_ns in logs.items()}
    check_log(log, place=place)
    return log


def check_log(log: Mapping[str, NDArray[np.float64]], *, place: str = "log") -> None:
    """Refuse times, shape (n_iterations, 3), that are not finite, go back, or are of too few iterations.

    Raises
    ------
    BadInput
        With the job and iteration where that is so.
    """
    for job, times_s in log.items():
        if times_s.ndim != 2 or times_s.shape[1] != len(LOG_COLUMNS):
            raise BadInput(f"{place}: job {job}: shape {times_s.shape}, expected (n_iterations, 3)")
        if len(times_s) < MIN_ITERATIONS:
            raise BadInput(f"{place}: job {job}: {len(times_s)} iterations; log at least {MIN_ITERATIONS}")
        in_order_s = times_s.ravel()
        is_wrong = ~np.isfinite(in_order_s)
        is_wrong[1:] |= in_order_s[1:] < in_order_s[:-1]
        if is_wrong.any():
            i_iteration, i_column = divmod(int(is_wrong.argmax()), len(LOG_COLUMNS))
            raise BadInput(
                f"{place}: job {job}: iteration {i_iteration + 1}: {LOG_COLUMNS[i_column]} is "
                f"{times_s[i_iteration, i_column]}: before what comes before it, or not finite; give iterations in "
                "order of time"
            )


def _times_ns(rows: object, *, place: str) -> NDArray[np.int64]:
    if not isinstance(rows, Sequence) or isinstance(rows, str) or not rows:
        raise BadInput(f"{place}: expected a list of [start_ns, first_sent_ns, end_ns]")
    for i, row in enumerate(rows, start=1):
        if not _is_row(row):
            raise BadInput(f"{place}: iteration {i}: {str(row)[:60]}; expected [start_ns, first_sent_ns, end_ns]")
    return np.array(rows, dtype=np.int64)


def _is_row(row: object) -> bool:
    return (
        isinstance(row, Sequence)
        and len(row) == len(LOG_COLUMNS)
        and all(isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 for value in row)
    )
