"""The detector on the ports of a real fabric whose truth is known: right or silent, never false."""

from __future__ import annotations

import csv

import pytest

from tests.bench.ports import PortAnswer, answer_ports
from tests.data import shared

N_DIRECTIONS = 188


@pytest.fixture(scope="module")
def answers() -> list[PortAnswer]:
    return answer_ports(shared("zhejianglab"))


def test_every_direction_of_every_port_of_the_truth_is_answered(answers: list[PortAnswer]) -> None:
    with shared("zhejianglab/leaf14_truth.csv").open(encoding="utf-8", newline="") as file:
        wanted = {(row["port"], row["direction"]) for row in csv.DictReader(file)}
    assert len(wanted) == N_DIRECTIONS
    assert wanted <= {(one.truth.port, one.truth.direction) for one in answers}


def test_no_port_has_a_false_period(answers: list[PortAnswer]) -> None:
    assert [f"{one.truth.port} {one.truth.direction} {one.found_s}" for one in answers if one.is_false] == []


def test_the_clear_ports_have_their_periods(answers: list[PortAnswer]) -> None:
    clear = [one for one in answers if one.truth.group == "clear"]
    assert len(clear) >= 28
    assert sum(one.kind == "right" for one in clear) >= 28


def test_an_answer_on_a_weak_port_or_an_uplink_is_a_true_period(answers: list[PortAnswer]) -> None:
    hard = [one for one in answers if one.truth.group in ("weak", "uplink")]
    assert {one.kind for one in hard} <= {"right", "silent"}
    assert any(one.kind == "right" for one in hard)
