"""Counters of a real fabric, refreshed each second and polled unevenly: right, or silent."""

from __future__ import annotations

import pytest

from profiler import profile
from profiler.sources import read_rates
from tests.data import shared


@pytest.mark.parametrize(("name", "period_s"), [("Leaf-5_3_1", 25.63), ("Leaf-16_3_2", 11.404)])
def test_a_port_of_the_fabric_has_its_jobs_period_or_none(name: str, period_s: float) -> None:
    rates, problems = read_rates(shared(f"zhejianglab/{name}.csv.gz"), mapping="zhejianglab")
    assert not problems
    found = [profile(rate).period_s for rate in rates]
    assert any(found)
    assert [one for one in found if one] == pytest.approx([period_s] * len([one for one in found if one]), rel=0.01)
