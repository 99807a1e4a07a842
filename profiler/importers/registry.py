"""Every importer, and which of them an input is for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from profiler.errors import BadInput, UsageError
from profiler.importers.capture import CAPTURE
from profiler.importers.collective import FLIGHT_RECORDER, KINETO, NCCL_INSPECTOR
from profiler.importers.contents import kind_of
from profiler.importers.delimited import DELIMITED
from profiler.importers.dumps.collectl import COLLECTL
from profiler.importers.dumps.ethtool import ETHTOOL
from profiler.importers.dumps.perfquery import PERFQUERY
from profiler.importers.dumps.sadf import SADF
from profiler.importers.metrics.answer import PROMETHEUS
from profiler.importers.metrics.page import METRICS_PAGE
from profiler.importers.nsys import NSYS
from profiler.importers.sysfs import SYSFS
from profiler.importers.unpacking import COMPRESSIONS

if TYPE_CHECKING:
    from profiler.importers.importer import Importer, Options
    from profiler.importers.inputs import Input
from profiler.importers.recorder import RECORDER

__all__ = ["IMPORTERS", "importer_of", "remedy_of"]

IMPORTERS: Final[dict[str, Importer]] = {
    "recorder": RECORDER,
    "capture": CAPTURE,
    "nsys": NSYS,
    "sysfs": SYSFS,
    "delimited": DELIMITED,
    "kineto": KINETO,
    "nccl_inspector": NCCL_INSPECTOR,
    "flight_recorder": FLIGHT_RECORDER,
    "prometheus": PROMETHEUS,
    "sadf": SADF,
    "perfquery": PERFQUERY,
    "ethtool": ETHTOOL,
    "collectl": COLLECTL,
    "metrics": METRICS_PAGE,
}
"""Importers by name, in the order in which they are asked."""


_REMEDIES: Final = {
    "UTF-16 text": "change it by iconv -f UTF-16 -t UTF-8, or let PowerShell write it with -Encoding utf8",
    "a fabric of ibnetdiscover": "it has no counters: give it to offbeat analyze with --cluster",
    "lz4": "unpack it by lz4 -d",
    "zip archive": "unpack it, and name the folder",
    **dict.fromkeys(COMPRESSIONS, "it is packed twice: unpack it once"),
}
"""What to do with what can be read once it is changed."""


def remedy_of(kind: str) -> str:
    """Return what to do with a kind of content, so that it can be read; empty if there is nothing."""
    return _REMEDIES.get(kind, "")


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
    head = b"" if source.path.is_dir() else source.head()
    for importer in IMPORTERS.values():
        if importer.recognises(source, head, options):
            return importer
    if not source.asked:
        return None
    kind = kind_of(head)
    if kind in ("text", "Parquet"):
        return DELIMITED
    if remedy := remedy_of(kind):
        raise BadInput(f"{source.name}: looks like {kind}; {remedy}")
    found = "is empty" if kind == "empty" else f"looks like {kind}"
    known = ", ".join(importer.reads for importer in IMPORTERS.values())
    raise BadInput(f"{source.name}: {found}; give {known}, as they are or as gzip, zstd, xz, bzip2")
