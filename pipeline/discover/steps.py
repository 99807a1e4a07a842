"""`Steps`: how far a search is, which looks at every port several times."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Steps"]


class Steps:
    """A count of steps done.

    Parameters
    ----------
    n_steps
        How many there are at most.
    on_step
        Called after each with the number done and ``n_steps``.
    """

    def __init__(self, n_steps: int, on_step: Callable[[int, int], None]) -> None:
        self._n_steps = n_steps
        self._n_done = 0
        self._on_step = on_step

    def done(self, n: int = 1) -> None:
        """Count so many more steps."""
        self._n_done += n
        self._on_step(self._n_done, self._n_steps)

    def finish(self) -> None:
        """Count all that are left: they were not needed."""
        self.done(self._n_steps - self._n_done)
