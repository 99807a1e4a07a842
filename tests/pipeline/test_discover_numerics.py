from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from pipeline.discover import find_jobs
from pipeline.discover.drift import locks
from pipeline.discover.matches import match
from pipeline.discover.ports import SeenPort, seen_port
from pipeline.discover.shares import MAX_FALSE_FRAC, carried, likely, reference_of
from pipeline.discover.spectra import fleet_spectra
from pipeline.discover.templates import template_of
from pipeline.discover.ticks import common_ticks, on_ticks
from profiler.phases import TrafficProfile

N_TICKS = 1800
Floats = NDArray[np.float64]


def _port(rate_bps: Floats, *, t0_s: float = 0.0, name: str = "p") -> SeenPort:
    return SeenPort(
        host="sw1",
        device=name,
        port="",
        direction="transmit",
        t0_s=t0_s,
        dt_s=1.0,
        rate_bps=rate_bps.astype(np.float32),
        known=np.ones(rate_bps.size, dtype=np.bool_),
        read_hz=None,
        status="periodic",
        reason="",
        period_s=12.0,
        confidence=0.99,
        n_periods=1,
        mean_bps=float(rate_bps.mean()),
    )


def _beat(starts_s: Floats, *, t0_s: float = 0.0) -> Floats:
    """Return the exact mean rate in each second from ``t0_s`` on of bursts of 3.5 s at 10 Gb/s."""
    knots_s = np.stack([starts_s, starts_s + 3.5], axis=1).ravel()
    up_s = np.append(0.0, np.cumsum(np.where(np.arange(knots_s.size - 1) % 2 == 0, np.diff(knots_s), 0.0)))
    rate_bps: Floats = 1e10 * np.diff(np.interp(t0_s + np.arange(N_TICKS + 1), knots_s, up_s))
    return rate_bps


