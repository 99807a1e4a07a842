"""Every importer, and which of them an input is for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from profiler.errors import BadInput, UsageError
from profiler.importers.capture import CAPTURE
from profiler.importers.collective import FLIGHT_RECORDER, KINETO, NCCL_INSPECTOR
from profiler.importers.contents import kind_of
from profiler.importers.delimited import DELIMITED

if TYPE_CHECKING:
    from profiler.importers.importer import Importer, Options
    from profiler.importers.inputs import Input
from profiler.importers.recorder import RECORDER

__all__ = ["IMPORTERS", "importer_of"]

IMPORTERS: Final[dict[str, Importer]] = {
    "recorder": RECORDER,
    "capture": CAPTURE,
    "delimited": DELIMITED,
    "kineto": KINETO,
    "nccl_inspector": NCCL_INSPECTOR,
    "flight_recorder": FLIGHT_RECORDER,
}
"""Importers by name, in the order in which they are asked."""


def importer_of(source: Input, options: Options, *, forced: str | None = None) -> Importer | None:
    """Return the importer of an input, by its content; None for a file that a folder happens to hold.

    Parameters
    ----------
    source
        What to read.
    options
        What the caller told; a mapping makes more tables known.
    forced
        Name of an importer to take whatever the content.

    Raises
    ------
    UsageError
        If ``forced`` is not an importer.
    BadInput
        If no importer reads what the caller named: the message tells what it looks like.
    """
    if forced is not None:
        if forced not in IMPORTERS:
            raise UsageError(f"format {forced!r}: unknown; expected one of {', '.join(IMPORTERS)}")
        return IMPORTERS[forced]
    head = b"" if source.is_lake else source.head()
    for importer in IMPORTERS.values():
        if importer.recognises(source, head, options):
            return importer
    if not source.asked:
        return None
    kind = kind_of(head)
    if kind in ("text", "Parquet"):
        return DELIMITED
    found = "is empty" if kind == "empty" else f"looks like {kind}"
    known = ", ".join(importer.reads for importer in IMPORTERS.values())
    raise BadInput(f"{source.name}: {found}; give {known}, as they are or as gzip, zstd, xz")
