"""What of a job's traffic comes in bursts: whatever else its ports move, and however that is spread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from pipeline.discover import find_jobs, gather
from pipeline.discover.floors import swing_of
from tests.pipeline.beating_fleets import draw_fleet, random_plan

if TYPE_CHECKING:
    from numpy.typing import NDArray

N_TICKS = 2400
BURST_BPS = 1e10


def _bursts(*, period: int, width: int) -> NDArray[np.float64]:
    return BURST_BPS * (np.arange(N_TICKS) % period < width).astype(np.float64)


@pytest.mark.parametrize("kind", ["steady", "normal", "exponential"])
@pytest.mark.parametrize("n_ports", [2, 6])
def test_other_traffic_of_a_jobs_ports_is_not_counted_as_its_bursts(kind: str, n_ports: int) -> None:
    rng = np.random.default_rng(11)
    other = {
        "steady": np.full((n_ports, N_TICKS), 3e9),
        "normal": 3e9 + 1e9 * rng.standard_normal((n_ports, N_TICKS)),
        "exponential": rng.exponential(1e9, (n_ports, N_TICKS)),
    }[kind]
    swing = swing_of(_bursts(period=30, width=9) + other, known=np.ones(N_TICKS, dtype=np.bool_))
    assert swing.mean_bps == pytest.approx(0.3 * BURST_BPS, rel=0.02)
    assert swing.low_bps <= 0.3 * BURST_BPS * (1 + 1e-12)
    assert swing.high_bps >= 0.3 * BURST_BPS * (1 - 1e-12)


def test_bursts_without_a_quiet_tick_far_from_them_have_wide_bounds_that_hold_them() -> None:
    rng = np.random.default_rng(12)
    rates_bps = _bursts(period=4, width=1) + rng.exponential(1e9, (4, N_TICKS))
    swing = swing_of(rates_bps, known=np.ones(N_TICKS, dtype=np.bool_))
    assert swing.low_bps <= 0.25 * BURST_BPS <= swing.high_bps


def test_a_port_that_never_bursts_has_no_swing() -> None:
    swing = swing_of(np.full((2, N_TICKS), 5e9), known=np.ones(N_TICKS, dtype=np.bool_))
    assert (swing.low_bps, swing.mean_bps, swing.high_bps) == (0.0, 0.0, 0.0)


def test_rates_told_of_uplinks_are_right_on_average_and_their_bounds_hold_most() -> None:
    off_frac, is_held = [], []
    for seed in (1, 2):
        rng = np.random.default_rng([seed, 77])
        fleet = draw_fleet(rng, random_plan(rng))
        for job in find_jobs(gather(fleet.series)).jobs:
            (name,) = {fleet.own_of[one.device] for one in job.own}
            for one in job.uplinks:
                true_bps = fleet.carried_bps[one.device].get(name)
                if true_bps is None or one.mean_bps is None or not one.device.startswith("up"):
                    continue
                assert one.mean_low_bps is not None
                assert one.mean_high_bps is not None
                off_frac.append(one.mean_bps / true_bps - 1)
                is_held.append(one.mean_low_bps <= true_bps <= one.mean_high_bps)
    assert len(off_frac) > 20
    assert abs(np.median(off_frac)) < 0.06
    assert np.mean(is_held) > 0.85
