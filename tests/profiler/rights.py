"""Rights that tests give up for a while."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["rights_of_nobody"]


@contextmanager
def rights_of_nobody() -> Iterator[None]:
    """Give up root's right to read everything, if we have it."""
    was_root = os.geteuid() == 0
    if was_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if was_root:
            os.seteuid(0)
