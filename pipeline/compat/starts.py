"""Where descents begin: shifts that are good already."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from pipeline.compat.layout import MIDDLES, move_job

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.compat.board import Board
    from pipeline.compat.demand import Demand
    from pipeline.deadline import Deadline

__all__ = ["end_to_end", "greedy_shifts"]


def greedy_shifts(board: Board, demands: Sequence[Demand], *, deadline: Deadline) -> NDArray[np.int64]:
    """Place one job after the other where it does least harm, the largest first; all others once the time is up at 0.

    The shift of the first job is 0.
    """
    order = sorted(range(len(demands)), key=lambda i: (-demands[i].mean_bps, i))
    shifts_ns = np.zeros(len(demands), dtype=np.int64)
    beside = np.zeros(len(demands), dtype=np.bool_)
    for before, i_job in pairwise(order):
        if deadline.is_over():
            break
        beside[before] = True
        move_job(board, shifts_ns, i_job, beside, MIDDLES)
    begun_ns: NDArray[np.int64] = (shifts_ns - shifts_ns[0]) % board.jobs.period_ns
    return begun_ns


def end_to_end(demands: Sequence[Demand]) -> NDArray[np.int64] | None:
    """Let each job begin to send when the one before it ends, round and round; None if not all are on/off alike.

    The number of jobs that send at once then differs by at most one over the period, which is the optimum if all send
    at the same rate.
    """
    periods_ns = {demand.period_ns for demand in demands}
    if len(periods_ns) > 1 or any(demand.edges_ns.size != 2 for demand in demands):
        return None
    high = np.array([int(demand.rate_bps.argmax()) for demand in demands])
    begins_ns = np.array([demand.edges_ns[i] for i, demand in zip(high, demands, strict=True)])
    widths_ns = np.array([demand.widths_ns[i] for i, demand in zip(high, demands, strict=True)])
    turn_ns = np.cumsum(widths_ns) - widths_ns
    shifts_ns: NDArray[np.int64] = (turn_ns - begins_ns + begins_ns[0]) % demands[0].period_ns
    return shifts_ns
