"""Ranking: scores, shifts and order of placements, against brute force and arithmetic."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.compat import solve
from pipeline.ranking import rank
from profiler.phases import TrafficProfile
from tests.pipeline.jobs import measured, profile_from, ticked_jobs
from tests.pipeline.placements import candidate, racks, score_at, two_racks
from tests.reference import TickedJob, best_excess

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipeline.ranking import Ranking

TRIANGLE = {"s1": ["a1", "c1"], "s2": ["a2", "b2"], "s3": ["b3", "c3"]}
"""Three racks; jobs A, B and C, each on two of them, meet in a ring: A and B on s2, B and C on s3, C and A on s1."""

ROUND = candidate("round", A="a1 a2", B="b2 b3", C="c3 c1")


def busy(*, up_s: float, period_s: float = 0.2, rate_bps: float = 1e9) -> TrafficProfile:
    return TrafficProfile.from_phases(period_s=period_s, phases=[(0.0, up_s, rate_bps)])


def is_heard(job: TickedJob) -> bool:
    return any(job.rates)


def triangle(uplink_bps: float, **profiles: TrafficProfile) -> Ranking:
    topology = racks(TRIANGLE, trunks={(switch, "core"): uplink_bps for switch in TRIANGLE})
    return rank([ROUND], profiles=profiles, topology=topology)


def order_of(ranking: Ranking) -> list[str]:
    return [one.id for one in ranking.candidates]


def test_every_small_placement_scores_as_its_exhaustive_solution_and_stands_in_that_order() -> None:
    rng = np.random.default_rng(4)
    jobs = {name: TickedJob(tuple(rng.integers(0, 7, size=6).tolist())) for name in "ABC"}
    capacity = 4
    rings = list(permutations(["l1", "l2", "l3", "r1", "r2", "r3"]))
    candidates = [
        candidate(str(i), A=f"{a} {b}", B=f"{c} {d}", C=f"{e} {f}")
        for i, (a, b, c, d, e, f) in enumerate(rng.permutation(rings)[:40])
    ]
    candidates.append(candidate("two cross", A="l1 r1", B="l2 r2"))
    found = rank(
        candidates,
        profiles={name: profile_from(job) for name, job in jobs.items()},
        topology=two_racks(capacity, a_rack=3),
    )
    truth = {}
    for one in candidates:
        across = [jobs[job] for job, (first, second) in one["jobs"].items() if first[0] != second[0]]
        truth[one["id"]] = 1 - float(best_excess(across, capacity) / capacity)
    assert len(set(truth.values())) == 5
    assert order_of(found) == sorted(truth, key=lambda name: -truth[name])
    for ranked in found.candidates:
        assert ranked.score_mean == pytest.approx(truth[ranked.id], abs=1e-12)
        assert ranked.score_worst == ranked.score_mean == ranked.score_bound


@given(jobs=st.lists(ticked_jobs(periods=st.just(5), max_phases=1).filter(is_heard), min_size=3, max_size=3))
def test_jobs_in_a_ring_get_the_shifts_that_are_best_for_all_links_together(jobs: list[TickedJob]) -> None:
    capacity = 8.0
    profiles = dict(zip("ABC", map(profile_from, jobs), strict=True))
    found = triangle(capacity, **profiles).candidates[0]
    pairs = [("A", "C"), ("A", "B"), ("B", "C")]

    def mean_score(shifts_s: Mapping[str, float]) -> float:
        scores = [score_at({job: profiles[job] for job in pair}, shifts_s, capacity_bps=capacity) for pair in pairs]
        return sum(scores) / 3

    ticks = [{"A": 0.0, "B": b * 1e-3, "C": c * 1e-3} for b, c in product(range(5), repeat=2)]
    best = max(map(mean_score, ticks))
    silent = [job for job in "ABC" if job not in found.shifts_s]
    assert found.score_mean == pytest.approx(mean_score(found.shifts_s | dict.fromkeys(silent, 0.0)), abs=1e-9)
    assert found.score_mean is not None
    assert found.score_bound is not None
    assert found.score_mean <= best + 1e-9
    assert found.score_mean >= best - 0.05
    assert found.score_bound >= best - 1e-9


def test_a_loop_that_cannot_please_all_its_links_says_what_they_want_and_what_they_get() -> None:
    # Each pair would interleave alone, but three jobs of 45 % do not fit side by side into one period.
    found = triangle(1e9, A=busy(up_s=0.09), B=busy(up_s=0.09), C=busy(up_s=0.09)).candidates[0]
    # Of 0.27 s of bursts in 0.2 s, 0.07 s overlap, on one uplink of three, in both directions.
    assert found.score_bound == pytest.approx(1.0, abs=1e-12)
    assert found.score_mean == pytest.approx(1 - 0.07 / 0.2 / 3, abs=1e-9)
    assert found.n_links == 6


def test_many_jobs_of_several_bursts_score_what_their_shifts_attain_and_none_can_improve_alone() -> None:
    rng = np.random.default_rng(6)
    capacity, n_ticks = 6.0, 24
    profiles = {name: profile_from(TickedJob(tuple(rng.integers(0, 5, n_ticks).tolist()))) for name in "ABCDEF"}
    places = {name: rng.permutation(4)[:2].tolist() for name in profiles}
    hosts = {f"s{i}": [f"{name}{i}" for name, racks_of in places.items() if i in racks_of] for i in range(4)}
    topology = racks(hosts, trunks={(switch, "core"): capacity for switch in hosts})
    one = {"id": "x", "jobs": {name: [f"{name}{i}" for i in racks_of] for name, racks_of in places.items()}}
    found = rank([one], profiles=profiles, topology=topology).candidates[0]
    shared = [[name for name in profiles if i in places[name]] for i in range(4)]

    def mean_score(shifts_s: Mapping[str, float]) -> float:
        own = [{name: profiles[name] for name in names} for names in shared if len(names) > 1]
        return sum(score_at(jobs, shifts_s, capacity_bps=capacity) for jobs in own) / len(own)

    assert found.n_links == 2 * sum(len(names) > 1 for names in shared)
    assert found.score_mean == pytest.approx(mean_score(found.shifts_s), abs=1e-9)
    assert found.score_mean is not None
    for name, tick in product(profiles, range(n_ticks)):
        assert mean_score({**found.shifts_s, name: tick * 1e-3}) <= found.score_mean + 1e-9
    assert found.score_mean <= (found.score_bound or 0) + 1e-12


def test_small_rings_of_many_bursts_end_near_the_optimum_of_all_their_links() -> None:
    rng = np.random.default_rng(5)
    n_ticks, capacity, pairs = 40, 8.0, [("A", "B"), ("B", "C"), ("A", "C")]
    lost = []
    for _ in range(12):
        jobs = {name: TickedJob(tuple((rng.random(n_ticks) < 0.4) * rng.integers(3, 10, n_ticks))) for name in "ABC"}
        found = triangle(capacity, **{name: profile_from(job) for name, job in jobs.items()}).candidates[0]
        rates = {name: np.array(job.rates) for name, job in jobs.items()}
        excess = {
            (a, b): np.array([np.maximum(0, rates[a] + np.roll(rates[b], s) - capacity).mean() for s in range(n_ticks)])
            for a, b in pairs
        }
        b, c = np.meshgrid(range(n_ticks), range(n_ticks), indexing="ij")
        total = excess["A", "B"][b] + excess["A", "C"][c] + excess["B", "C"][(c - b) % n_ticks]
        lost.append(1 - total.min() / 3 / capacity - (found.score_mean or 0))
    assert min(lost) >= -1e-12
    assert max(lost) <= 0.005
    assert sum(one < 1e-9 for one in lost) >= 8


def test_a_tree_of_jobs_and_links_has_the_best_of_each_link_at_once() -> None:
    profiles = {"A": busy(up_s=0.12), "B": busy(up_s=0.1), "C": busy(up_s=0.14)}
    hosts = {"s1": ["a1"], "s2": ["a2", "b2"], "s3": ["b3", "c3"], "s4": ["c4"]}
    topology = racks(hosts, trunks={(switch, "core"): 1e9 for switch in hosts})
    found = rank([candidate("chain", A="a1 a2", B="b2 b3", C="c3 c4")], profiles=profiles, topology=topology)
    own = [solve({a: profiles[a], b: profiles[b]}, capacity_bps=1e9).score_best or 0.0 for a, b in ("AB", "BC")]
    assert found.candidates[0].score_mean == pytest.approx(sum(own) / 2, abs=1e-12)
    assert found.candidates[0].score_worst == pytest.approx(min(own), abs=1e-12)
    assert found.candidates[0].worst_link == "s3-core"


def test_equal_candidates_keep_the_callers_order_whichever_it_is() -> None:
    profiles = {"A": busy(up_s=0.15), "B": busy(up_s=0.15)}
    across = [candidate(f"across {i}", A=f"l{i} r1", B=f"l{3 - i} r2") for i in (1, 2)]
    apart = [candidate(f"apart {i}", A="l1 l2", B="r1 r2") for i in range(3)]
    mixed = [across[1], apart[2], across[0], apart[0], apart[1]]
    for given_order in (mixed, mixed[::-1]):
        for by in ("mean", "worst", "time"):
            found = rank(given_order, profiles=profiles, topology=two_racks(1e9), by=by)
            names = [one["id"] for one in given_order]
            assert order_of(found) == sorted(names, key=lambda name: name.startswith("across"))


def test_what_is_found_of_a_candidate_does_not_depend_on_the_others() -> None:
    profiles = {"A": busy(up_s=0.09), "B": busy(up_s=0.07), "C": busy(up_s=0.12, period_s=0.1 * 4)}
    rings = [("l1 r1", "l2 r2", "l3 r3"), ("l1 l2", "l3 r2", "r1 r3"), ("l1 r2", "r1 r3", "l2 l3")]
    candidates = [candidate(str(i), A=a, B=b, C=c) for i, (a, b, c) in enumerate(rings)]
    topology = two_racks(1e9, a_rack=3)
    together = {one.id: one for one in rank(candidates[::-1], profiles=profiles, topology=topology).candidates}
    for one in candidates:
        assert rank([one], profiles=profiles, topology=topology).candidates[0] == together[one["id"]]


def test_names_of_jobs_and_order_of_profiles_do_not_change_a_score() -> None:
    profiles = {"A": busy(up_s=0.09), "B": busy(up_s=0.07), "C": busy(up_s=0.12)}
    names = {"A": "z", "B": "y", "C": "x"}
    rings = {"A": ["l1", "r1"], "B": ["l2", "r2"], "C": ["l3", "r3"]}
    topology = two_racks(1e9, a_rack=3)
    one = rank([{"id": "x", "jobs": rings}], profiles=profiles, topology=topology).candidates[0]
    other = rank(
        [{"id": "x", "jobs": {names[job]: ring for job, ring in rings.items()}}],
        profiles={names[job]: profile for job, profile in reversed(profiles.items())},
        topology=topology,
    ).candidates[0]
    assert other.score_mean == pytest.approx(one.score_mean, abs=1e-12)
    assert other.predicted_slowdown == pytest.approx(one.predicted_slowdown, rel=0.02)


def test_rates_and_capacities_that_grow_alike_leave_a_candidate_as_it_is() -> None:
    small, large = (
        rank(
            [candidate("x", A="l1 r1", B="l2 r2")],
            profiles={"A": busy(up_s=0.15, rate_bps=scale), "B": busy(up_s=0.12, rate_bps=scale)},
            topology=two_racks(scale),
        ).candidates[0]
        for scale in (1e6, 1e11)
    )
    assert large.score_mean == pytest.approx(small.score_mean, abs=1e-12)
    assert large.predicted_slowdown == pytest.approx(small.predicted_slowdown, rel=1e-6)


def test_mean_and_worst_link_are_different_wishes() -> None:
    # Two uplinks that each lose 0.05 of 0.2 s, against one that loses 0.1 and two that lose nothing.
    hosts = {f"s{i}": [f"a{i}", f"b{i}"] for i in range(1, 5)}
    uplinks_bps = {("s1", "core"): 1e9, ("s2", "core"): 1e9, ("s3", "core"): 1e10, ("s4", "core"): 1e10}
    even, deep = candidate("even", A="a1 a2", B="b1 b2"), candidate("deep", C="a1 a3 a4", D="b1 b3 b4")
    profiles = {"A": busy(up_s=0.125), "B": busy(up_s=0.125), "C": busy(up_s=0.15), "D": busy(up_s=0.15)}
    topology = racks(hosts, trunks=uplinks_bps)
    by_mean = rank([even, deep], profiles=profiles, topology=topology)
    by_worst = rank([deep, even], profiles=profiles, topology=topology, by="worst")
    assert order_of(by_mean) == ["deep", "even"]
    assert order_of(by_worst) == ["even", "deep"]
    assert [one.score_mean for one in by_mean.candidates] == [pytest.approx((0.5 + 1 + 1) / 3), pytest.approx(0.75)]
    assert [one.score_worst for one in by_worst.candidates] == [pytest.approx(0.75), pytest.approx(0.5)]


def test_slowdown_of_a_full_link_is_what_the_link_can_carry() -> None:
    # 0.15 s of every 0.2 s at the trunk's rate, twice: fair shares make an iteration 0.3 s of traffic.
    profiles = {"A": busy(up_s=0.15), "B": busy(up_s=0.15)}
    across, apart = candidate("across", A="l1 r1", B="l2 r2"), candidate("apart", A="l1 l2", B="r1 r2")
    found = rank([across, apart], profiles=profiles, topology=two_racks(1e9), by="time")
    assert order_of(found) == ["apart", "across"]
    assert [one.predicted_slowdown for one in found.candidates] == [1.0, pytest.approx(1.5, rel=0.01)]
    assert found.candidates[1].slowdowns == {"A": pytest.approx(1.5, rel=0.01), "B": pytest.approx(1.5, rel=0.01)}


def test_ranking_by_time_may_differ_from_ranking_by_score() -> None:
    # An iteration that is mostly traffic loses more of its time to the same missing bandwidth.
    profiles = {"A": busy(up_s=0.19, rate_bps=1.2e9), "B": busy(up_s=0.05, rate_bps=1.6e9)}
    found = rank(
        [candidate("B behind", A="l1 l2", B="l3 r1"), candidate("A behind", A="l1 r1", B="l2 l3")],
        profiles=profiles,
        topology=two_racks(1e9, a_rack=3),
        by="time",
    )
    # Alone on a trunk of 1 Gbit/s: B 0.15 + 0.08 s, A 0.01 + 0.228 s.
    assert order_of(found) == ["B behind", "A behind"]
    slowdowns = [one.slowdowns for one in found.candidates]
    assert slowdowns == [{"B": pytest.approx(0.23 / 0.2)}, {"A": pytest.approx(0.238 / 0.2)}]
    assert found.candidates[0].score_mean == pytest.approx(1 - 0.05 / 0.2 * 0.6)


def test_a_flow_divides_among_equal_paths() -> None:
    # Over two spines each uplink carries half of each job: 0.5 + 0.5 fits, over one it does not.
    hosts = {"s1": ["a1", "b1"], "s2": ["a2", "b2"]}
    pair = [candidate("x", A="a1 a2", B="b1 b2")]
    profiles = {"A": busy(up_s=0.15), "B": busy(up_s=0.15)}
    scores = [
        rank(pair, profiles=profiles, topology=racks(hosts, trunks={(s, t): 1e9 for s in hosts for t in spines}))
        .candidates[0]
        .score_mean
        for spines in (("t1",), ("t1", "t2"))
    ]
    assert scores == [pytest.approx(0.5), 1.0]


def test_standing_jobs_stay_unless_the_candidate_moves_them() -> None:
    topology = two_racks(1e9, a_rack=3, standing={"A": ["l1", "r1"], "B": ["l2", "r2"]})
    profiles = {"A": busy(up_s=0.1), "B": busy(up_s=0.1), "C": busy(up_s=0.1)}
    found = rank(
        [candidate("all across", C="l3 r3"), candidate("B moves away", C="l3 r3", B="l2 l2")],
        profiles=profiles,
        topology=topology,
    )
    assert [(one.id, one.score_mean) for one in found.candidates] == [
        ("B moves away", 1.0),
        ("all across", pytest.approx(0.5)),
    ]
    assert found.candidates[0].shifts_s == {"A": 0.0, "B": 0.0, "C": pytest.approx(0.1)}


def test_traffic_without_a_period_takes_capacity_and_gets_no_shift() -> None:
    constant = TrafficProfile(status="constant", reason="steady", mean_bps=0.5e9, peak_bps=0.5e9, fold_bps=np.zeros(0))
    found = rank(
        [candidate("x", A="l1 r1", S="l2 r2")],
        profiles={"A": busy(up_s=0.1, rate_bps=0.8e9), "S": constant},
        topology=two_racks(1e9),
    ).candidates[0]
    assert found.score_mean == pytest.approx(1 - 0.3 * 0.5)
    assert found.shifts_s == {"A": 0.0}
    assert found.slowdowns == {"A": pytest.approx((0.1 + 0.1 * 0.8 / 0.5) / 0.2)}
    assert found.warnings == ("job S has no period (constant): it takes capacity and gets no shift",)


def test_traffic_without_a_period_that_fills_a_link_leaves_nothing_to_simulate() -> None:
    full = TrafficProfile(status="constant", reason="steady", mean_bps=1e9, peak_bps=1e9, fold_bps=np.zeros(0))
    found = rank(
        [candidate("x", A="l1 r1", S="l2 r2")], profiles={"A": busy(up_s=0.1), "S": full}, topology=two_racks(1e9)
    ).candidates[0]
    assert found.score_mean == pytest.approx(0.5)
    assert (found.predicted_slowdown, found.reason) == (None, "traffic without a period fills a link")


def test_placements_that_mirror_each_other_are_alike_but_for_their_links() -> None:
    hosts = {f"s{i}": [f"{job}{i}" for job in "abc"] for i in range(1, 5)}
    topology = racks(hosts, trunks={(switch, "core"): 1e9 for switch in hosts})
    profiles = {"A": busy(up_s=0.12), "B": busy(up_s=0.1), "C": busy(up_s=0.14)}
    there, mirrored = (
        candidate(name, A=f"a{i} a{j}", B=f"b{j} b{k}", C=f"c{k} c{m}")
        for name, (i, j, k, m) in {"there": (1, 2, 3, 4), "mirrored": (4, 3, 2, 1)}.items()
    )
    one, other = rank([there, mirrored], profiles=profiles, topology=topology).candidates
    assert (one.id, one.worst_link, other.id, other.worst_link) == ("there", "s3-core", "mirrored", "s2-core")
    assert replace(one, id="", worst_link=None) == replace(other, id="", worst_link=None)


def test_ranks_side_by_side_on_one_host_do_not_use_the_network() -> None:
    profiles = {"A": busy(up_s=0.15), "B": busy(up_s=0.15)}
    found = rank(
        [candidate("in pairs", A="l1 l1 r1 r1", B="l2 l2 r2 r2"), candidate("packed", A="l1 l1 l1", B="l2 r2")],
        profiles=profiles,
        topology=two_racks(1e9),
    )
    assert [(one.id, one.score_mean) for one in found.candidates] == [("packed", 1.0), ("in pairs", pytest.approx(0.5))]


def test_jobs_that_jitter_are_judged_the_same_whenever_it_is_asked() -> None:
    profiles = {name: measured(busy(up_s=0.11), error_s=1e-5, jitter_frac=0.03) for name in "AB"}
    pair = [candidate("x", A="l1 r1", B="l2 r2")]
    one, same = (rank(pair, profiles=profiles, topology=two_racks(1e9)).candidates[0] for _ in range(2))
    assert one == same
    assert one.score_mean == pytest.approx(0.9)
    assert (one.predicted_slowdown or 0) > 1.1


def test_what_does_not_fit_into_the_budget_is_not_judged_and_says_so() -> None:
    pair = [candidate(str(i), A="l1 r1", B="l2 r2") for i in range(3)]
    profiles = {name: busy(up_s=0.11) for name in "AB"}
    found = rank(pair, profiles=profiles, topology=two_racks(1e9), budget_s=1e-9)
    assert order_of(found) == ["0", "1", "2"]
    assert found.best is None
    assert {one.reason for one in found.candidates} == {"not judged: the 1e-09 s given were over"}
    judged = rank(pair, profiles=profiles, topology=two_racks(1e9), budget_s=600)
    assert judged.candidates == rank(pair, profiles=profiles, topology=two_racks(1e9)).candidates
    assert 0 < judged.elapsed_s < 600


def test_by_time_what_can_be_scored_but_not_simulated_comes_before_what_cannot_be_judged() -> None:
    profiles = {"A": busy(up_s=0.1), "B": busy(up_s=4.0, period_s=8.0)}
    nowhere, far = candidate("nowhere", A="l1 x9"), candidate("far", A="l1 r1", B="l2 r2")
    timed = candidate("timed", A="l1 r1")
    topology = two_racks(1e9)
    found = rank([nowhere, far, timed], profiles=profiles, topology=topology, by="time")
    assert order_of(found) == ["timed", "far", "nowhere"]
    found = rank([nowhere, far], profiles=profiles, topology=topology, by="time")
    assert order_of(found) == ["far", "nowhere"]
    assert found.best is not None
    assert "best 'far'" in repr(found)


def test_standing_ranks_may_be_listed_in_any_order() -> None:
    topology = two_racks(1e9, a_rack=3, standing={"S": ["l1", "r1"], "T": ["l2", "l2"]})
    profiles = dict.fromkeys("AST", busy(up_s=0.15))
    for order in permutations(topology.placements):
        mixed = replace(topology, placements=order)
        found = rank([candidate("x", A="l3 r3")], profiles=profiles, topology=mixed).candidates[0]
        assert found.score_mean == pytest.approx(0.5)
        assert found.n_links == 2


def test_a_candidate_that_is_not_done_when_the_time_is_over_does_not_count() -> None:
    rng = np.random.default_rng(0)
    names = [f"j{i}" for i in range(30)]
    profiles = {name: profile_from(TickedJob(tuple(rng.integers(0, 9, 100).tolist()))) for name in names}
    large = {"id": "large", "jobs": {name: [f"l{i}", f"r{i}"] for i, name in enumerate(names, start=1)}}
    topology = two_racks(100.0, a_rack=len(names))
    assert rank([large], profiles=profiles, topology=topology).candidates[0].is_judged
    found = rank([large], profiles=profiles, topology=topology, budget_s=0.01)
    assert found.candidates[0].reason == "not judged: the 0.01 s given were over"
    assert found.elapsed_s < 1


def test_periods_that_are_too_far_apart_are_not_simulated_but_scored() -> None:
    profiles = {"A": busy(up_s=0.1), "B": busy(up_s=4.0, period_s=8.0)}
    found = rank([candidate("x", A="l1 r1", B="l2 r2")], profiles=profiles, topology=two_racks(1e9)).candidates[0]
    assert found.score_mean == pytest.approx(0.75)
    assert found.predicted_slowdown is None
    assert "too far apart" in found.reason


def test_the_document_has_the_keys_of_the_design_and_tabulates() -> None:
    profiles = {"A": busy(up_s=0.15), "B": busy(up_s=0.15)}
    bad, good = candidate("nowhere", A="l1 x9"), candidate("fine", A="l1 r1", B="l2 r2")
    found = rank([bad, good], profiles=profiles, topology=two_racks(1e9))
    document = found.to_dict()
    assert (document["kind"], document["version"], document["by"]) == ("ranking", 1, "mean")
    keys = {"id", "score_mean", "score_worst", "predicted_slowdown", "shifts"}
    assert all(keys <= one.keys() for one in document["candidates"])
    assert [shift["job"] for shift in document["candidates"][0]["shifts"]] == ["A", "B"]
    assert found.to_arrow().num_rows == 2
    assert "best 'fine', mean score 0.500" in repr(found)
    assert found.plot().to_dict()["mark"]["type"] == "bar"
