"""The compiled simulator against its twin in plain Python, which holds its slots by the real pacer."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.simulation import Pace, SimulatedJob, Step, simulate
from pipeline.simulation.sharing import share_links
from pipeline.simulation.workload import draw_delays, extent_of, world_of
from tests.pipeline.plain_simulator import PlainJob, fair_rates, run_plainly
from tests.reference import shared_rates

SEED = 5
RATES = st.floats(0.1, 10)
LINKS = {"x": 1.0, "y": 0.7, "z": 1.6}


@pytest.fixture(autouse=True, scope="module")
def quiet_pacer() -> Iterator[None]:
    """Pacers that let go say so, thousands of times."""
    log = logging.getLogger("profiler.pacer")
    log.setLevel(logging.ERROR)
    yield
    log.setLevel(logging.NOTSET)


@st.composite
def networks(draw: st.DrawFn, *, max_links: int = 3) -> tuple[list[SimulatedJob], dict[str, float]]:
    """Jobs of one step that all send, each with a weight and loads of its own."""
    links = {f"l{i}": draw(RATES) for i in range(draw(st.integers(1, max_links)))}
    jobs = []
    for i in range(draw(st.integers(1, 6))):
        crossed = draw(st.lists(st.sampled_from(sorted(links)), min_size=1, unique=True))
        loads = {link: draw(st.floats(0.1, 1)) for link in crossed}
        step = Step(down_s=0.0, volume_bits=1.0, max_bps=draw(RATES))
        jobs.append(SimulatedJob(name=str(i), steps=(step,), links=loads, weight=draw(RATES)))
    return jobs, links


def shares(jobs: Sequence[SimulatedJob], *, links: Mapping[str, float]) -> list[float]:
    """The compiled shares of jobs that all send."""
    extent = extent_of(jobs, n_iterations=1)
    world = world_of(jobs, capacities=links, older_weight=1.0, first=extent.first)
    network, run = world.network, world.run[0]
    network.jobs["wanted_bps"] = [job.steps[0].max_bps for job in jobs]
    network.sending[:] = np.arange(len(jobs))
    run["n_sending"] = len(jobs)
    share_links(network, run)
    return [float(rate) for rate in network.jobs["rate_bps"]]


@given(networks(max_links=1))
def test_shares_of_one_link_are_the_water_level(network: tuple[list[SimulatedJob], dict[str, float]]) -> None:
    jobs, links = network
    loads = [next(iter(job.loads.values())) for job in jobs]
    # In units of what each puts on the link, a job of weight w and load a has the weight w a.
    wanted = [job.steps[0].max_bps * load for job, load in zip(jobs, loads, strict=True)]
    weights = [job.weight * load for job, load in zip(jobs, loads, strict=True)]
    truth = shared_rates(wanted, weights, links["l0"])
    found = [rate * load for rate, load in zip(shares(jobs, links=links), loads, strict=True)]
    np.testing.assert_allclose(found, truth, rtol=1e-6)


@given(networks())
def test_every_flow_has_what_it_wants_or_the_largest_share_of_a_full_link(
    network: tuple[list[SimulatedJob], dict[str, float]],
) -> None:
    # Which is what makes rates max-min fair, and only one set of rates is (Bertsekas and Gallager, section 6.5.2).
    jobs, links = network
    rates = dict(zip((job.name for job in jobs), shares(jobs, links=links), strict=True))
    used = {link: sum(job.loads.get(link, 0.0) * rates[job.name] for job in jobs) for link in links}
    assert all(used[link] <= bps * (1 + 1e-9) for link, bps in links.items())
    for job in jobs:
        full = [link for link in job.loads if used[link] >= links[link] * (1 - 1e-9)]
        tops = [max(rates[other.name] / other.weight for other in jobs if link in other.loads) for link in full]
        is_largest = any(rates[job.name] / job.weight >= top * (1 - 1e-9) for top in tops)
        assert is_largest or rates[job.name] == pytest.approx(job.steps[0].max_bps, rel=1e-9)


@given(networks())
def test_shares_are_those_of_the_twin(network: tuple[list[SimulatedJob], dict[str, float]]) -> None:
    jobs, links = network
    truth = fair_rates(
        {job.name: job.steps[0].max_bps for job in jobs},
        weight={job.name: job.weight for job in jobs},
        loads={job.name: job.loads for job in jobs},
        capacity=links,
    )
    np.testing.assert_allclose(shares(jobs, links=links), [truth[job.name] for job in jobs], rtol=1e-9)


def test_shares_of_several_links_are_those_of_the_textbook() -> None:
    # Bertsekas and Gallager's chain: the long flow gets what its fullest link gives, the short ones take the rest.
    step = Step(down_s=0.0, volume_bits=1.0, max_bps=9.0)
    crossed = [("x", "y"), ("x",), ("y",), ("y",)]
    jobs = [SimulatedJob(name=str(i), steps=(step,), links=links) for i, links in enumerate(crossed)]
    np.testing.assert_allclose(shares(jobs, links={"x": 1.0, "y": 1.0}), [1 / 3, 2 / 3, 1 / 3, 1 / 3])


def test_a_flow_that_loads_two_links_by_halves_gets_twice_the_rate() -> None:
    step = Step(down_s=0.0, volume_bits=1.0, max_bps=9.0)
    split = SimulatedJob(name="split", steps=(step,), links={"x": 0.5, "y": 0.5})
    assert shares([split], links={"x": 1.0, "y": 1.0}) == pytest.approx([2.0])


def both(
    jobs: Sequence[SimulatedJob], *, n_iterations: int, older_weight: float = 1.0, links: Mapping[str, float] = LINKS
) -> tuple[dict[str, PlainJob], dict[str, tuple[np.ndarray, int, int]]]:
    """The same run by the twin and by the compiled simulator."""
    extent = extent_of(jobs, n_iterations=n_iterations)
    first = extent.first
    delay_s = draw_delays(jobs, first=first, rng=np.random.default_rng(SEED))
    delays_s = {job.name: delay_s[first[i] : first[i + 1]].tolist() for i, job in enumerate(jobs)}
    plain = run_plainly(
        jobs, capacity=links, delays_s=delays_s, n_iterations=extent.n_iterations + 1, older_weight=older_weight
    )
    found = simulate(jobs, capacity_bps=links, n_iterations=n_iterations, older_weight=older_weight, rng=SEED)
    return plain, {run.job: (run.bursts_s, run.n_adjustments, run.n_let_go) for run in found.runs}


@st.composite
def busy_jobs(draw: st.DrawFn) -> list[SimulatedJob]:
    """Jobs of some steps on several links, some of them held to slots that fit and some to slots that do not."""
    jobs = []
    for i in range(draw(st.integers(1, 4))):
        steps = tuple(
            Step(
                down_s=draw(st.sampled_from([0.0, 0.013, 0.05, 0.2])),
                volume_bits=draw(st.floats(0.01, 0.1)),
                max_bps=draw(st.floats(0.3, 2)),
            )
            for _ in range(draw(st.integers(1, 3)))
        )
        crossed = draw(st.lists(st.sampled_from(sorted(LINKS)), unique=True))
        links = {link: draw(st.floats(0.2, 1)) for link in crossed}
        start_s = draw(st.floats(0, 0.3))
        one = SimulatedJob(
            name=f"j{i}", steps=steps, start_s=start_s, jitter_frac=draw(st.floats(0, 0.1)), links=links,
            weight=draw(st.floats(0.5, 2)),
        )  # fmt: skip
        jobs.append(one if draw(st.booleans()) else _held(one, slot_ratio=draw(st.floats(0.8, 1.3))))
    return jobs


def _held(job: SimulatedJob, *, slot_ratio: float) -> SimulatedJob:
    pace = Pace(period_s=round(job.natural_s * slot_ratio, 6), shift_s=round(job.start_s, 6))
    return SimulatedJob(
        name=job.name, steps=job.steps, start_s=job.start_s, jitter_frac=job.jitter_frac, links=job.links,
        weight=job.weight, pace=pace,
    )  # fmt: skip


@settings(max_examples=60)
@given(busy_jobs(), st.sampled_from([1.0, 1.0, 0.8, 1.3]))
def test_compiled_events_are_those_of_the_twin(jobs: list[SimulatedJob], older_weight: float) -> None:
    plain, found = both(jobs, n_iterations=12, older_weight=older_weight)
    for name, one in plain.items():
        bursts_s, n_adjustments, n_let_go = found[name]
        n = min(len(bursts_s), 13)
        np.testing.assert_allclose(bursts_s[:n], one.bursts_s[:n], atol=2e-8)
        assert (n_adjustments, n_let_go) == (one.keeper.n_adjustments, one.keeper.patience.n_let_go)


@pytest.mark.parametrize("slot_ratio", [0.7, 0.9, 0.97])
def test_a_job_that_misses_its_slots_lets_go_and_tries_again_as_the_pacer_does(slot_ratio: float) -> None:
    step = Step(down_s=0.141, volume_bits=0.114, max_bps=1.0)
    job = SimulatedJob(name="A", steps=(step,), jitter_frac=0.05)
    plain, found = both([_held(job, slot_ratio=slot_ratio)], n_iterations=600, links={"x": 1.0})
    keeper = plain["A"].keeper
    bursts_s, n_adjustments, n_let_go = found["A"]
    assert keeper.patience.n_let_go > 1
    assert keeper.patience.n_retries > 0
    assert (n_adjustments, n_let_go) == (keeper.n_adjustments, keeper.patience.n_let_go)
    np.testing.assert_allclose(bursts_s, plain["A"].bursts_s[: len(bursts_s)], atol=1e-6)
