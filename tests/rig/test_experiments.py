"""The experiments: what they run, how a forecast is made from counters, and how figures are set beside each other."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from pipeline.simulation import JobRun
from profiler.phases import TrafficProfile
from tests.rig.claim import Mode, Round
from tests.rig.experiments import __main__ as command_line
from tests.rig.experiments.cases import SPECS, Experiment
from tests.rig.experiments.comparison import Comparison
from tests.rig.experiments.forecast import Forecast, forecast
from tests.rig.experiments.trial import Trial
from tests.rig.spec import read_spec

if TYPE_CHECKING:
    from collections.abc import Mapping

SAMPLES = Path(__file__).parents[2] / "sample_data"


@pytest.mark.parametrize(
    ("experiment", "periods_s", "load_frac"),
    [
        (Experiment.TWO_EQUAL, [0.255, 0.255], 0.89),
        (Experiment.THREE, [0.255, 0.255, 0.255], 0.82),
        (Experiment.TWO_UNEQUAL, [0.255, 0.17], 0.80),
        (Experiment.TWO_OVERLOADED, [0.25, 0.25], 1.28),
    ],
)
def test_the_jobs_of_an_experiment_ask_for_what_it_is_about(
    experiment: Experiment, periods_s: list[float], load_frac: float
) -> None:
    spec = read_spec(SPECS[experiment])
    ups_s = [job.steps[0].allreduce_bytes * 8 / spec.network.trunk_bps for job in spec.jobs]
    naturals_s = [job.steps[0].compute_s + up_s for job, up_s in zip(spec.jobs, ups_s, strict=True)]
    assert naturals_s == pytest.approx(periods_s, rel=0.02)
    assert sum(up_s / natural_s for up_s, natural_s in zip(ups_s, naturals_s, strict=True)) == pytest.approx(
        load_frac, abs=0.01
    )


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Forecast:
    lake = tmp_path_factory.mktemp("forecast") / "lake"
    return forecast(SAMPLES / "shared.csv.gz", cluster=SAMPLES / "cluster.toml", lake=lake)


def test_a_forecast_from_counters_has_slots_of_the_jobs_own_period_and_interleaves_them(told: Forecast) -> None:
    assert (told.verdict, told.is_advised) == ("paced", True)
    first, second = told.shifts
    assert first.pace_period_s == second.pace_period_s == pytest.approx(1.04 * 0.2565, rel=0.02)
    # Each burst of 114 ms lies within what the other's leaves free.
    assert (second.shift_s - first.shift_s) % cast("float", first.pace_period_s) == pytest.approx(0.133, abs=0.02)


def test_a_forecast_simulates_both_ways_of_running_the_jobs(told: Forecast) -> None:
    assert told.prediction is not None
    slot_s = cast("float", told.shifts[0].pace_period_s)
    for now, planned in zip(told.prediction.now, told.prediction.planned, strict=True):
        # Alone 255 ms; where both communicate at once, each of their 114 ms takes twice as long.
        assert 0.255 < now.p50_s < now.p90_s < 0.255 + 0.114
        assert planned.p50_s == pytest.approx(slot_s, rel=0.01)
        assert planned.p90_s < now.p90_s / 1.15
    assert json.loads(json.dumps(told.to_dict()))["jobs"][0]["job"] == "A"


def run_of(mode: Mode, durations_s: Mapping[str, list[float]], *, n_adjustments: int = 0, n_let_go: int = 0) -> Round:
    counts = {"n_adjustments": n_adjustments, "adjustments_per_min": 3.0 * n_adjustments, "n_let_go": n_let_go}
    pacer = {**counts, "own_iteration_s": 0.19}
    return Round(i_round=0, mode=mode, durations_s=durations_s, pacers=dict.fromkeys(durations_s, pacer))


def predicted(job: str, time_s: float, *, n_let_go: int = 0) -> JobRun:
    return JobRun(job=job, iteration_s=np.full(100, time_s), n_adjustments=2, n_let_go=n_let_go)


def forecast_of(now: tuple[JobRun, ...], planned: tuple[JobRun, ...]) -> Forecast:
    return Forecast(
        verdicts={"forward": "paced"},
        reason="because",
        scores={},
        profiles={job: TrafficProfile.from_phases(period_s=0.2, phases=[(0.0, 0.1, 4e8)]) for job in ("A", "B")},
        shifts=(),
        is_advised=True,
        prediction=cast("Any", SimpleNamespace(now=now, planned=planned)),
    )


@pytest.fixture
def compared() -> Comparison:
    said = forecast_of(
        (predicted("A", 0.4), predicted("B", 0.2)), (predicted("A", 0.2, n_let_go=2), predicted("B", 0.2))
    )
    trials = [
        Trial(
            forecast=said,
            unmanaged=run_of("unmanaged", {"A": [unmanaged_s] * 10, "B": [0.1] * 10}),
            paced=run_of("paced", {"A": [0.25] * 10, "B": [0.2] * 10}, n_adjustments=n, n_let_go=1),
        )
        for unmanaged_s, n in ((0.5, 1), (0.25, 3))
    ]
    return Comparison(experiment="made", seconds=5.0, trials=trials)


def test_times_are_pooled_over_rounds_and_set_beside_what_was_predicted(compared: Comparison) -> None:
    rows = {(row["job"], row["mode"]): row for row in compared.iteration_rows()}
    free, held = rows["A", "unmanaged"], rows["A", "paced"]
    assert (free["n"], free["predicted_mean_s"], free["measured_mean_s"]) == (20, pytest.approx(0.4), 0.375)
    assert (held["predicted_p90_s"], held["measured_p90_s"]) == (pytest.approx(0.2), 0.25)
    # 2 in 100 iterations of 0.2 s; 1 and 3 at three a minute each.
    assert held["predicted_adjustments_per_min"] == pytest.approx(6.0)
    assert held["measured_adjustments_per_min"] == pytest.approx(6.0)
    # 2 in 20 s a round; 5 s were measured.
    assert held["predicted_n_let_go"] == pytest.approx(0.5)
    assert held["measured_n_let_go"] == 2


def test_a_profiled_period_stands_beside_what_iterations_took_while_held_apart(compared: Comparison) -> None:
    for told in compared.to_dict()["forecasts"]:
        assert [(row["job"], row["period_s"], row["measured_own_s"]) for row in told["jobs"]] == [
            ("A", 0.2, 0.19),
            ("B", 0.2, 0.19),
        ]


def test_speedups_of_jobs_are_averaged_as_ratios_and_have_the_range_of_rounds(compared: Comparison) -> None:
    rows = {row["job"]: row for row in compared.speedup_rows()}
    assert (rows["A"]["predicted_mean"], rows["A"]["measured_mean"]) == (pytest.approx(2.0), pytest.approx(1.5))
    assert (rows["A"]["least_mean"], rows["A"]["most_mean"]) == (pytest.approx(1.0), pytest.approx(2.0))
    assert rows["B"]["measured_p50"] == pytest.approx(0.5)
    # A twice and B half as fast is no gain.
    assert rows[None]["most_mean"] == pytest.approx(1.0)


def test_a_round_whose_jobs_could_not_be_profiled_is_told_without_a_comparison(compared: Comparison) -> None:
    unknown = Forecast(
        verdicts={"forward": "unknown"}, reason="", scores={}, profiles={}, shifts=(), is_advised=False, prediction=None
    )
    alone = Comparison(
        experiment="made",
        seconds=5.0,
        trials=[Trial(forecast=unknown, unmanaged=compared.trials[0].unmanaged, paced=None)],
    )
    assert [(row["mode"], row["predicted_p50_s"]) for row in alone.iteration_rows()] == [("unmanaged", None)] * 2
    assert list(alone.speedup_rows()) == []
    assert alone.to_dict()["forecasts"][0]["verdict"] == "unknown"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["--help"], 0), (["four-equal"], 2), (["two-equal", "--seconds", "1"], 2), (["three", "--rounds", "0"], 2)],
)
def test_the_command_line_has_help_and_refuses_what_it_cannot_run(
    arguments: list[str], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["experiments", *arguments])
    assert command_line.main() == code
    told = capsys.readouterr()
    assert ("python -m tests.rig.experiments two-equal" if code == 0 else "Usage") in told.out + told.err


@pytest.mark.rig
@pytest.mark.usefixtures("jobs_here")
def test_an_experiment_paces_the_jobs_against_its_own_verdict_and_tells_both(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["experiments", "two-unequal", "--rounds", "1", "--seconds", "8", "--json"])
    assert command_line.main() == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["kind"], told["experiment"], told["rounds"]) == ("rig_experiment", "two-unequal", 1)
    assert {(row["job"], row["mode"]) for row in told["iterations"]} == {
        (job, mode) for job in ("A", "B") for mode in ("unmanaged", "paced")
    }
    slower = {row["job"]: row for row in told["speedups"]}["B"]
    # Slots that hold job A are a half too long for it, on a busy machine too.
    assert slower["measured_mean"] < 0.95
    # What is predicted depends on what eight seconds show; that it is told does not.
    assert slower["predicted_mean"] > 0
