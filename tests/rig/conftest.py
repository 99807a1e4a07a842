"""Skips what this machine cannot do, naming what is missing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.rig.requirements import missing_for_jobs, missing_for_network
from tests.rig.rig import Rig
from tests.rig.spec import TWO_VGG19, read_spec


@pytest.fixture(scope="session")
def network_here() -> None:
    if missing := missing_for_network():
        pytest.skip(f"the rig needs: {'; '.join(missing)}")


@pytest.fixture(scope="session")
def jobs_here() -> None:
    if missing := missing_for_jobs():
        pytest.skip(f"the rig needs: {'; '.join(missing)}")


@pytest.fixture(scope="module")
def rig(jobs_here: None) -> Iterator[Rig]:  # noqa: ARG001 - it skips
    with Rig(read_spec(TWO_VGG19)) as standing:
        yield standing
