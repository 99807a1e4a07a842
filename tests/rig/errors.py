"""What the rig raises: `RigError` if something went wrong, `RigNotHere` if this machine cannot carry a rig."""

from __future__ import annotations

from profiler.errors import NotHere, OffbeatError

__all__ = ["RigError", "RigNotHere"]


class RigError(OffbeatError):
    """The rig could not be built, run or taken down."""


class RigNotHere(NotHere):
    """This machine lacks something that the rig needs."""
