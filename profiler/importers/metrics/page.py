"""Importer of pages of metrics: the text that exporters serve, Prometheus text or OpenMetrics."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from prometheus_client.parser import text_string_to_metric_families

from profiler.errors import BadInput
from profiler.importers.contents import kind_of
from profiler.importers.coverage import Coverage
from profiler.importers.importer import Importer, Options
from profiler.importers.instants import Instants, host_of
from profiler.importers.lines import lines_of
from profiler.importers.metrics.names import known_metric
from profiler.importers.metrics.readings import MetricReadings

if TYPE_CHECKING:
    from prometheus_client.samples import Sample

    from profiler.importers.inputs import Input
    from profiler.importers.sink import Sink

__all__ = ["METRICS_PAGE"]

FEWEST_MS: Final = 1e11
"""A time of so much or more is in ms, as Prometheus text has it (1973 on), a lesser one in s, as in OpenMetrics."""
_NAME: Final = re.compile(rb"[a-zA-Z_:][a-zA-Z0-9_:]*")
_HEADER: Final = re.compile(rb"# (?:HELP|TYPE|UNIT) ([a-zA-Z_:][a-zA-Z0-9_:]*)")


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
    readings = MetricReadings(sink, coverage, host=host_of(source, options), source=source.name)
    instants = Instants(source, options)
    for sample in _samples(source, readings, coverage):
        t_ns = instants.t_ns(_time_s(sample), of=f"{sample.name}{sorted(sample.labels.items())}")
        readings.add(sample.name, sample.labels, t_ns=t_ns, value=sample.value)
    readings.close()
    instants.tell(coverage)
    if not coverage.n_samples:
        raise BadInput("\n".join(coverage.problems) or _nothing(source, coverage))
    return coverage


def _samples(source: Input, readings: MetricReadings, coverage: Coverage) -> Iterator[Sample]:
    """Yield the sound samples of known metrics; lines that are not sound become one problem."""
    n_wrong = 0
    first = ""
    for i_line, line in enumerate(lines_of(source, coverage.problems), start=1):
        if not line.strip() or line.startswith(b"#"):
            continue
        name = _NAME.match(line)
        if name is not None and not readings.knows(name[0].decode("ascii")):
            continue
        try:
            families = list(text_string_to_metric_families(line.decode("utf-8") + "\n"))
        except ValueError:
            families = []
        for family in families:
            yield from family.samples
        if not families:
            n_wrong += 1
            first = first or f"line {i_line}: {line[:60]!r}"
    if n_wrong:
        coverage.problems.append(
            f"{source.name}: {first}: no metric; lines like it ({n_wrong}) were left out; fetch the page again"
        )


def _time_s(sample: Sample) -> float | None:
    """Return the time of a sample in s since the epoch; None if it has none."""
    if sample.timestamp is None:
        return None
    # The parser takes every time for ms.
    raw = float(sample.timestamp) * 1e3
    return raw / 1e3 if raw >= FEWEST_MS else raw


def _nothing(source: Input, coverage: Coverage) -> str:
    passed_over = "; ".join(f"{item.what}: {item.why}" for item in coverage.skipped)
    return f"{source.name}: no metric that counts the traffic of a port" + (f" ({passed_over})" if passed_over else "")


def _parameters(options: Options) -> dict[str, Any]:
    return {"host": options.host, "time_from": options.time_from}


METRICS_PAGE: Final = Importer(
    name="metrics",
    version=1,
    reads="pages of metrics (Prometheus text, OpenMetrics)",
    recognises=_recognises,
    read=_read,
    parameters=_parameters,
    is_instant=True,
)
