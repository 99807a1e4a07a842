"""What a method says of a case, in the one form in which all are judged."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Answer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The score claimed, the shifts that are to reach it, and how much better others may be.

    ``gap`` is None where a method bounds nothing, 0 where it proves that there is nothing better. ``spent_s`` is the
    CPU time where a method tells it apart from stating the problem.
    """

    score: float
    shifts_ns: tuple[int, ...]
    gap: float | None = None
    spent_s: float | None = None
