"""The judge must be sound before what it says of others counts."""

from __future__ import annotations

import numpy as np
import pytest

from profiler.signals import RateSeries
from profiler.synth import FAMILIES, NON_PERIODIC, PERIODIC, UNDERSAMPLED
from tests.bench import score
from tests.bench.answers import Answer, ours
from tests.bench.masks import overlap
from tests.bench.reliability import reliability, right_at_least
from tests.bench.scoring import Kind, judge, kind_of, total
from tests.bench.traces import HELD_OUT, Trace, TraceKey, make_trace, trace_keys


@pytest.mark.parametrize(
    ("found_s", "truth_s", "kind"),
    [
        ([1.019], [1.0], "right"),
        ([1.021], [1.0], "other"),
        ([0.7], [1.0, 0.7], "right"),
        ([1 / 3], [1.0], "harmonic"),
        ([5.05], [1.0], "multiple"),
        ([1.5], [1.0], "other"),
        ([], [1.0], "silent"),
        ([], [], "silent"),
        ([1.0], [], "invented"),
    ],
)
def test_answers_are_told_apart(found_s: list[float], truth_s: list[float], kind: Kind) -> None:
    assert kind_of(found_s, truth_s=truth_s) == kind


def test_overlap_is_intersection_over_union() -> None:
    assert overlap(np.array([True, True, False]), np.array([False, True, True])) == pytest.approx(1 / 3)
    assert overlap(np.zeros(3, dtype=bool), np.zeros(3, dtype=bool)) == 1.0


def test_a_seed_has_82_periodic_traces_20_without_a_period_and_2_that_are_undersampled() -> None:
    keys = list(trace_keys([1]))
    assert sum(key.family in PERIODIC for key in keys) == 82
    assert sum(key.family in UNDERSAMPLED for key in keys) == 2
    assert len(keys) == 104
    assert {key.family for key in keys} == set(FAMILIES)
    assert len(HELD_OUT) >= 5
    assert set(NON_PERIODIC) <= {key.family for key in keys}


def test_a_trace_is_the_same_whichever_families_are_asked_for() -> None:
    key = TraceKey(1, "gpt", 1)
    assert key in set(trace_keys([1], families=["gpt"]))
    assert key in set(trace_keys([1]))
    assert np.array_equal(make_trace(key).series.delta_bytes, make_trace(key).series.delta_bytes)
    assert not np.array_equal(make_trace(key).periods_s, make_trace(TraceKey(2, "gpt", 1)).periods_s)


def test_sure_answers_that_are_wrong_show_in_the_reliability() -> None:
    trace = _trace(periods_s=(1.0,))
    right = [judge(trace, Answer(periods_s=(1.0,), spent_s=0.0, confidence=0.97)) for _ in range(8)]
    wrong = [judge(trace, Answer(periods_s=(0.5,), spent_s=0.0, confidence=0.96)) for _ in range(2)]
    invented = judge(_trace(periods_s=()), Answer(periods_s=(0.5,), spent_s=0.0, confidence=1.0))
    low, high = reliability([*right, *wrong, invented])
    assert (low.n_answers, low.n_right, low.right_frac) == (10, 8, 0.8)
    assert low.interval == pytest.approx((0.490, 0.943), abs=1e-3)  # Wilson's for 8 of 10
    assert (high.n_answers, high.n_right) == (1, 0)
    assert right_at_least([*right, *wrong, invented], 0.9) == (8, 11)


def test_further_jobs_count_if_they_are_there_and_against_if_they_are_not() -> None:
    trace = _trace(periods_s=(1.0, 0.7))
    both = judge(trace, Answer(periods_s=(0.7, 1.0), spent_s=0.0))
    one = judge(trace, Answer(periods_s=(1.0, 0.35), spent_s=0.0))
    assert (both.has_both, both.n_extra) == (True, 0)
    assert (one.has_both, one.n_extra) == (False, 1)
    assert total([both, one]).n_extra == 1


def test_seeds_that_are_reported_on_cannot_be_tuned_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert score.main(["--seeds", f"1,{HELD_OUT[1]}"]) == 2
    assert f"seeds [{HELD_OUT[1]}] are held out" in capsys.readouterr().err


def test_a_crash_is_an_answer_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(series: RateSeries) -> None:
        raise ZeroDivisionError(f"{series.n_samples} samples")

    monkeypatch.setattr("tests.bench.answers.detect_period", crash)
    trace = _trace(periods_s=(1.0,))
    judged = judge(trace, ours(trace.series))
    assert (judged.kind, judged.reason, judged.is_answer) == ("failed", "ZeroDivisionError: 4 samples", False)


def _trace(*, periods_s: tuple[float, ...]) -> Trace:
    series = RateSeries.from_deltas(np.arange(5) * 10**9, np.ones(4))
    up = np.array([True, False, True, False])
    return Trace(key=TraceKey(1, "vgg", 0), series=series, periods_s=periods_s, up=up)
