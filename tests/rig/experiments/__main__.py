"""The experiments' command line: ``python -m tests.rig.experiments --help``."""
# No "from __future__ import annotations" here: typer reads annotations at run time.

import signal
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from pipeline.cli.printer import Format, JsonFlag, note, print_json, print_rows
from tests.rig.claim import Runs
from tests.rig.exits import exit_code_of
from tests.rig.experiments.cases import SPECS, Experiment
from tests.rig.experiments.comparison import Comparison
from tests.rig.experiments.trial import Trial, run_trials
from tests.rig.rig import Rig
from tests.rig.spec import read_spec

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command()
def run(
    name: Annotated[Experiment, typer.Argument(help="Which jobs; see tests/rig/experiments/cases.py.")],
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of one unmanaged and one paced run.")] = 3,
    seconds: Annotated[float, typer.Option(min=5.0, help="Length of a run in seconds.")] = 40.0,
    keep: Annotated[Path | None, typer.Option(help="Folder for counters and truth of each run.")] = None,
    seed: Annotated[int, typer.Option(help="Of start offsets and jitter.")] = 0,
    as_json: JsonFlag = False,
) -> None:
    """Predict from measured counters what pacing does to jobs that share the trunk, then pace them and compare.

    Where the verdict is not to pace, the jobs are paced all the same, as a check of the verdict.

    Example: python -m tests.rig.experiments two-equal --rounds 3 --seconds 40
    """
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
    runs = Runs(n_rounds=rounds, seconds=seconds, seed=seed, keep=keep)
    trials: list[Trial] = []
    with Rig(read_spec(SPECS[name])) as rig:
        for trial in run_trials(rig, runs):
            note(f"round {len(trials)}: {trial.forecast.verdict}: {trial.forecast.reason}")
            trials.append(trial)
    compared = Comparison(experiment=name, seconds=seconds, trials=trials)
    if as_json:
        print_json(compared.to_dict())
    else:
        _print_tables(compared)


def main() -> int:
    """Run an experiment and return its exit code."""
    return exit_code_of(app)


def _print_tables(compared: Comparison) -> None:
    told = compared.to_dict()
    slots = [
        {"round": i_round, "verdict": forecast["verdict"], "advised": forecast["is_pacing_advised"], **job}
        for i_round, forecast in enumerate(told["forecasts"])
        for job in forecast["jobs"]
    ]
    for rows in (slots, told["iterations"], told["speedups"]):
        _print_table(rows)
        sys.stdout.write("\n")


def _print_table(rows: Iterable[Mapping[str, Any]]) -> None:
    print_rows([_short(row) for row in rows], output=Format.TABLE)


def _short(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row for people: four digits, times in ms."""
    short = {}
    for name, value in row.items():
        head = f"{name.removesuffix('_s')}_ms" if name.endswith("_s") else name
        if isinstance(value, float):
            short[head.replace("_", " ")] = f"{1e3 * value if name.endswith('_s') else value:.4g}"
        else:
            short[head.replace("_", " ")] = value
    return short


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the rig is taken down
    sys.exit(main())
