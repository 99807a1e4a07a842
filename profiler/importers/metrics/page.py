"""Importer of pages of metrics: the text that exporters serve, Prometheus text or OpenMetrics."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from profiler.errors import BadInput
from profiler.importers.contents import kind_of
from profiler.importers.coverage import Coverage
from profiler.importers.importer import Importer, Options
from profiler.importers.instants import Instants, host_of
from profiler.importers.lines import Lines
from profiler.importers.metrics.names import NODES, known_metric
from profiler.importers.metrics.readings import Labelled, MetricReadings, value_of
from profiler.importers.timestamps import TimeLines

if TYPE_CHECKING:
    from profiler.importers.inputs import Input
    from profiler.importers.sink import Sink

__all__ = ["METRICS_PAGE"]

FEWEST_MS: Final = 1e11
"""A time of so much or more is in ms, as Prometheus text has it (1973 on), a lesser one in s, as in OpenMetrics."""
_MS_PER_S: Final = 1e3
_NAME: Final = re.compile(rb"[a-zA-Z_:][a-zA-Z0-9_:]*")
_HEADER: Final = re.compile(rb"# (?:HELP|TYPE|UNIT) ([a-zA-Z_:][a-zA-Z0-9_:]*)")
_READING: Final = re.compile(
    rb"""\s*(?P<what>[^\s{]*(?:[ \t]*\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\})?)"""
    rb"""[ \t]+(?P<value>[^\s#_]+)(?:[ \t]+(?P<when>[^\s#_]+))?\s*(?:\#.*)?"""
)
"""A reading; what follows a ``#`` is an exemplar, whose numbers are others."""


class _Reading(NamedTuple):
    """One reading; its time in s since the epoch, its own or that of a line before, is None where there is none."""

    what: bytes
    metric: Labelled
    value: int | None
    t_s: float | None
    n_time_digits: int


def _recognises(source: Input, head: bytes, options: Options) -> bool:  # noqa: ARG001 - as every importer
    if kind_of(head) != "text":
        return False
    return any(_HEADER.match(line) or _names_known(line) for line in head.splitlines()[:200])


def _names_known(line: bytes) -> bool:
    name = _NAME.match(line)
    return name is not None and line[name.end() : name.end() + 1] in (b"{", b" ") and _is_known(name[0])


def _is_known(name: bytes) -> bool:
    return known_metric(name.decode("ascii")) is not None


def _read(source: Input, sink: Sink, options: Options) -> Coverage:
    coverage = Coverage()
    page = _Page(source, sink, options, coverage=coverage)
    lines = Lines(source, coverage.problems)
    for i_line, line in enumerate(lines, start=1):
        if line.strip() and not line.startswith(b"#"):
            page.take(line, i_line=i_line)
    page.close(is_cut=lines.is_cut)
    if not coverage.n_samples:
        raise BadInput("\n".join(coverage.problems) or _nothing(source, coverage))
    return coverage


class _Page:
    """Takes the lines of a page; the last reading waits, since the end of the page may be missing."""

    def __init__(self, source: Input, sink: Sink, options: Options, *, coverage: Coverage) -> None:
        self._source = source
        self._coverage = coverage
        self._readings = MetricReadings(sink, coverage, host=host_of(source, options), source=source.name)
        self._instants = Instants(source, options)
        self._times = TimeLines()
        self._metrics: dict[bytes, Labelled | None] = {}
        self._waiting: _Reading | None = None
        self._n_time_digits = 0
        self._first_wrong = ""

    def take(self, line: bytes, *, i_line: int) -> None:
        """Take a line that is no comment."""
        if line[:1].isdigit() and self._times.take(line.decode("ascii", errors="replace")):
            return
        name = _NAME.match(line)
        if name is not None and not self._readings.knows(name[0].decode("ascii")):
            if name[0].decode("ascii") in NODES and (node := self._reading(line)) is not None:
                self._readings.learn(node.metric)
            return
        reading = self._reading(line)
        if reading is None or (name is not None and reading.metric.name != name[0].decode("ascii")):
            self._coverage.n_read += name is None
            self._coverage.leave_out("no metric", 1)
            self._first_wrong = self._first_wrong or f"line {i_line}: {line[:60]!r}"
        elif name is not None or self._readings.knows(reading.metric.name):
            self._add_waiting()
            self._waiting = reading

    def close(self, *, is_cut: bool) -> None:
        """Take the last reading, unless digits of its time are missing, and tell what became of the page."""
        coverage, name = self._coverage, self._source.name
        last = self._waiting
        if is_cut and last is not None and last.n_time_digits < self._n_time_digits:
            coverage.leave_out("cut", 1)
            coverage.problems.append(
                f"{name}: ends inside of a line, in the time of a reading, which was left out; fetch the page again"
            )
        else:
            self._add_waiting()
        self._readings.close(cut_in=name if is_cut else "")
        self._instants.tell(coverage)
        self._times.tell(coverage)
        if n_wrong := coverage.left_out["no metric"]:
            coverage.problems.append(
                f"{name}: {self._first_wrong}: no metric; lines like it ({n_wrong}) were left out; fetch the page again"
            )

    def _add_waiting(self) -> None:
        if self._waiting is None:
            return
        what, metric, value, t_s, self._n_time_digits = self._waiting
        t_ns = self._instants.t_ns(t_s, of=what.decode("utf-8", errors="replace"))
        self._readings.add(metric, t_ns=t_ns, value=value)

    def _reading(self, line: bytes) -> _Reading | None:
        """Return what a line says; None if it is no reading."""
        found = _READING.fullmatch(line)
        if found is None:
            return None
        what, value, when = found["what"], found["value"], found["when"] or b""
        if what not in self._metrics:
            self._metrics[what] = _metric(what)
        metric = self._metrics[what]
        try:
            t_s = _time_s(when) if when else self._times.t_s
            return metric and _Reading(what, metric, value_of(value.decode("ascii")), t_s, len(when))
        except ValueError:
            return None


def _metric(what: bytes) -> Labelled | None:
    """Return the name and the labels of a reading; None if they cannot be read."""
    try:
        families = list(text_string_to_metric_families(f"{what.decode()} 0\n"))
    except (ValueError, IndexError):  # as the parser raises for a label without a name
        return None
    samples = [sample for family in families for sample in family.samples]
    return Labelled.of(samples[0].name, samples[0].labels) if len(samples) == 1 else None


def _time_s(text: bytes) -> float:
    """Return a time in s since the epoch."""
    when = float(text)
    if not math.isfinite(when):
        raise ValueError(when)
    return when / _MS_PER_S if when >= FEWEST_MS else when


def _nothing(source: Input, coverage: Coverage) -> str:
    passed_over = "; ".join(f"{item.what}: {item.why}" for item in coverage.skipped)
    return f"{source.name}: no metric that counts the traffic of a port" + (f" ({passed_over})" if passed_over else "")


def _parameters(options: Options) -> dict[str, Any]:
    return {"host": options.host, "time_from": options.time_from}


METRICS_PAGE: Final = Importer(
    name="metrics",
    version=4,
    reads="pages of metrics (Prometheus text, OpenMetrics)",
    recognises=_recognises,
    read=_read,
    parameters=_parameters,
    is_instant=True,
)
