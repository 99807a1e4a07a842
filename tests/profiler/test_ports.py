from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from profiler.ports import detect_together
from profiler.signals import RateSeries
from profiler.synth import NON_PERIODIC, Burst, draw_trace
from tests.profiler.refreshed_ports import job_traffic, noise_traffic, ports_of, seen_at

if TYPE_CHECKING:
    from profiler.ports import PortsEstimate

PHASES_S = (0.05, 0.21, 0.43, 0.62, 0.87)
DURATION_S = 1500.0


def _estimate(seed: int, *, period_s: float, noise_bps: float = 0.0, n_ports: int = 5) -> PortsEstimate:
    rng = np.random.default_rng(seed)
    traffic = job_traffic(rng, period_s=period_s, duration_s=DURATION_S)
    return detect_together(
        ports_of(rng, traffic, phases_s=PHASES_S[:n_ports], duration_s=DURATION_S, noise_bps=noise_bps)
    )


@pytest.mark.parametrize("period_s", [5.1, 11.404, 25.63])
def test_ports_of_one_job_have_its_period(period_s: float) -> None:
    estimate = _estimate(1, period_s=period_s, noise_bps=5e9)
    assert estimate.status == "periodic"
    assert estimate.period_s == pytest.approx(period_s, rel=1e-3)
    assert all(port.agrees for port in estimate.ports)


@pytest.mark.parametrize("period_s", [1.37, 1.72, 1.9])
def test_a_period_shorter_than_two_ticks_is_picked_among_its_aliases(period_s: float) -> None:
    estimate = _estimate(2, period_s=period_s)
    assert estimate.period_s == pytest.approx(period_s, rel=1e-3)
    assert estimate.alias_margin is not None
    assert estimate.alias_margin > 9
    base = max(estimate.aliases, key=lambda alias: alias.period_s)
    assert base.period_s > 2.0
    picked = next(alias for alias in estimate.aliases if alias.period_s == pytest.approx(period_s, rel=1e-3))
    assert picked.agreement > 0.95 > 0.7 > base.agreement
    assert picked.chance < 0.01


def test_ports_that_tick_together_cannot_tell_aliases_apart() -> None:
    rng = np.random.default_rng(3)
    traffic = job_traffic(rng, period_s=1.37, duration_s=DURATION_S)
    estimate = detect_together(ports_of(rng, traffic, phases_s=[0.4] * 4, duration_s=DURATION_S))
    assert estimate.status == "undersampled"
    assert estimate.period_s is None
    assert any(alias_s == pytest.approx(1.37, rel=0.002) for alias_s in estimate.alias_periods_s)


def test_counters_copied_at_one_instant_under_different_times_tell_nothing_of_aliases() -> None:
    rng = np.random.default_rng(4)
    traffic = job_traffic(rng, period_s=3.6, duration_s=DURATION_S, bursts=[Burst(0.2, 0.5, 4e9)])
    steady = noise_traffic(rng, duration_s=DURATION_S, noise_bps=1e9)
    ports = [
        seen_at(rng, traffic.plus(steady), phase_s=0.3, duration_s=DURATION_S, name=f"p{i}")
        for i in range(len(PHASES_S))
    ]
    late = [
        replace(port, edges_ns=port.edges_ns + int(0.6 * phase_s * 1e9))
        for port, phase_s in zip(ports, PHASES_S, strict=True)
    ]
    estimate = detect_together(late)
    assert estimate.status == "undersampled"
    assert "one instant" in estimate.reason


def test_a_rate_that_would_have_to_be_negative_rules_its_alias_out() -> None:
    rng = np.random.default_rng(5)
    bursts = [Burst(0.0, 1.0, 1e9), Burst(0.4, 0.15, 40e9)]
    traffic = job_traffic(rng, period_s=2.737, duration_s=DURATION_S, bursts=bursts)
    estimate = detect_together(ports_of(rng, traffic, phases_s=[0.4, 0.4], duration_s=DURATION_S))
    assert estimate.period_s == pytest.approx(2.737, rel=1e-3)
    # Six of seven parts of the mean are the burst's; its line has sinc(0.15) of them, and the first alias is at 1 - f.
    amplitude = 6 / 7 * np.sinc(0.15) * np.sinc(1 / 2.737) / np.sinc(1 - 1 / 2.737)
    assert estimate.alias_margin == pytest.approx(amplitude, rel=0.05)
    assert [alias.possible for alias in estimate.aliases] == [True] + [False] * (len(estimate.aliases) - 1)


def test_a_job_too_weak_for_two_ports_is_found_on_eight() -> None:
    rng = np.random.default_rng(1)
    traffic = job_traffic(rng, period_s=11.404, duration_s=DURATION_S, bursts=[Burst(0.2, 0.5, 6e9)], jitter_frac=0.0)
    ports = ports_of(rng, traffic, phases_s=np.linspace(0, 0.9, 8), duration_s=DURATION_S, noise_bps=45e9)
    assert [detect_together(ports[i : i + 2]).period_s for i in range(0, 8, 2)] == [None] * 4
    estimate = detect_together(ports)
    assert estimate.period_s == pytest.approx(11.404, rel=5e-3)
    assert estimate.chance is not None
    assert estimate.chance < 1e-11


