"""The experiments: jobs that share the trunk, and what they are to show."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Final

from tests.rig.spec import TWO_VGG19

__all__ = ["SPECS", "Experiment"]

_HERE: Final = Path(__file__).parent


class Experiment(StrEnum):
    """Names of the experiments."""

    TWO_EQUAL = "two-equal"
    THREE = "three"
    TWO_UNEQUAL = "two-unequal"
    TWO_OVERLOADED = "two-overloaded"


SPECS: Final = {
    Experiment.TWO_EQUAL: TWO_VGG19,
    Experiment.THREE: _HERE / "three.toml",
    Experiment.TWO_UNEQUAL: _HERE / "two_unequal.toml",
    Experiment.TWO_OVERLOADED: _HERE / "two_overloaded.toml",
}
"""Description of network and jobs."""
