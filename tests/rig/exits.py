"""How a command of the rig ends: its exit code and its last words."""

from __future__ import annotations

from collections.abc import Callable

from pipeline.cli.printer import note
from profiler.errors import OffbeatError, UsageError

__all__ = ["exit_code_of"]


def exit_code_of(app: Callable[[], object]) -> int:
    """Run a command and return its exit code: 0 done, 1 failed, 2 wrong usage."""
    try:
        app()
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else 1
    except UsageError as error:
        note(f"rig: {error}")
        return 2
    except (OffbeatError, OSError) as error:
        note(f"rig: {error}")
        return 1
    return 0