def test_more_ports_give_a_smaller_interval_that_holds_the_truth() -> None:
    rng = np.random.default_rng(7)
    traffic = job_traffic(rng, period_s=11.404, duration_s=DURATION_S, jitter_frac=0.0)
    ports = ports_of(rng, traffic, phases_s=np.linspace(0, 0.9, 8), duration_s=DURATION_S, noise_bps=40e9)
    pairs = [detect_together(ports[i : i + 2]) for i in range(0, 8, 2)]
    together = detect_together(ports)
    assert together.error_s is not None
    errors_s = [pair.error_s for pair in pairs if pair.error_s is not None]
    assert len(errors_s) == 4
    assert together.error_s < 0.8 * float(np.median(errors_s))
    assert together.low_s is not None
    assert together.high_s is not None
    assert together.low_s <= 11.404 <= together.high_s


def test_a_port_that_is_late_says_by_how_much() -> None:
    rng = np.random.default_rng(8)
    traffic = job_traffic(rng, period_s=11.404, duration_s=DURATION_S)
    later = replace(traffic, edges_s=traffic.edges_s + 2.0)
    ports = [
        seen_at(rng, one, phase_s=phase_s, duration_s=DURATION_S, name=f"p{i}")
        for i, (one, phase_s) in enumerate([(traffic, 0.1), (traffic, 0.5), (later, 0.8)])
    ]
    first, second, third = (port.delay_s for port in detect_together(ports).ports)
    assert first is not None
    assert second is not None
    assert third is not None
    assert second - first == pytest.approx(0.0, abs=0.1)
    assert third - first == pytest.approx(2.0, abs=0.1)


def test_ports_of_two_jobs_have_no_period_together() -> None:
    rng = np.random.default_rng(9)
    ports = []
    for period_s in (11.404, 25.63):
        traffic = job_traffic(rng, period_s=period_s, duration_s=DURATION_S)
        ports += ports_of(rng, traffic, phases_s=PHASES_S[:2], duration_s=DURATION_S, noise_bps=2e9)
    estimate = detect_together(ports)
    assert estimate.period_s is None
    assert "not common" in estimate.reason
    named = {port.own_period_s for port in estimate.ports if port.agrees}
    assert len({round(period_s) for period_s in named}) == 1


def test_a_stranger_among_ports_is_named() -> None:
    rng = np.random.default_rng(10)
    ours = ports_of(
        rng,
        job_traffic(rng, period_s=11.404, duration_s=DURATION_S),
        phases_s=PHASES_S[:3],
        duration_s=DURATION_S,
    )
    other = job_traffic(rng, period_s=25.63, duration_s=DURATION_S)
    stranger = seen_at(rng, other, phase_s=0.7, duration_s=DURATION_S, name="stranger")
    estimate = detect_together([*ours, stranger])
    assert estimate.period_s == pytest.approx(11.404, rel=1e-3)
    assert [port.name for port in estimate.ports if not port.agrees] == ["stranger"]
    assert "stranger" in estimate.reason


@pytest.mark.parametrize("family", sorted(NON_PERIODIC))
def test_traffic_without_a_period_has_none_at_many_ports_either(family: str) -> None:
    rng = np.random.default_rng(11)
    one = draw_trace(family, seed=3).series
    noise = rng.uniform(0.9, 1.1, (2, one.n_samples))
    ports = [replace(one, delta_bytes=one.delta_bytes * row, device=f"p{i}") for i, row in enumerate(noise)]
    assert detect_together(ports).period_s is None


def test_what_cannot_be_judged_has_a_status() -> None:
    empty = RateSeries.from_counter([], [])
    edges_ns = np.arange(201) * 1_000_000_000
    idle = RateSeries.from_deltas(edges_ns, np.zeros(200))
    steady = RateSeries.from_deltas(edges_ns, np.full(200, 1e9))
    brief = RateSeries.from_deltas(edges_ns[:11], np.arange(10.0) * 1e8)
    assert detect_together([]).status == "no_data"
    assert detect_together([empty, empty]).status == "no_data"
    assert detect_together([steady]).status == "insufficient"
    assert detect_together([idle, idle]).status == "idle"
    assert detect_together([steady, steady]).status == "constant"
    assert detect_together([brief, brief]).status == "insufficient"


def test_recordings_that_do_not_overlap_are_not_judged_together() -> None:
    rng = np.random.default_rng(12)
    traffic = job_traffic(rng, period_s=11.404, duration_s=DURATION_S)
    first, second = ports_of(rng, traffic, phases_s=PHASES_S[:2], duration_s=DURATION_S)
    much_later = replace(second, edges_ns=second.edges_ns + int(3600e9))
    estimate = detect_together([first, much_later])
    assert estimate.status == "insufficient"
    assert "overlap" in estimate.reason


def test_an_estimate_is_json_and_rows() -> None:
    estimate = _estimate(13, period_s=11.404, n_ports=3)
    document = json.loads(json.dumps(estimate.to_dict(), allow_nan=False))
    assert document["status"] == "periodic"
    assert len(document["ports"]) == 3
    assert estimate.to_pandas()["agrees"].all()
    assert "PortsEstimate(periodic, period 11.4" in repr(estimate)
    assert estimate.plot().to_dict()["mark"]["type"] == "bar"
