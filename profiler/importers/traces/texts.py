"""`text_of`: what a file names a thing, whatever the file holds in its place."""

from __future__ import annotations

import hashlib
from typing import Any, Final

__all__ = ["UNKNOWN", "shortened", "text_of"]

UNKNOWN: Final = "?"
MAX_LISTS: Final = 2
"""Shapes of several tensors are a list of lists of numbers."""
MAX_NUMBER: Final = 1 << 64
MAX_LETTERS: Final = 120
"""A column of names takes as much for each as for the longest."""
_DIGEST_BYTES: Final = 8


def text_of(value: Any, *, n_lists: int = MAX_LISTS) -> str:  # noqa: ANN401 - whatever a file holds
    """Return a text or number, or lists of them, as text; a question mark for what is neither or is deeper.

    Examples
    --------
    >>> text_of("all_reduce"), text_of([(4096, 1), (8,)]), text_of([[[7]]]), text_of(None)
    ('all_reduce', '[[4096, 1], [8]]', '[[?]]', '?')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and abs(value) < MAX_NUMBER:
        return str(value)
    if isinstance(value, list | tuple) and n_lists:
        return f"[{', '.join(text_of(part, n_lists=n_lists - 1) for part in value)}]"
    return UNKNOWN


def shortened(text: str) -> str:
    """Return a text whose end is a digest of the whole if it is long, so that different ones stay different."""
    if len(text) <= MAX_LETTERS:
        return text
    digest = hashlib.blake2b(text.encode(errors="backslashreplace"), digest_size=_DIGEST_BYTES).hexdigest()
    return f"{text[: MAX_LETTERS - len(digest) - 1]}~{digest}"
