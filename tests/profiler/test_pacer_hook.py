"""The pacer where a framework starts communication: hooks, blocks, loops with several collectives."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import pytest

from profiler.pacer import Pacer
from tests.profiler.fake_clocks import FakeClock

if TYPE_CHECKING:
    from pathlib import Path

PERIOD_NS = 100_000_000
START_NS = 50_000_000
"""Slot 0 is closed by then."""


class Bucket:
    def __init__(self, index: int) -> None:
        self._index = index

    def index(self) -> int:
        return self._index


def reduce_bucket(state: Any, bucket: Bucket) -> str:
    """Reduce."""
    return f"{state} {bucket.index()}"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(START_NS)


@pytest.fixture
def pacer(clock: FakeClock) -> Pacer:
    return Pacer(period_s=0.1, clock=clock, sleep=clock.sleep)


def test_a_hook_waits_before_an_iterations_first_bucket_and_communicates_as_it_would(
    pacer: Pacer, clock: FakeClock
) -> None:
    hook = pacer.hook(reduce_bucket)
    for i_slot in (1, 2, 3):
        assert [hook("state", Bucket(i)) for i in range(4)] == ["state 0", "state 1", "state 2", "state 3"]
        assert clock.now_ns == pytest.approx(i_slot * PERIOD_NS, abs=2_000)
        clock.now_ns += 90_000_000
    assert pacer.n_iterations == 3
    assert (hook.__name__, hook.__doc__) == ("reduce_bucket", "Reduce.")


def test_a_device_that_is_still_computing_is_waited_for_before_the_slot_is_chosen(
    pacer: Pacer, clock: FakeClock
) -> None:
    def finish_computing() -> None:
        clock.now_ns += 110_000_000

    hook = pacer.hook(reduce_bucket, until_ready=finish_computing)
    for _ in range(2):
        hook("state", Bucket(0))
        hook("state", Bucket(1))
    # Ready at 110 ms, waits for 200; ready at 310, 10 ms late, goes.
    assert clock.now_ns == pytest.approx(310_000_000, abs=4_000)
    assert pacer.statistics()["late_s"]["max"] == pytest.approx(0.01, abs=1e-5)


def test_a_block_a_call_and_a_method_wait_alike(pacer: Pacer, clock: FakeClock) -> None:
    with pacer:
        assert clock.now_ns == pytest.approx(PERIOD_NS, abs=2_000)
    pacer()
    pacer.wait()
    assert clock.now_ns == pytest.approx(3 * PERIOD_NS, abs=2_000)
    with pytest.raises(RuntimeError, match="of the job"), pacer:
        raise RuntimeError("of the job")


def test_only_the_first_of_an_iterations_collectives_waits(pacer: Pacer, clock: FakeClock) -> None:
    for i_slot in (1, 2):
        waits_s = [pacer.wait_first() for _ in range(5)]
        assert waits_s[0] > 0
        assert waits_s[1:] == [0.0] * 4
        assert clock.now_ns == pytest.approx(i_slot * PERIOD_NS, abs=2_000)
        pacer.end_iteration("an optimizer", (), {})
    assert pacer.n_iterations == 2


def test_distributed_data_parallel_takes_the_hook_and_starts_each_iteration_at_its_slot(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    dist = pytest.importorskip("torch.distributed")
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook

    clock = FakeClock(START_NS)
    pacer = Pacer(period_s=0.1, clock=clock, sleep=clock.sleep)
    begun_ns: list[int] = []

    @functools.wraps(allreduce_hook)
    def told_hook(state: Any, bucket: Any) -> Any:
        begun_ns.append(clock.now_ns)
        return allreduce_hook(state, bucket)

    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/rendezvous", rank=0, world_size=1)
    try:
        layers = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(3)))
        model = torch.nn.parallel.DistributedDataParallel(layers, bucket_cap_mb=0.02)
        model.register_comm_hook(None, pacer.hook(told_hook))
        with model.no_sync():
            model(torch.ones(2, 64)).sum().backward()
        assert pacer.n_iterations == 0
        for i_slot in (1, 2, 3, 4):
            del begun_ns[:]
            clock.now_ns += 30_000_000
            model(torch.ones(2, 64)).sum().backward()
            assert begun_ns == pytest.approx([i_slot * PERIOD_NS] * len(begun_ns), abs=2_000)
            # All in one bucket first; then the buckets are made anew, in the order in which gradients come.
            assert (len(begun_ns) > 1) == (i_slot > 1)
    finally:
        dist.destroy_process_group()
    assert pacer.n_iterations == 4
