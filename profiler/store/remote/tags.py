"""`tag_of`: what tells an object of a bucket from any other that is put in its place; it costs no reading of it.

Where an object was put in parts its tag is a hash of theirs, which pyarrow makes of one length [1]_. A bucket may use
tags of another kind; these are told apart from one another all the same, and match no file.

References
----------
.. [1] https://docs.aws.amazon.com/AmazonS3/latest/API/API_Object.html (ETag)
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

    from profiler.store.remote.address import RemotePath

__all__ = ["is_tag_of", "tag_of"]

PART_BYTES: Final = 10 << 20
"""Length of the parts that pyarrow sends but for the last; were it another, files would be sent once too often."""


def tag_of(place: RemotePath) -> str:
    """Return the tag of an object, empty where the bucket gives none.

    Raises
    ------
    OSError
        If there is no such object, or the bucket does not tell.
    """
    with place.open_file() as file:
        told: dict[str, str] = {name.lower(): value.decode() for name, value in (file.metadata() or {}).items()}
    return told.get("etag", "")


def is_tag_of(path: Path, tag: str) -> bool:
    """Return whether an object of a tag surely has the bytes of a file.

    Raises
    ------
    OSError
        If the file cannot be read.
    """
    digest, _, n_parts = tag.strip('"').partition("-")
    parts = []
    with path.open("rb") as file:
        if not n_parts:
            return hashlib.file_digest(file, _md5).hexdigest() == digest
        while content := file.read(PART_BYTES):
            parts.append(_md5(content).digest())
    return n_parts == str(len(parts)) and _md5(b"".join(parts)).hexdigest() == digest


def _md5(content: bytes = b"") -> hashlib._Hash:
    return hashlib.md5(content, usedforsecurity=False)
