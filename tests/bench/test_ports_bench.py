"""Our detector on the ports of a real fabric: right, or silent; never false."""

from __future__ import annotations

import pytest

from tests.bench.export import write_ports
from tests.bench.options import csv_folder
from tests.bench.ports import PortAnswer, answer_ports, ports_table, summary_table
from tests.data import shared


@pytest.fixture(scope="module")
def answers() -> list[PortAnswer]:
    found = answer_ports(shared("zhejianglab"))
    print(f"\n\nports of one hour of a 2,000-GPU cluster\n\n{ports_table(found)}\n\n{summary_table(found)}")  # noqa: T201
    if (folder := csv_folder()) is not None:
        write_ports(found, folder / "ports.csv")
    return found


def test_no_port_has_a_false_period(answers: list[PortAnswer]) -> None:
    assert [f"{one.truth.port} {one.truth.direction} {one.found_s}" for one in answers if one.is_false] == []


def test_every_port_of_one_clear_job_has_its_period(answers: list[PortAnswer]) -> None:
    clear = [one for one in answers if one.truth.group == "clear"]
    assert [f"{one.truth.port} {one.truth.direction}" for one in clear if one.kind != "right"] == []
