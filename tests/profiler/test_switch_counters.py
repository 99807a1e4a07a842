"""Counters of a real fabric, refreshed each second and polled unevenly: right, or silent."""

from __future__ import annotations

import pytest

from profiler import RateSeries, profile
from profiler.importers import read_counters
from profiler.sources import read_rates
from tests.data import shared

BUSY_BPS = 10e3


@pytest.mark.parametrize(("name", "period_s"), [("Leaf-5_3_1", 25.63), ("Leaf-16_3_2", 11.404)])
def test_a_port_of_the_fabric_has_its_jobs_period_or_none(name: str, period_s: float) -> None:
    rates, problems = read_rates(shared(f"zhejianglab/{name}.csv.gz"), mapping="zhejianglab")
    assert not problems
    found = [profile(rate).period_s for rate in rates]
    assert any(found)
    assert [one for one in found if one] == pytest.approx([period_s] * len([one for one in found if one]), rel=0.01)


@pytest.mark.parametrize("name", ["Leaf-14_all_ports.tar.xz", "Leaf-5_3_1.csv.gz", "Leaf-16_3_2.csv.gz"])
def test_every_busy_port_is_refreshed_each_second_at_a_phase_of_its_own(name: str) -> None:
    counters, problems = read_counters(shared(f"zhejianglab/{name}"), mapping="zhejianglab")
    assert not problems
    phases = []
    for series, t_ns, value, _ in counters:
        mean_bps = 8 * value[1:].sum() / float(t_ns[-1] - t_ns[0]) * 1e9
        rate = RateSeries.from_deltas(t_ns, value[1:])
        assert rate.delta_bytes.sum() == value[1:].sum()
        if "M-GigabitEthernet" in series.device:
            assert rate.refresh_s is None
        elif mean_bps > BUSY_BPS:
            assert rate.refresh_s == pytest.approx(1.0, abs=1e-4)
            assert rate.n_stale > 0.3 * t_ns.size
            assert any(
                period_s == pytest.approx(60 / n, rel=0.005) for period_s in rate.poll_periods_s for n in range(1, 13)
            )
            assert rate.refresh_phase_s is not None
            phases.append(rate.refresh_phase_s)
    if len(phases) > 100:
        assert max(phases) - min(phases) > 0.5
