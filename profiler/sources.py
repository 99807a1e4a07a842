"""`read_rates`: every byte series of a lake, a table or a capture, as rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiler.errors import BadInput
from profiler.importers import read_counters
from profiler.rates import rate_series

if TYPE_CHECKING:
    from pathlib import Path

    from profiler.signals import RateSeries

__all__ = ["read_rates"]


def read_rates(
    source: str | Path, *, mapping: str | None = None, host: str | None = None
) -> tuple[list[RateSeries], list[str]]:
    """Read the rate of every series of bytes.

    Parameters
    ----------
    source
        Whatever an importer reads: a lake, a table of counters, a capture, ``-``.
    mapping, host
        As for importers; a lake knows its own.

    Returns
    -------
    rates
        In order of host, device, port and direction.
    problems
        What was wrong with the parts that could not be read.

    Raises
    ------
    BadInput
        If nothing could be read, or it holds no series of bytes.
    LakeError
        If it is a lake that is damaged.
    """
    counters, problems = read_counters(source, mapping=mapping, host=host)
    rates = []
    for series, t_ns, value, flags in counters:
        if series.metric != "bytes":
            continue
        try:
            rates.append(rate_series(series, t_ns=t_ns, value=value, flags=flags))
        except BadInput as error:
            problems.append(f"{series.host}/{series.device} {series.direction}: {error}")
    if not rates:
        raise BadInput(f"{source}: holds no series of bytes" + "".join(f"; {problem}" for problem in problems))
    return sorted(rates, key=lambda rate: (rate.host, rate.device, rate.port, rate.direction)), problems
