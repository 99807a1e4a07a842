"""Importer of Prometheus's answers: JSON of ``/api/v1/query_range`` and ``/api/v1/query``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from profiler.errors import BadInput
from profiler.importers.coverage import Coverage
from profiler.importers.importer import Importer, Options
from profiler.importers.instants import whole_ns
from profiler.importers.metrics.readings import MetricReadings
from profiler.importers.objects import objects_in

if TYPE_CHECKING:
    from profiler.importers.inputs import Input
    from profiler.importers.sink import Sink

__all__ = ["PROMETHEUS"]

_NAME: Final = "__name__"
_MARKS: Final = ((b'"resultType"', b'"data"'), (b'"metric"', b'"value'))
"""What stands near the start of an answer, or of its list of results alone, as clients save it."""
_ARRAYS: Final = ("item", "data.result.item")


def _recognises(source: Input, head: bytes, options: Options) -> bool:  # noqa: ARG001 - as every importer
    return head.lstrip()[:1] in (b"{", b"[") and any(all(mark in head for mark in marks) for marks in _MARKS)


def _read(source: Input, sink: Sink, options: Options) -> Coverage:
    coverage = Coverage()
    readings = MetricReadings(sink, coverage, host=options.host or source.default_host, source=source.name)
    n_unnamed = n_wrong = 0
    path = _ARRAYS[0] if source.head(64).lstrip()[:1] == b"[" else _ARRAYS[1]
    for result in objects_in(source, path, problems=coverage.problems):
        labels = result.get("metric")
        rows = result.get("values", [result.get("value")])
        if not isinstance(labels, Mapping) or not isinstance(rows, list):
            n_wrong += 1
        elif not isinstance(name := labels.get(_NAME), str):
            n_unnamed += 1
        elif readings.knows(name):
            n_wrong += _add(readings, name, labels=_texts(labels), rows=rows)
    readings.close()
    if n_wrong:
        coverage.problems.append(f"{source.name}: readings or results ({n_wrong}) that are none; left out; ask again")
    if n_unnamed:
        why = "no __name__, so the answer to an expression such as rate(); ask for the counter itself"
        coverage.skip(f"results ({n_unnamed})", why)
    if not coverage.n_samples:
        said = [*coverage.problems, *(f"{item.what}: {item.why}" for item in coverage.skipped)]
        raise BadInput("\n".join([f"{source.name}: no metric that counts the traffic of a port", *said]))
    return coverage


def _add(readings: MetricReadings, name: str, *, labels: Mapping[str, str], rows: list[Any]) -> int:
    """Take the readings of one result; return how many were none."""
    n_wrong = 0
    for row in rows:
        try:
            when, text = row
            t_s, value = float(when), float(text)
        except (TypeError, ValueError):
            n_wrong += 1
            continue
        if math.isfinite(t_s):
            readings.add(name, labels, t_ns=whole_ns(t_s), value=value)
        else:
            n_wrong += 1
    return n_wrong


def _texts(labels: Mapping[str, Any]) -> dict[str, str]:
    return {name: text for name, text in labels.items() if isinstance(text, str)}


def _parameters(options: Options) -> dict[str, Any]:
    return {"host": options.host}


PROMETHEUS: Final = Importer(
    name="prometheus",
    version=1,
    reads="answers of Prometheus (query_range JSON)",
    recognises=_recognises,
    read=_read,
    parameters=_parameters,
)