def _starts(rng: np.random.Generator, *, jitter_frac: float = 0.01) -> Floats:
    lengths_s = 12.0 * (1 + jitter_frac * rng.standard_normal(N_TICKS // 12 + 20))
    starts_s: Floats = np.cumsum(lengths_s) - 30.0
    return starts_s


def _noise(rng: np.random.Generator) -> Floats:
    return 3e8 * rng.standard_normal(N_TICKS)


def test_a_wave_of_six_ticks_is_the_same_wherever_ports_tick() -> None:
    edges_s = np.arange(N_TICKS + 1)
    waves = [np.diff(-np.cos(2 * np.pi * (edges_s + t0_s) / 6.0)) + 5.0 for t0_s in (0.0, 0.5)]
    ports = [_port(wave, t0_s=t0_s) for wave, t0_s in zip(waves, (0.0, 0.5), strict=True)]
    ticks = common_ticks(ports, most=8192)
    assert ticks is not None
    (first, known), (second, _) = (on_ticks(port, ticks) for port in ports)
    inner = slice(10, -10)
    assert known[inner].all()
    assert np.abs(first - second)[inner].max() < 0.05 * np.ptp(first)


def test_a_port_keeps_its_lag_and_another_job_of_its_period_drifts() -> None:
    rng = np.random.default_rng(1)
    own, other = _starts(rng), _starts(rng)
    ports = [_port(_beat(own + lag_s) + _noise(rng), name=f"own{lag_s}") for lag_s in (0.0, 2.6)]
    ports.append(_port(_beat(other) + _noise(rng), name="other"))
    ticks = common_ticks(ports, most=8192)
    assert ticks is not None
    spectra = fleet_spectra(ports, ticks)
    template = template_of(spectra, [0], lags_s=np.zeros(1), period_s=12.0)
    rows = np.array([1, 2])
    found = match(template, spectra, rows=rows)
    assert found.lag_s[0] == pytest.approx(2.6, abs=0.2)
    kept = locks(template, spectra, rows=rows, lags_s=found.lag_s)
    assert kept.is_locked.tolist() == [True, False]
    assert kept.spread_s[0] < 0.3


def test_a_port_is_regressed_on_the_jobs_that_it_carries() -> None:
    rng = np.random.default_rng(2)
    jobs = [_beat(_starts(rng)) for _ in range(3)]
    own = [_port(job + _noise(rng), name=f"own{i}") for i, job in enumerate(jobs)]
    uplink = _port(0.2 * jobs[0] + 0.1 * jobs[1] + 2 * _noise(rng) + 5e9, name="up")
    ticks = common_ticks(own, most=8192)
    assert ticks is not None
    spectra = fleet_spectra([*own, uplink], ticks)
    templates = [template_of(spectra, [i], lags_s=np.zeros(1), period_s=12.0) for i in range(3)]
    references = [
        reference_of([port], ticks, lags_s=np.zeros(1), template=template)
        for port, template in zip(own, templates, strict=True)
    ]
    found = carried(uplink, ticks, references=references, lags_s=[0.0] * 3, counted=spectra.power[3] > 0)
    assert [one.i_job for one in found] == [0, 1]
    for one, share in zip(found, (0.2, 0.1), strict=True):
        assert one.weight == pytest.approx(share, rel=0.15)
        assert abs(one.weight - share) < 4 * one.error
        assert one.log_chance < -10


def test_likely_tests_are_those_of_benjamini_and_hochberg() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        chances = np.concatenate((rng.uniform(size=40), 10 ** rng.uniform(-9, -3, 10)))
        n_tested = 200
        bound = max(
            (p for p in chances if p * n_tested <= MAX_FALSE_FRAC * np.count_nonzero(chances <= p)), default=-1.0
        )
        assert likely(np.log(chances), n_tested=n_tested).tolist() == (chances <= bound).tolist()
    assert not likely(np.zeros(0), n_tested=5).size


def test_a_trunk_is_no_jobs_own_port_though_it_beats() -> None:
    rng = np.random.default_rng(4)
    job = _beat(_starts(rng))
    ports = [_port(job + _noise(rng), name=f"p{i}") for i in range(2)]
    trunk = replace(_port(0.9 * job + _noise(rng), name="trunk"), is_trunk=True)
    (found,) = find_jobs([*ports, trunk]).jobs
    assert {one.device for one in found.own} == {"p0", "p1"}
    assert [one.device for one in found.uplinks] == ["trunk"]
    assert found.uplinks[0].weight == pytest.approx(0.9, rel=0.05)


def test_the_mean_of_a_port_is_of_all_that_it_moves_not_of_its_first_job() -> None:
    series = _port(_beat(_starts(np.random.default_rng(5)))).to_series()
    first = replace(TrafficProfile.from_phases(period_s=12.0, phases=[(0.0, 3.5, 1e9)]), other_periods_s=(17.0,))
    assert first.mean_bps != pytest.approx(series.mean_bps, rel=0.5)
    assert seen_port(series, first, origin_ns=0).mean_bps == pytest.approx(series.mean_bps)


def _two_jobs_on_an_uplink(*, mean_frac: float) -> list[SeenPort]:
    """Return the ports of two jobs and an uplink that is said to move so much of what it does."""
    rng = np.random.default_rng(6)
    jobs = [_beat(_starts(rng)) for _ in range(2)]
    own = [_port(job + _noise(rng), name=f"j{i}p{k}") for i, job in enumerate(jobs) for k in range(2)]
    uplink = _port(0.7 * jobs[0] + 0.4 * jobs[1] + _noise(rng), name="up")
    uplink = replace(uplink, n_periods=2, mean_bps=mean_frac * uplink.mean_bps)
    return [*own, uplink]


def test_shares_of_an_uplink_are_those_that_it_carries() -> None:
    jobs = find_jobs(_two_jobs_on_an_uplink(mean_frac=1.0)).jobs
    shares = sorted(one.share_frac or 0.0 for job in jobs for one in job.uplinks)
    assert shares == pytest.approx([0.4 / 1.1, 0.7 / 1.1], abs=0.05)
    assert sum(shares) <= 1 + 1e-9


def test_shares_that_would_be_more_than_all_are_not_told() -> None:
    jobs = find_jobs(_two_jobs_on_an_uplink(mean_frac=0.7)).jobs
    members = [one for job in jobs for one in job.uplinks]
    assert [one.device for one in members] == ["up", "up"]
    assert [one.share_frac for one in members] == [None, None]
    assert [one.mean_bps for one in members] == [None, None]
    assert sorted(one.weight for one in members) == pytest.approx([0.4, 0.7], rel=0.1)


def _uplink_of_lagging_ports(lags_s: tuple[float, ...]) -> list[SeenPort]:
    """Return ports of two jobs, those of the first not at once, and their uplink."""
    rng = np.random.default_rng(7)
    starts, others = _starts(rng), _starts(rng)
    own = [_port(_beat(starts + lag_s) + _noise(rng), name=f"a{i}") for i, lag_s in enumerate(lags_s)]
    own += [_port(_beat(others) + _noise(rng), name=f"b{i}") for i in range(2)]
    each = [weight * _beat(starts + lag_s) for weight, lag_s in zip((1.0, 1.0, 0.75, 0.75), lags_s, strict=True)]
    rate_bps = np.sum(each, axis=0) + 1.8 * _beat(others)
    up = replace(_port(rate_bps + 2 * _noise(rng), name="up"), n_periods=2)
    return [*own, up]


def test_an_uplink_carries_ports_that_do_not_beat_at_once_at_their_own_lags() -> None:
    jobs = find_jobs(_uplink_of_lagging_ports((0.0, 0.0, 2.6, 2.6))).jobs
    weights = sorted(one.weight for job in jobs for one in job.uplinks)
    assert weights == pytest.approx([1.8, 3.5], rel=0.1)
    shares = sorted(one.share_frac or 0.0 for job in jobs for one in job.uplinks)
    assert shares == pytest.approx([1.8 / 5.3, 3.5 / 5.3], abs=0.05)


def test_what_is_carried_of_ports_whose_lags_blur_is_not_told() -> None:
    jobs = find_jobs(_uplink_of_lagging_ports((0.0, 0.5, 1.0, 1.4))).jobs
    told = {len(job.own): [one.share_frac is not None for one in job.uplinks] for job in jobs}
    assert told == {4: [False], 2: [True]}


def test_a_sum_of_ports_that_do_not_beat_at_once_is_their_uplink() -> None:
    rng = np.random.default_rng(8)
    starts = _starts(rng)
    own = [_port(_beat(starts + lag_s) + _noise(rng), name=f"p{lag_s}") for lag_s in (0.0, 2.6)]
    trunk = _port(_beat(starts) + _beat(starts + 2.6) + _noise(rng), name="trunk")
    found = find_jobs([*own, trunk])
    (job,) = found.jobs
    assert {one.device for one in job.own} == {"p0.0", "p2.6"}
    assert [one.device for one in job.uplinks] == ["trunk"]
    assert job.uplinks[0].weight == pytest.approx(2.0, rel=0.1)
