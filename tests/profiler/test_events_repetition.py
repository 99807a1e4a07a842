from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiler.events.loops import read_loop
from profiler.events.repetition import NOWHERE, match_counts, repetitions
from tests import reference

symbols = st.lists(st.integers(0, 3), min_size=1, max_size=60)


def _ids(text: str) -> np.ndarray:
    return np.unique(list(text), return_inverse=True)[1].astype(np.int64)


@given(symbols)
def test_matches_counted_by_fourier_are_those_counted_one_by_one(given_symbols: list[int]) -> None:
    ids = np.unique(given_symbols, return_inverse=True)[1]

    assert match_counts(ids).tolist() == reference.match_counts(given_symbols)


@given(block=st.lists(st.integers(0, 3), min_size=1, max_size=12), n=st.integers(24, 80))
def test_the_first_exact_block_is_the_shortest_period_of_the_sequence(block: list[int], n: int) -> None:
    sequence = (block * n)[:n]
    ids = np.unique(sequence, return_inverse=True)[1].astype(np.int64)

    assert next(found.length for found in repetitions(ids) if found.is_exact) == reference.shortest_period(sequence)


@given(symbols)
def test_every_symbol_placed_in_a_block_is_the_one_that_stands_there(given_symbols: list[int]) -> None:
    ids = np.unique(given_symbols, return_inverse=True)[1].astype(np.int64)

    for found in repetitions(ids):
        placed = found.place != NOWHERE
        for place in range(found.length):
            assert len(set(ids[placed & (found.place == place)].tolist())) == 1


def test_what_is_inserted_belongs_to_no_block_and_the_rest_goes_on_in_step() -> None:
    found = next(found for found in repetitions(_ids("abcd" * 5 + "abXcd" + "abcd" * 5)) if found.length == 4)

    assert np.flatnonzero(found.place == NOWHERE).tolist() == [22]
    assert not found.is_exact
    assert (np.diff(found.place[23:]) % 4 == 1).all()


def test_a_sequence_without_order_has_no_block() -> None:
    assert list(repetitions(np.random.default_rng(1).integers(0, 50, 500))) == []


@pytest.mark.parametrize(
    ("lengths_s", "length", "kind"),
    [
        ([0.2] * 10, 7, "steady"),
        ([0.2] * 9 + [5.0] + [0.2] * 9, 7, "steady"),
        ([0.01] * 11 + [0.3] + [0.01] * 11, 1, "unclear"),
        (([0.01] * 11 + [0.3]) * 3, 1, "nested"),
        ([*[0.01] * 11, 0.3, *[0.01] * 11, 9.0, *[0.01] * 11, 0.3, *[0.01] * 11], 1, "erratic"),
        (([0.05] * 3 + [0.15]) * 4, 12, "nested"),
        (([0.2] * 19 + [5.0]) * 4, 12, "steady"),
        ([0.1, 0.9, 0.3, 2.0, 0.05, 0.6, 1.4, 0.2], 3, "erratic"),
        ([], 5, "steady"),
    ],
)
def test_pauses_tell_layers_and_micro_batches_from_iterations(lengths_s: list[float], length: int, kind: str) -> None:
    assert read_loop(np.array(lengths_s), length=length).kind == kind


def test_blocks_that_take_two_times_in_turn_are_one_iteration() -> None:
    lengths_s = np.tile([0.45, 0.55], 8) + np.random.default_rng(2).normal(0.0, 1e-4, 16)

    assert read_loop(lengths_s, length=2)[:2] == ("nested", 2)
