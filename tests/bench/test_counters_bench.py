"""What recording 16 counters at 1 kHz costs, and that every missed tick is flagged."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from tests.bench.counters import NETWORK, CounterCost, cost_table, measure, missed_by_time

MS = 1_000_000


@pytest.fixture(scope="module")
def cost() -> CounterCost:
    if not NETWORK.is_dir():
        pytest.skip(f"{NETWORK} is not here: the counters read are the kernel's own")
    return measure(seconds=2.0, n_rounds=1, bare_s=0.2)


def test_every_tick_that_was_missed_is_flagged_and_no_other(cost: CounterCost) -> None:
    sys.stdout.write(f"\n{cost_table(cost)}\n")
    assert cost.n_counters == 16
    assert cost.ticks.n_read > 1_000
    assert (cost.ticks.n_not_flagged, cost.ticks.n_flagged_in_vain) == (0, 0)
    assert cost.ticks.n_missed_told == cost.ticks.n_missed_seen


def test_ticks_missed_are_told_from_the_times_of_the_reads_alone() -> None:
    begun_ns = np.array([0.01, 1.07, 2.9, 5.2, 6.0, 9.95]) * MS
    assert missed_by_time(begun_ns.astype(np.int64), start_ns=0, interval_ns=MS).tolist() == [0, 0, 0, 2, 0, 2]
