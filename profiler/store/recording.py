"""One input of the lake: a live recording or an imported file, and the key that makes ingesting it twice a no-op."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from typing import TYPE_CHECKING, Any

from profiler.errors import BadInput, UsageError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Recording", "file_digest", "recording_id"]


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, read as a stream.

    Raises
    ------
    BadInput
        If the file is missing or cannot be read.
    """
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}; check the path and its permissions") from error


def recording_id(
    input_digest: str, *, parser: str, parser_version: int, parameters: Mapping[str, Any] | None = None
) -> str:
    """Return the key of an input: a SHA-256 of its bytes' digest, the parser's version and the parameters.

    Examples
    --------
    >>> recording_id("ab12", parser="pcap", parser_version=1, parameters={"bin_s": 0.001})[:16]
    '2682202b1c39463b'
    """
    key = json.dumps([input_digest, parser, parser_version, dict(parameters or {})], sort_keys=True, default=str)
    return hashlib.sha256(key.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """An input before its samples are written; most columns of table ``recordings``.

    Parameters
    ----------
    recording_id
        Key of the input, see `recording_id`.
    source
        Path of the file, or what was recorded.
    format
        Importer or collector.
    parameters
        What the parser was told; kept as JSON.
    anchor_wall_ns, anchor_monotonic_ns
        The same instant on the wall clock and on the monotonic clock, for live recordings.
    """

    recording_id: str
    source: str
    format: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    anchor_wall_ns: int | None = None
    anchor_monotonic_ns: int | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch("[0-9a-f]{64}", self.recording_id):
            raise UsageError(f"recording of {self.source}: id {self.recording_id!r}: make it with recording_id()")

    def to_row(self) -> dict[str, Any]:
        """Return the columns of table ``recordings`` that are known before the first sample."""
        return {
            "recording_id": self.recording_id,
            "source": self.source,
            "format": self.format,
            "tool_version": _tool_version(),
            "parameters": json.dumps(dict(self.parameters), sort_keys=True, default=str),
            "anchor_wall_ns": self.anchor_wall_ns,
            "anchor_monotonic_ns": self.anchor_monotonic_ns,
        }


def _tool_version() -> str | None:
    try:
        return metadata.version("offbeat")
    except metadata.PackageNotFoundError:  # run from a source tree that is not installed
        return None
