"""`MetricReadings`: readings of metrics on their way to a sink, one metric a series."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from profiler.importers.feed import Readings
from profiler.importers.metrics.names import Metric, known_metric, series_of

if TYPE_CHECKING:
    from profiler.importers.coverage import Coverage
    from profiler.importers.sink import Sink
    from profiler.store.series import Series

__all__ = ["MetricReadings"]

LARGEST: Final = float(1 << 63)
"""Values are stored as int64."""
_NAMED: Final = 5


class MetricReadings:
    """Takes readings of known metrics.

    Of several metrics that count the same (``node_infiniband_legacy_…`` and ``node_infiniband_port_…``) the first one
    met counts, and the others are named as passed over.

    Parameters
    ----------
    sink
        Where readings go.
    coverage
        Told what was taken and what was passed over.
    host
        Host of metrics whose labels name none.
    source
        Name of the input.
    """

    def __init__(self, sink: Sink, coverage: Coverage, *, host: str, source: str) -> None:
        self._readings = Readings(sink)
        self._coverage = coverage
        self._host = host
        self._source = source
        self._metrics: dict[str, Metric | None] = {}
        self._series: dict[tuple[str, frozenset[tuple[str, str]]], Series] = {}
        self._names: dict[int, tuple[str, frozenset[tuple[str, str]]]] = {}
        self._passed_over: Counter[str] = Counter()
        self._n_unknown = 0
        self._n_without_value = 0

    def knows(self, name: str) -> bool:
        """Return whether a metric of this name is traffic; count the reading as passed over where it is not."""
        if name not in self._metrics:
            self._metrics[name] = known_metric(name)
        if self._metrics[name] is None:
            self._n_unknown += 1
            return False
        return True

    def add(self, name: str, labels: Mapping[str, str], *, t_ns: int, value: float) -> None:
        """Take one reading of a metric that `knows`; a value that is none is counted as absent."""
        metric = self._metrics[name]
        if metric is None:
            return
        self._coverage.n_rows += 1
        series = self._series_of(metric, name, labels)
        if series is None:
            return
        if not 0 <= value < LARGEST:  # nor is NaN
            self._n_without_value += 1
            return
        self._coverage.saw_at(t_ns)
        self._readings.add(series, t_ns=t_ns, value=round(value))

    def close(self) -> None:
        """Write what waits, and say what was passed over."""
        coverage = self._coverage
        coverage.n_samples += self._readings.close()
        for what, n_readings in self._passed_over.most_common(_NAMED):
            coverage.skip(f"{what} ({n_readings})", "one metric a series, the first that was met")
        if self._n_without_value:
            coverage.skip(f"readings ({self._n_without_value})", "no value: NaN, infinite, negative or too large")
        if self._n_unknown:
            coverage.skip(f"readings ({self._n_unknown})", "metrics that count no traffic of a port")

    def _series_of(self, metric: Metric, name: str, labels: Mapping[str, str]) -> Series | None:
        """Return the series of a reading; None, and count it, where another metric was met that counts the same."""
        who = (name, frozenset(labels.items()))
        if who not in self._series:
            self._series[who] = series_of(metric, labels, name=name, host=self._host, source=self._source)
        series = self._series[who]
        first = self._names.setdefault(series.series_id, who)
        if first == who:
            return series
        self._passed_over[f"{name}, counted by {first[0]}"] += 1
        return None
