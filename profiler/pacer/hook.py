"""The pacer in front of communication that a framework starts: PyTorch's communication hooks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol

__all__ = ["Bucket", "waiting_hook"]


class Bucket(Protocol):
    """What is used of ``torch.distributed.GradBucket``."""

    def index(self) -> int:
        """Return the bucket's place among those of an iteration; the first one is 0."""


def waiting_hook(
    hook: Callable[[Any, Any], Any], *, wait: Callable[[], object], until_ready: Callable[[], object] | None = None
) -> Callable[[Any, Any], Any]:
    """Return a communication hook that waits before the first bucket of an iteration, then does what ``hook`` does.

    Parameters
    ----------
    hook : callable
        The hook to stand for.
    wait : callable
        Waits for the slot.
    until_ready : callable or None
        Returns once the device has computed the bucket; called before ``wait``.

    Notes
    -----
    DistributedDataParallel reduces the buckets of an iteration in the order of their indices [1]_, so that the first
    to come is number 0, in its first iterations and after it has rebuilt its buckets too; iterations under
    ``no_sync()`` call no hook and take no slot. Name and signature are those of ``hook``: PyTorch checks both.

    References
    ----------
    .. [1] S. Li et al., "PyTorch Distributed: Experiences on Accelerating Data Parallel Training", VLDB 2020,
       section 3.2.3: "all processes must use the same bucketing order".
    """

    @functools.wraps(hook)
    def wait_and_reduce(state: Any, bucket: Bucket) -> Any:  # noqa: ANN401 - as the hook that it stands for
        if bucket.index() == 0:
            if until_ready is not None:
                until_ready()
            wait()
        return hook(state, bucket)

    return wait_and_reduce
