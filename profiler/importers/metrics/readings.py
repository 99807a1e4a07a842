"""`MetricReadings`: readings of metrics on their way to a sink, one metric a series."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from profiler.importers.feed import Readings
from profiler.importers.metrics.names import NODES, Metric, known_metric, series_of

if TYPE_CHECKING:
    from profiler.importers.coverage import Coverage
    from profiler.importers.sink import Sink
    from profiler.store.series import Series

__all__ = ["Labelled", "MetricReadings", "value_of"]

_LARGEST: Final = 1 << 63
"""Values and times are stored as int64."""
_EXACT: Final = 1 << 53
"""From here on a float, which is what Prometheus keeps, does not tell every whole number."""
_NAMED: Final = 5
_LIKE_TRAFFIC: Final = re.compile(r"bytes|octets|packets|pkts|data|bandwidth|throughput", re.IGNORECASE)
NO_VALUE: Final = "no value: NaN, infinite, negative or too large"


def value_of(text: str) -> int | None:
    """Return the whole number that a value of a metric stands for, exactly; None if it cannot be stored.

    Examples
    --------
    >>> value_of("9007199254740993"), value_of("1.8527668e+07"), value_of("NaN"), value_of("-1")
    (9007199254740993, 18527668, None, None)
    """
    if text.isascii() and text.isdecimal():
        value = int(text) if len(text) < len(str(_LARGEST)) + 1 else _LARGEST
    else:
        number = float(text)
        value = round(number) if math.isfinite(number) and number >= 0 else -1
    return value if 0 <= value < _LARGEST else None


class Labelled(NamedTuple):
    """A metric with its labels, as a key of what is known of it."""

    name: str
    labels: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, name: str, labels: Mapping[str, str]) -> Labelled:
        """Return the key of a metric."""
        return cls(name, frozenset(labels.items()))


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
        self._series: dict[Labelled, tuple[int, Series]] = {}
        self._nodes: dict[str, dict[str, str]] = {}
        self._owners: dict[int, Labelled] = {}
        self._spans_ns: dict[int, tuple[int, int]] = {}
        self._passed_over: Counter[str] = Counter()
        self._unknown: Counter[str] = Counter()
        self._n_inexact = 0

    def knows(self, name: str, *, n_readings: int = 1) -> bool:
        """Return whether a metric of this name is traffic; count its readings."""
        if name not in self._metrics:
            self._metrics[name] = known_metric(name)
        self._coverage.n_read += n_readings
        if self._metrics[name] is None:
            self._unknown[name] += n_readings
            return False
        self._coverage.n_rows += n_readings
        return True

    def learn(self, who: Labelled) -> None:
        """Take what a metric tells of a node: what it is called, for the counters of it that come after."""
        labels, called = dict(who.labels), NODES.get(who.name, "")
        if "guid" in labels and called in labels:
            self._nodes[labels["guid"]] = {called: labels[called]}

    def hand_over(self, who: Labelled, *, first_ns: int, last_ns: int) -> None:
        """Let readings go on under other labels, as when a pod was started anew.

        Only where all of them, from the first to the last, come before or after those that were taken: two that run at
        once are two counters, or one that is told twice.
        """
        key, _ = self._describe(who)
        owner, span_ns = self._owners.get(key), self._spans_ns.get(key)
        if owner is None or span_ns is None or owner.name != who.name:
            return
        if first_ns > span_ns[1] or last_ns < span_ns[0]:
            self._owners[key] = who

    def add(self, who: Labelled, *, t_ns: int, value: int | None) -> None:
        """Take one reading of a metric that `knows`; a value that is none, None, is absent, as is a time that is."""
        key, series = self._describe(who)
        owner = self._owners.setdefault(key, who)
        if owner is not who and owner != who:
            self._passed_over[_difference(who, owner)] += 1
        elif value is None:
            self._coverage.leave_out(NO_VALUE, 1)
        elif not 0 <= t_ns < _LARGEST:
            self._coverage.leave_out("no time", 1)
        else:
            self._take(key, series, t_ns=t_ns, value=value)

    def close(self, *, cut_in: str = "") -> None:
        """Write what waits, and say what was passed over; see `profiler.importers.feed.Readings.close`."""
        coverage = self._coverage
        self._readings.close(coverage, cut_in=cut_in)
        for what, n_readings in self._passed_over.most_common(_NAMED):
            coverage.skip(f"{what} ({n_readings})", "one metric a series, the first that was met")
        coverage.leave_out("another metric counts the same", self._passed_over.total())
        for why in (NO_VALUE, "no time"):
            if coverage.left_out[why]:
                coverage.skip(f"readings ({coverage.left_out[why]})", why)
        if self._n_inexact:
            why = "taken, but of 2^53 or more, which floats, as Prometheus keeps them, tell to 2 bytes or worse"
            coverage.skip(f"exactness of readings ({self._n_inexact})", why)
        if self._unknown:
            coverage.leave_out("metrics that count no traffic of a port", self._unknown.total())
            named = ", ".join(sorted(self._unknown, key=self._oddness)[:_NAMED])
            why = f"metrics that count no traffic of a port, such as {named}"
            coverage.skip(f"readings ({self._unknown.total()})", why)

    def _take(self, key: int, series: Series, *, t_ns: int, value: int) -> None:
        first_ns, last_ns = self._spans_ns.get(key, (t_ns, t_ns))
        self._spans_ns[key] = min(first_ns, t_ns), max(last_ns, t_ns)
        self._n_inexact += value >= _EXACT
        self._coverage.saw_at(t_ns)
        self._readings.add(series, t_ns=t_ns, value=value, key=key)

    def _describe(self, who: Labelled) -> tuple[int, Series]:
        """Return the series of a metric, and its identity."""
        if who not in self._series:
            metric = self._metrics[who.name]
            if metric is None:
                raise KeyError(who.name)
            labels = dict(who.labels)
            labels = {**self._nodes.get(labels.get("guid", ""), {}), **labels}
            series = series_of(metric, labels, name=who.name, host=self._host, source=self._source)
            self._series[who] = series.series_id, series
        return self._series[who]

    def _oddness(self, name: str) -> tuple[bool, int, str]:
        """Return the place of a metric that is not known: what may be traffic after all comes first."""
        return not _LIKE_TRAFFIC.search(name), -self._unknown[name], name


def _difference(who: Labelled, owner: Labelled) -> str:
    """Return what a metric is, and how it differs from the one that counts the same."""
    if who.name != owner.name:
        return f"{who.name}, counted by {owner.name}"
    labels = ", ".join(f"{name}={value}" for name, value in sorted(who.labels - owner.labels))
    return f"{who.name} of {labels or 'fewer labels'}"
