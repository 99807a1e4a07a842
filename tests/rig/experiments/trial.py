"""`Trial`: one round: the jobs unmanaged, what is predicted from their counters, and the jobs held to its slots."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.rig.claim import draw_jobs, measure
from tests.rig.experiments.forecast import forecast
from tests.rig.spec import Pace

if TYPE_CHECKING:
    from tests.rig.claim import Round, Runs
    from tests.rig.experiments.forecast import Forecast
    from tests.rig.rig import Rig

__all__ = ["Trial", "run_trials"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What was predicted of a round, and what was measured; ``paced`` is None where a job had no period to hold."""

    forecast: Forecast
    unmanaged: Round
    paced: Round | None


def run_trials(rig: Rig, runs: Runs) -> Iterator[Trial]:
    """Run rounds, and yield each as it ends.

    Parameters
    ----------
    rig : Rig
        A rig that stands.
    runs : Runs
        How many, how long.

    Notes
    -----
    Both runs of a round have the same start offsets and jitter, drawn anew for each round, and the switch's counters
    are sampled in both, so that sampling burdens both alike. The forecast is made from the counters of the unmanaged
    run alone, between the two, while no job runs.
    """
    draws = random.Random(runs.seed)  # noqa: S311 - not cryptography
    with tempfile.TemporaryDirectory(prefix="offbeat-rig-") as scratch:
        folder = runs.keep or Path(scratch)
        cluster = folder / "cluster.toml"
        cluster.write_text(rig.network.cluster_toml(), encoding="ascii")
        for i_round in range(runs.n_rounds):
            jobs = draw_jobs(rig.spec.jobs, draws, i_round=i_round, spread_s=runs.offset_spread_s)
            free, held = (folder / f"round{i_round}_{mode}" for mode in ("unmanaged", "paced"))
            unmanaged = measure(rig, jobs, {}, i_round=i_round, seconds=runs.seconds, stem=free)
            told = forecast(
                free.with_suffix(".csv.gz"), cluster=cluster, lake=Path(scratch) / f"lake{i_round}", seed=i_round
            )
            paces = {
                shift.job: Pace(period_s=shift.pace_period_s, shift_s=shift.communication_s) for shift in told.shifts
            }
            paced = measure(rig, jobs, paces, i_round=i_round, seconds=runs.seconds, stem=held) if paces else None
            yield Trial(forecast=told, unmanaged=unmanaged, paced=paced)
