"""Where the packets of a capture are written: a file of its name, or one that its digest tells from others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["DIGEST_KEY", "missing_file"]

DIGEST_KEY: Final = b"offbeat.capture"
"""Key of the metadata of a file of packets: the digest of the capture that they are of."""
_SHOWN: Final = 12
"""Digits of a digest in a file's name: two captures of one name share them once in 10^14."""


def missing_file(folder: Path, stem: str, *, digest: str) -> Path | None:
    """Return the file to write the packets of a capture to; None where they are already.

    Parameters
    ----------
    folder
        Where files of packets stand.
    stem
        The capture's name, which captures of other folders may have too.
    digest
        Of the capture.
    """
    plain, own = (folder / f"{name}.packets.parquet" for name in (stem, f"{stem}-{digest[:_SHOWN]}"))
    if any(_is_of(path, digest) for path in (plain, own)):
        return None
    return own if plain.exists() else plain


def _is_of(path: Path, digest: str) -> bool:
    try:
        found = pq.read_schema(path).metadata or {}
    except (OSError, pa.ArrowInvalid):  # it is not there, or is somebody else's
        return False
    return found.get(DIGEST_KEY) == digest.encode()
