"""The detector on real switch counters: every port of one hour of a 2,000-GPU cluster, both directions.

Run alone with ``python -m tests.bench.ports``.
"""

from __future__ import annotations

import csv
import multiprocessing
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from profiler import profile
from profiler.sources import read_rates
from tests.bench.scoring import KINDS, Kind, count_extra, kind_of
from tests.bench.tables import cell, durations, layout
from tests.data import SHARED_DATA

if TYPE_CHECKING:
    from profiler.signals import RateSeries

__all__ = ["FOLDER", "Group", "PortAnswer", "PortTruth", "answer_ports", "ports_table", "summary_table"]

FOLDER: Final = SHARED_DATA / "zhejianglab"
ARCHIVE: Final = "Leaf-14_all_ports.tar.xz"
TRUTHS: Final = "leaf14_truth.csv"
SINGLE_PORTS: Final = {"Leaf-5_3_1": 25.63, "Leaf-16_3_2": 11.404}
"""Ports that come as files of their own, with their periods in seconds."""
DIRECTIONS: Final = {"receive": "in", "transmit": "out"}
N_WORKERS: Final = 2

Group = Literal["clear", "weak", "uplink", "none", "open"]
WANTED: Final[dict[Group, str]] = {
    "clear": "right",
    "weak": "right, else silent",
    "uplink": "one of the periods on it, else silent",
    "none": "silent",
    "open": "no truth is known",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PortTruth:
    """What is known of one direction of a port, and how it is judged."""

    port: str
    direction: str
    group: Group
    periods_s: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PortAnswer:
    """What the detector says of one direction of a port."""

    truth: PortTruth
    found_s: tuple[float, ...]
    confidence: float | None
    status: str
    reason: str

    @property
    def kind(self) -> Kind:
        """How the answer fares against the truth."""
        return kind_of(self.found_s, truth_s=self.truth.periods_s)

    @property
    def is_false(self) -> bool:
        """Whether a period was given that is not there, first or later."""
        is_extra = count_extra(self.found_s, truth_s=self.truth.periods_s) > 0
        return self.truth.group != "open" and (is_extra or self.kind not in ("right", "silent"))


def answer_ports(folder: Path = FOLDER) -> list[PortAnswer]:
    """Return the detector's answer for both directions of every port, in order of ports.

    Raises
    ------
    FileNotFoundError
        If the folder lacks one of the files that its README names.
    """
    truths = {(truth.port, truth.direction): truth for truth in _truths(folder / TRUTHS)}
    with tempfile.TemporaryDirectory() as unpacked, tarfile.open(folder / ARCHIVE) as archive:
        archive.extractall(unpacked, filter="data")
        files = [*sorted(Path(unpacked).rglob("*.csv")), *(folder / f"{port}.csv.gz" for port in SINGLE_PORTS)]
        context = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(N_WORKERS, mp_context=context) as pool:
            answers = [answer for found in pool.map(_answer_file, files, chunksize=4) for answer in found]
    known = [
        replace(answer, truth=truths.get((answer.truth.port, answer.truth.direction), answer.truth))
        for answer in answers
    ]
    return sorted(known, key=lambda answer: (list(WANTED).index(answer.truth.group), answer.truth.port))


def ports_table(answers: Iterable[PortAnswer]) -> str:
    """Return one row a port and direction, but for those that are silent and should be."""
    rows = [["port", "direction", "group", "truth", "found", "confidence", "kind", "status", "reason"]]
    rows += [
        [
            answer.truth.port,
            answer.truth.direction,
            answer.truth.group,
            durations(answer.truth.periods_s),
            durations(answer.found_s),
            cell(answer.confidence, ".3f"),
            answer.kind if answer.truth.group != "open" else "-",
            answer.status,
            answer.reason,
        ]
        for answer in answers
        if answer.truth.group != "none" or answer.kind != "silent"
    ]
    return layout(rows, to_left=("direction", "group", "kind", "status", "reason"))


def summary_table(answers: Sequence[PortAnswer]) -> str:
    """Return one row a group of ports: how many are right, silent, or wrong and how."""
    rows = [["group", "n", *KINDS[:-1], "false", "wanted"]]
    for group, wanted in WANTED.items():
        of_group = [answer for answer in answers if answer.truth.group == group]
        counts = [str(sum(answer.kind == kind for answer in of_group)) for kind in KINDS[:-1]]
        n_false = sum(answer.is_false for answer in of_group)
        rows.append([group, str(len(of_group)), *counts, str(n_false), wanted])
    return layout(rows, to_left=("wanted",))


def _truths(path: Path) -> Iterator[PortTruth]:
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            periods_s = tuple(float(period_s) for period_s in row["period_s"].split("+") if period_s)
            group = _group(row["class"], faces=row["faces"])
            yield PortTruth(port=row["port"], direction=row["direction"], group=group, periods_s=periods_s)
    for port, period_s in SINGLE_PORTS.items():
        for direction in DIRECTIONS.values():
            yield PortTruth(port=port, direction=direction, group="clear", periods_s=(period_s,))


def _group(class_: str, *, faces: str) -> Group:
    if class_ in ("idle", "nonperiodic"):
        return "none"
    if class_ == "undecidable":
        return "open"
    if class_ == "periodic-weak":
        return "weak"
    return "clear" if faces == "server" else "uplink"


def _answer_file(path: Path) -> list[PortAnswer]:
    """Return the detector's answer for each direction in a file, as if no truth were known."""
    rates, problems = read_rates(path, mapping="zhejianglab")
    if problems:
        raise ValueError(f"{path.name}: {'; '.join(problems)}")
    return [_answer(rate, port=path.name.partition(".")[0]) for rate in rates]


def _answer(rate: RateSeries, *, port: str) -> PortAnswer:
    found = profile(rate)
    return PortAnswer(
        truth=PortTruth(port=port, direction=DIRECTIONS[rate.direction], group="open"),
        found_s=() if found.period_s is None else (found.period_s, *found.other_periods_s),
        confidence=found.confidence,
        status=found.status,
        reason=found.reason,
    )


if __name__ == "__main__":
    all_ports = answer_ports()
    sys.stdout.write(f"{ports_table(all_ports)}\n\n{summary_table(all_ports)}\n")
