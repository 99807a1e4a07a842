"""Cells to integers: no digit is lost, and no cell that is no number becomes one."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profiler.importers.cells import counts, times
from profiler.importers.mapping import COUNTER_UNITS, TimeColumn


@settings(max_examples=150, deadline=None)
@given(
    cells=st.lists(
        st.decimals(0, 10**20, allow_nan=False, allow_infinity=False, places=3) | st.integers(0, 2**64).map(Decimal),
        min_size=1,
        max_size=20,
    ),
    unit=st.sampled_from(sorted(COUNTER_UNITS)),
    form=st.sampled_from(["f", "e", ""]),
)
def test_text_becomes_the_whole_number_that_exact_arithmetic_gives(cells: list[Decimal], unit: str, form: str) -> None:
    texts = [f"{cell:f}" if form == "f" else f"{cell:.30e}" if form == "e" else str(cell) for cell in cells]
    scale = COUNTER_UNITS[unit]

    found = counts(pa.array(texts), scale)

    for i, cell in enumerate(cells):
        exact = int(Fraction(cell) * scale)
        if exact < 2**63 - 2 * max(scale.numerator, 1):
            assert (bool(found.known[i]), int(found.value[i])) == (True, exact)
        elif exact >= 2**63:
            assert (bool(found.known[i]), bool(found.bad[i])) == (False, True)


@pytest.mark.parametrize(
    "cell", ["-1", "0x10", "1_000", "1,5", "1e400", "Infinity", "9223372036854775808", "1.2.3", "1e99999999999"]
)
def test_cells_that_are_no_counts_are_bad_and_not_zero(cell: str) -> None:
    found = counts(pa.array(["5", cell, None]), Fraction(1))

    assert found.known.tolist() == [True, False, False]
    assert found.bad.tolist() == [False, True, False]


def test_times_that_int64_cannot_hold_are_bad() -> None:
    column = pa.array(["2024-05-24", "9999-01-01", "1900-01-01", "yesterday", None])
    found = times(column, TimeColumn(column="t", format="iso"))

    assert found.known.tolist() == [True, False, False, False, False]
    assert found.bad.tolist() == [False, True, True, True, False]
