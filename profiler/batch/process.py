"""What a worker process runs (``python -m profiler.batch.process``): chunks of series in, their profiles out."""

from __future__ import annotations

import os
import pickle
import sys

from profiler.batch.outcome import profile_or_reason

__all__ = ["main"]


def main() -> None:
    """Profile each chunk that comes in on standard input, until it ends with the process that writes it."""
    chunks, profiles = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # Whatever is printed must not mix with the profiles.
    while True:
        try:
            chunk = pickle.load(chunks)  # noqa: S301 - written by the process that started this one
            pickle.dump([profile_or_reason(series) for series in chunk], profiles, protocol=pickle.HIGHEST_PROTOCOL)
            profiles.flush()
        except (EOFError, BrokenPipeError):
            os._exit(0)  # Nobody is left to read; an ordinary exit would fail to flush what is left unread.


if __name__ == "__main__":
    main()
