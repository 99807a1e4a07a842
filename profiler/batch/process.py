"""What a worker process runs (``python -m profiler.batch.process``): functions and arguments in, answers out."""

from __future__ import annotations

import os
import pickle
import sys

__all__ = ["main"]


def main() -> None:
    """Answer each call that comes in on standard input, until it ends with the process that writes it."""
    calls, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # Whatever is printed must not mix with the answers.
    while True:
        try:
            function, arguments = pickle.load(calls)  # noqa: S301 - written by the process that started this one
            pickle.dump(function(*arguments), answers, protocol=pickle.HIGHEST_PROTOCOL)
            answers.flush()
        except (EOFError, BrokenPipeError):
            os._exit(0)  # Nobody is left to read; an ordinary exit would fail to flush what is left unread.


if __name__ == "__main__":
    main()
