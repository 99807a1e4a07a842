"""`ONE_THREAD`: what the environment of a process tells libraries of linear algebra before they are loaded."""

from __future__ import annotations

from typing import Final

__all__ = ["ONE_THREAD"]

ONE_THREAD: Final = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""Their threads wait busily for one another on matrices as small as ours: eight times the work. ``OMP_NUM_THREADS`` is
left alone, since Arrow reads files with as many."""
