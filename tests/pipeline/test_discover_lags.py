"""Jobs whose ports do not beat at once, on an uplink that carries them all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from pipeline.discover import Discovery, find_jobs, gather
from profiler.signals import RateSeries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

T0_NS = 1_796_000_000_000_000_000
MS_NS = 1_000_000
N_MS = 60_000
TICK_MS = 10
PERIOD_S = 0.5
UP_MS = 120
NOISE_BPS = 1e8


def _found(lags_s: Sequence[float]) -> tuple[Discovery, float]:
    """Return what is found among ports of one job, each so late, and their sum; and which part of it is the job's."""
    rng = np.random.default_rng(0)
    starts_s = np.cumsum(PERIOD_S * (1 + 0.02 * rng.standard_normal(130))) - PERIOD_S
    edges_ns = T0_NS + np.arange(N_MS // TICK_MS + 1) * TICK_MS * MS_NS
    ports = [_bytes(starts_s + lag_s) for lag_s in lags_s]
    noise = rng.exponential(NOISE_BPS / 8 * TICK_MS / 1e3, N_MS // TICK_MS)
    wires = {f"p{i}": port for i, port in enumerate(ports)} | {"uplink": np.sum(ports, axis=0) + noise}
    series = [
        RateSeries.from_deltas(edges_ns, wire).named(host="sw1", device=name, direction="transmit")
        for name, wire in wires.items()
    ]
    return find_jobs(gather(series)), float(np.sum(ports) / (np.sum(ports) + noise.sum()))


def _bytes(starts_s: NDArray[np.float64]) -> NDArray[np.float64]:
    up = np.zeros(N_MS)
    for start_ms in (1e3 * starts_s).astype(np.int64):
        up[max(start_ms, 0) : max(start_ms + UP_MS, 0)] = 6e9 / 8 / 1e3
    per_tick: NDArray[np.float64] = up.reshape(-1, TICK_MS).sum(axis=1)
    return per_tick


@pytest.mark.parametrize("lags_s", [(0.0, 0.25), (0.0, 0.0, 0.25, 0.25)], ids=len)
def test_a_job_whose_beat_cancels_on_an_uplink_is_found_there(lags_s: tuple[float, ...]) -> None:
    # Half of the ports burst half a period after the others, so that the uplink beats twice as fast as any of them.
    found, share_frac = _found(lags_s)
    assert len(found.jobs) == 1
    job = found.jobs[0]
    assert job.period_s == pytest.approx(PERIOD_S, rel=0.01)
    assert {one.device for one in job.own} == {f"p{i}" for i in range(len(lags_s))}
    assert [one.device for one in job.uplinks] == ["uplink"]
    assert job.uplinks[0].share_frac == pytest.approx(share_frac, abs=0.03)
    assert found.skipped == ()
