"""Commands that write a lake, killed while it is read; ``python -m tests.bench.kills`` does it hundreds of times."""

from __future__ import annotations

import pytest

from tests.bench.kills import run_kills
from tests.bench.victims import VICTIMS

N_KILLS = 4


@pytest.mark.parametrize("name", VICTIMS)
def test_a_command_killed_at_random_moments_loses_nothing_sealed_and_misleads_no_reader(name: str) -> None:
    run = run_kills(name, n_kills=N_KILLS)

    assert run.faults == []
    assert run.n_kills == N_KILLS
    assert run.n_while_writing > 0
    assert run.n_reads > run.n_checks >= N_KILLS
    assert run.n_readings > 0
