"""Values of a JSON document: what is taken, and what is refused with its place."""

from __future__ import annotations

import json
import re

import pytest

from profiler.documents import Fields
from profiler.errors import BadInput
from profiler.phases import TrafficProfile

HUGE = "1" + 400 * "0"


@pytest.mark.parametrize("text", [HUGE, f"-{HUGE}", "1e999", "NaN", "true", '"1"', "[]"])
def test_what_is_no_finite_number_is_refused_with_its_place(text: str) -> None:
    given = Fields(json.loads(f'{{"period_s": {text}}}'), place="profile")
    with pytest.raises(BadInput, match=r"^profile: period_s is .{1,50}; expected a finite number$"):
        given.number("period_s")


@pytest.mark.parametrize("text", ["1", "-1.5", "1e308", "9007199254740993", "-0"])
def test_finite_numbers_are_taken(text: str) -> None:
    assert Fields(json.loads(f'{{"x": {text}}}'), place="it").number("x") == float(text)


@pytest.mark.parametrize("text", [HUGE, f"-{HUGE}", str(2**63)])
def test_a_whole_number_is_one_of_64_bits(text: str) -> None:
    with pytest.raises(BadInput, match="expected a whole number that 64 bits hold"):
        Fields({"anchor_ns": int(text)}, place="profile").whole("anchor_ns")
    assert Fields({"anchor_ns": 2**63 - 1}, place="profile").whole("anchor_ns") == 2**63 - 1


def test_a_profile_with_a_number_that_no_float_holds_says_where() -> None:
    phases = [{"start_s": 0, "width_s": 0.1, "rate_bps": int(HUGE)}]
    with pytest.raises(BadInput, match=re.escape("phase 1: rate_bps is '1000")):
        TrafficProfile.from_dict({"period_s": 0.25, "phases": phases})
