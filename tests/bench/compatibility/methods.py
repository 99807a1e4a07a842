"""Every method of the table by its name, ours last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Final

from tests.bench.compatibility.cp_sat import cp_sat
from tests.bench.compatibility.grid import greedy_on_grid, on_grid
from tests.bench.compatibility.longer_phases import longer_phases
from tests.bench.compatibility.ours import ours
from tests.bench.compatibility.random_shifts import best_of_random

if TYPE_CHECKING:
    from tests.bench.compatibility.answer import Answer
    from tests.bench.compatibility.cases import Case

__all__ = ["METHODS", "OURS", "Method"]

OURS: Final = "ours"


@dataclass(frozen=True, slots=True)
class Method:
    """How a case is solved, on how many of the seeds at most, and the distribution that is needed for it, if any."""

    solve: Callable[[Case], Answer | None]
    most_seeds: int | None = None
    needs: str | None = None

    @property
    def lacks(self) -> str | None:
        """Why the method cannot run here, None where it can."""
        if self.needs is None:
            return None
        try:
            version(self.needs)
        except PackageNotFoundError:
            return f"{self.needs} is not installed; pip install -e '.[bench]'"
        return None


METHODS: Final[dict[str, Method]] = {
    "random, best of 50": Method(best_of_random),
    "5-degree grid": Method(on_grid),
    "greedy on the grid": Method(greedy_on_grid),
    "Rust peer (twin)": Method(longer_phases),
    "CP-SAT": Method(cp_sat, most_seeds=3, needs="ortools"),
    OURS: Method(ours),
}
