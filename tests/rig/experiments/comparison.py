"""`Comparison`: predicted against measured iteration times of an experiment, over all its rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import fsum
from statistics import fmean, geometric_mean
from typing import TYPE_CHECKING, Any, Final, get_args

from tests.rig.claim import Mode
from tests.rig.truth import summary_s

if TYPE_CHECKING:
    from pipeline.simulation import JobRun
    from tests.rig.claim import Round
    from tests.rig.experiments.trial import Trial

__all__ = ["Comparison"]

STATISTICS: Final = ("p50_s", "p90_s", "mean_s")

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """An experiment and all its rounds."""

    experiment: str
    seconds: float
    trials: Sequence[Trial]

    @property
    def jobs(self) -> tuple[str, ...]:
        """Names of the jobs."""
        return tuple(self.trials[0].unmanaged.durations_s)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values; times in seconds."""
        return {
            "kind": "rig_experiment",
            "version": 1,
            "experiment": self.experiment,
            "rounds": len(self.trials),
            "seconds": self.seconds,
            "forecasts": [_told_forecast(trial) for trial in self.trials],
            "measured": [
                row for trial in self.trials for run in (trial.unmanaged, trial.paced) if run for row in run.to_rows()
            ],
            "iterations": list(self.iteration_rows()),
            "speedups": list(self.speedup_rows()),
        }

    def iteration_rows(self) -> Iterator[Row]:
        """Yield, for each job and mode, iteration times and pacing as predicted and as measured, rounds pooled.

        Times that pacing is let go are predicted for as long as was measured.
        """
        for job in self.jobs:
            for mode in get_args(Mode):
                runs = _measured(self.trials, mode)
                if runs:
                    measured = _summary(runs, job)
                    predicted = _predicted(self.trials, mode, job, for_s=measured["n"] * measured["mean_s"])
                    yield {"job": job, "mode": mode, "n": measured["n"], **_beside(predicted, measured)}

    def speedup_rows(self) -> Iterator[Row]:
        """Yield unmanaged over paced times as predicted and as measured: above 1, pacing helps.

        A row for each job, and one with the geometric mean over them (job None). ``least`` and ``most`` are of single
        rounds.
        """
        predicted = _speedups(self.trials, self.jobs, _predicted)
        measured = _speedups(self.trials, self.jobs, _measured_summary)
        rounds = [_speedups([trial], self.jobs, _measured_summary) for trial in self.trials if trial.paced]
        if measured is None:
            return
        for job in (*self.jobs, None):
            row: Row = {"job": job}
            for name in STATISTICS:
                of_rounds = [each[job][name] for each in rounds if each is not None]
                row[f"predicted_{name}"] = predicted[job][name] if predicted else None
                row[f"measured_{name}"] = measured[job][name]
                row[f"least_{name}"], row[f"most_{name}"] = min(of_rounds), max(of_rounds)
            yield {name.removesuffix("_s"): value for name, value in row.items()}


def _told_forecast(trial: Trial) -> Row:
    """Return a forecast, and beside each job's period as profiled what its iterations took while held apart."""
    told = trial.forecast.to_dict()
    if trial.paced is not None:
        for row in told["jobs"]:
            row["measured_own_s"] = trial.paced.pacers[row["job"]]["own_iteration_s"]
    return told


def _speedups(
    trials: Sequence[Trial], jobs: Sequence[str], summary: Callable[[Sequence[Trial], Mode, str], Row | None]
) -> dict[str | None, Row] | None:
    """Return how many times shorter each job's iterations are when paced, and the geometric mean; None if not known."""
    speedups: dict[str | None, Row] = {}
    for job in jobs:
        unmanaged, paced = summary(trials, "unmanaged", job), summary(trials, "paced", job)
        if unmanaged is None or paced is None:
            return None
        speedups[job] = {name: unmanaged[name] / paced[name] for name in STATISTICS}
    speedups[None] = {name: geometric_mean([speedups[job][name] for job in jobs]) for name in STATISTICS}
    return speedups


def _measured(trials: Sequence[Trial], mode: Mode) -> list[Round]:
    runs = [trial.unmanaged if mode == "unmanaged" else trial.paced for trial in trials]
    return [run for run in runs if run is not None]


def _measured_summary(trials: Sequence[Trial], mode: Mode, job: str) -> Row | None:
    runs = _measured(trials, mode)
    return _summary(runs, job) if runs else None


def _summary(runs: Sequence[Round], job: str) -> Row:
    pacers = [run.pacers[job] for run in runs]
    return {
        **summary_s([duration_s for run in runs for duration_s in run.durations_s[job]]),
        "adjustments_per_min": fmean(pacer["adjustments_per_min"] for pacer in pacers),
        "n_let_go": sum(pacer["n_let_go"] for pacer in pacers),
    }


def _predicted(trials: Sequence[Trial], mode: Mode, job: str, *, for_s: float = 0.0) -> Row | None:
    runs = [run for trial in trials for run in _simulated(trial, mode) if run.job == job]
    if not runs:
        return None
    times_s = [float(duration_s) for run in runs for duration_s in run.iteration_s]
    return {
        **summary_s(times_s),
        "adjustments_per_min": fmean(run.adjustments_per_min for run in runs),
        "n_let_go": sum(run.n_let_go for run in runs) * for_s / fsum(run.span_s for run in runs),
    }


def _simulated(trial: Trial, mode: Mode) -> Sequence[JobRun]:
    prediction = trial.forecast.prediction
    if prediction is None:
        return ()
    return prediction.now if mode == "unmanaged" else prediction.planned


def _beside(predicted: Row | None, measured: Row) -> Row:
    """Return each statistic as predicted and as measured."""
    names = [name for name in measured if name != "n"]
    return {
        f"{which}_{name}": None if told is None else told[name]
        for name in names
        for which, told in (("predicted", predicted), ("measured", measured))
    }
