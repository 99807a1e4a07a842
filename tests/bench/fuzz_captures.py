"""Mutated captures for as long as one likes: no crash, no hang, no byte read beyond the end, no packet invented.

Run with ``python -m tests.bench.fuzz_captures [--minutes 10] [--seed 1] [--folder F]``; exit 1 if anything was found.
Each capture is in memory between forbidden pages, in a process that is started anew when it dies; what killed it, or
what it miscounted, is kept in the folder.
"""

from __future__ import annotations

import argparse
import multiprocessing
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from tests.profiler.captures_mutants import mutant
from tests.profiler.captures_soundness import PIECES, check_any_capture

__all__ = ["Fuzzing", "fuzz"]

HANG_S: Final = 60
"""A mutant has some thousand bytes; whoever takes longer will not end. SIGALRM ends the process."""
CURRENT: Final = "current.capture"
N_TRIED: Final = "tried.txt"
Check = Callable[..., None]


@dataclass(slots=True, kw_only=True)
class Fuzzing:
    """What came of it: captures tried, and what each fault was and where its capture is."""

    n_tried: int = 0
    faults: list[str] = field(default_factory=list)


def fuzz(*, seconds: float, seed: int, folder: Path, check: Check = check_any_capture) -> Fuzzing:
    """Try mutants until the time is over, in processes one after the other.

    Parameters
    ----------
    seconds
        How long.
    seed
        Of the mutants.
    folder
        Where captures are kept at which the check failed.
    check
        Takes the bytes of a capture, and, by name, next to which forbidden page they are to stand and in pieces of
        what size they are to be read; raises, or dies, where something is wrong.
    """
    found = Fuzzing()
    context = multiprocessing.get_context("spawn")
    left_s = seconds
    while left_s > 0:
        start_s = time.monotonic()
        process = context.Process(target=_try_many, args=(check, folder, seed, found.n_tried, left_s))
        process.start()
        process.join()
        found.n_tried = _n_tried(folder)
        if process.exitcode == 0:
            break
        found.faults.append(_keep(folder, number=found.n_tried, exit_code=process.exitcode or 0))
        left_s -= time.monotonic() - start_s
    return found


def _try_many(check: Check, folder: Path, seed: int, first: int, seconds: float) -> None:
    """Try mutants from a number on; the process ends with 1 at the first that is miscounted."""
    number, end_s = first, time.monotonic() + seconds  # starting a process took none of it
    while time.monotonic() < end_s:
        rng = np.random.default_rng((seed, number))
        data = mutant(rng)
        (folder / CURRENT).write_bytes(data)
        number += 1
        (folder / N_TRIED).write_text(str(number), encoding="ascii")
        signal.alarm(HANG_S)
        try:
            check(data, against="start" if rng.random() < 0.5 else "end", piece_bytes=int(rng.choice(PIECES)))
        except Exception:  # noqa: BLE001 - whatever it is, it is what is looked for
            (folder / f"{CURRENT}.txt").write_text(traceback.format_exc(), encoding="utf-8")
            sys.exit(1)
        signal.alarm(0)


def _n_tried(folder: Path) -> int:
    path = folder / N_TRIED
    return int(path.read_text(encoding="ascii")) if path.exists() else 0


def _keep(folder: Path, *, number: int, exit_code: int) -> str:
    """Keep the capture at which a process died, and return what happened."""
    kept = folder / f"fault-{number}.capture"
    (folder / CURRENT).replace(kept)
    said = folder / f"{CURRENT}.txt"
    if exit_code > 0 and said.exists():
        lines = said.read_text(encoding="utf-8").splitlines()
        said.replace(kept.with_suffix(".txt"))
        return f"{kept}: {lines[-1]}"
    return f"{kept}: {signal.Signals(-exit_code).name if exit_code < 0 else f'exit {exit_code}'}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where captures are kept at which it failed")
    asked = parser.parse_args()
    kept_in = asked.folder or Path(tempfile.mkdtemp(prefix="fuzz-captures-"))
    kept_in.mkdir(parents=True, exist_ok=True)
    outcome = fuzz(seconds=60 * asked.minutes, seed=asked.seed, folder=kept_in)
    for fault in outcome.faults:
        sys.stdout.write(f"{fault}\n")
    sys.stdout.write(f"{outcome.n_tried} captures in {asked.minutes:g} minutes, {len(outcome.faults)} faults\n")
    sys.exit(1 if outcome.faults else 0)
