"""Importer of Prometheus's answers: JSON of ``/api/v1/query_range`` and ``/api/v1/query``.

Lines of ``/api/v1/export`` of VictoriaMetrics are read too.

References
----------
.. [1] Prometheus, "HTTP API": https://prometheus.io/docs/prometheus/latest/querying/api/
.. [2] VictoriaMetrics, "How to export data in JSON line format"
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from profiler.errors import BadInput
from profiler.importers.coverage import Coverage
from profiler.importers.importer import Importer, Options
from profiler.importers.instants import whole_ns
from profiler.importers.metrics.readings import Labelled, MetricReadings, value_of
from profiler.importers.objects import first_text, objects_in

if TYPE_CHECKING:
    from profiler.importers.inputs import Input
    from profiler.importers.sink import Sink

__all__ = ["PROMETHEUS"]

_NAME: Final = "__name__"
_MARKS: Final = ((b'"resultType"', b'"data"'), (b'"metric"', b'"value'), (b'"errorType"', b'"status"'))
"""What stands near the start of an answer, of its list of results alone, as clients save it, or of a refusal."""
_LISTED: Final = "item"
_ANSWERED: Final = "data.result.item"
_EXPORTED: Final = ""
_MS_PER_S: Final = 1000.0
_SAID: Final = {
    "error": "the server refused the query",
    "warnings.item": "the server warns that readings may be missing",
}
"""Where a server says that something is wrong, and what that means."""
_SHOWN: Final = 200
"""Characters of a server's own words that a message shows."""


def _recognises(source: Input, head: bytes, options: Options) -> bool:  # noqa: ARG001 - as every importer
    return head.lstrip()[:1] in (b"{", b"[") and any(all(mark in head for mark in marks) for marks in _MARKS)


def _read(source: Input, sink: Sink, options: Options) -> Coverage:
    coverage = Coverage()
    readings = MetricReadings(sink, coverage, host=options.host or source.default_host, source=source.name)
    results = _Results(source, readings, coverage)
    for result in objects_in(source, _path(source), problems=coverage.problems):
        results.take(result)
    readings.close()
    results.tell()
    if not coverage.n_samples:
        said = [*coverage.problems, *(f"{item.what}: {item.why}" for item in coverage.skipped)]
        raise BadInput("\n".join([f"{source.name}: no metric that counts the traffic of a port", *said]))
    return coverage


def _path(source: Input) -> str:
    """Return where the results stand."""
    head = source.head()
    if head.lstrip()[:1] == b"[":
        return _LISTED
    return _EXPORTED if b'"metric"' in head and b'"result"' not in head else _ANSWERED


class _Results:
    """Takes the results of an answer, one at a time."""

    def __init__(self, source: Input, readings: MetricReadings, coverage: Coverage) -> None:
        self._source = source
        self._readings = readings
        self._coverage = coverage
        self._n_results = 0
        self._n_wrong = 0
        self._n_unnamed = 0
        self._n_histograms = 0

    def take(self, result: Mapping[str, Any]) -> None:
        """Take one result."""
        self._n_results += 1
        labels = result.get("metric")
        rows = _rows(result)
        if not isinstance(labels, Mapping) or rows is None:
            self._n_histograms += "histogram" in result or "histograms" in result
            self._n_wrong += not ("histogram" in result or "histograms" in result)
        elif not isinstance(name := labels.get(_NAME), str):
            self._n_unnamed += 1
            self._coverage.n_read += len(rows)
            self._coverage.leave_out("the answer to an expression", len(rows))
        elif self._readings.knows(name, n_readings=len(rows)):
            self._add(Labelled.of(name, _texts(labels)), rows)
        else:
            self._readings.learn(Labelled.of(name, _texts(labels)))

    def tell(self) -> None:
        """Say what was no reading, and what the server itself said was wrong."""
        coverage, name = self._coverage, self._source.name
        if not self._n_results:
            coverage.skip("results (0)", "none, or a scalar: ask for a counter, and for a range in which it was read")
        n_wrong = self._n_wrong + coverage.left_out["no reading"]
        if n_wrong:
            coverage.problems.append(f"{name}: readings or results ({n_wrong}) that are none; left out; ask again")
        if self._n_unnamed:
            why = "no __name__, so the answer to an expression such as rate(); ask for the counter itself"
            coverage.skip(f"results ({self._n_unnamed})", why)
        if self._n_histograms:
            coverage.skip(f"results ({self._n_histograms})", "native histograms, which count no traffic of a port")
        for key, meaning in _SAID.items():
            if said := _said(self._source, key):
                coverage.problems.append(f"{name}: {meaning}: {said[:_SHOWN]!r}; ask again")

    def _add(self, who: Labelled, rows: list[Any]) -> None:
        found = [reading for row in rows if (reading := _reading(row)) is not None]
        self._coverage.leave_out("no reading", len(rows) - len(found))
        if found:
            first_ns, last_ns = (pick(t_ns for t_ns, _ in found) for pick in (min, max))
            self._readings.hand_over(who, first_ns=first_ns, last_ns=last_ns)
        for t_ns, value in found:
            self._readings.add(who, t_ns=t_ns, value=value)


def _said(source: Input, path: str) -> str:
    """Return the first text at a path; the document is parsed for it only if the key is anywhere in it."""
    key = f'"{path.partition(".")[0]}"'.encode()
    rest = b""
    try:
        for piece in source.pieces():
            if key in rest + piece:
                return first_text(source, path)
            rest = piece[-len(key) :]
    except BadInput:  # the reading before has said so
        pass
    return ""


def _rows(result: Mapping[str, Any]) -> list[Any] | None:
    """Return the rows of a result, each a time in s and a value; None if there are none."""
    values, stamps = result.get("values"), result.get("timestamps")
    if isinstance(values, list) and isinstance(stamps, list):
        return list(_exported(stamps, values))
    if "value" in result:
        return [result["value"]]
    return values if isinstance(values, list) else None


def _exported(stamps: list[Any], values: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield rows of an export, whose times are ms; null is NaN; a value without a time is a row that is none."""
    for i in range(max(len(stamps), len(values))):
        when = stamps[i] if i < len(stamps) else None
        text = values[i] if i < len(values) else None
        yield when / _MS_PER_S if isinstance(when, int | float) else None, "NaN" if text is None else text


def _reading(row: Any) -> tuple[int, int | None] | None:  # noqa: ANN401 - whatever the JSON has
    """Return the time and the value of a row, the value None where it cannot be stored; None if it is no reading."""
    try:
        when, text = row
        if isinstance(when, bool) or isinstance(text, bool):
            return None
        t_s = float(when)
        value = value_of(text if isinstance(text, str) else str(text + 0))
    except (TypeError, ValueError, OverflowError):
        return None
    return (whole_ns(t_s), value) if math.isfinite(t_s) else None


def _texts(labels: Mapping[str, Any]) -> dict[str, str]:
    return {name: text for name, text in labels.items() if isinstance(text, str)}


def _parameters(options: Options) -> dict[str, Any]:
    return {"host": options.host}


PROMETHEUS: Final = Importer(
    name="prometheus",
    version=3,
    reads="answers of Prometheus (query_range JSON)",
    recognises=_recognises,
    read=_read,
    parameters=_parameters,
)
