"""When each port does what the others do: delays between ports, and a period fitted to all of them together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.stats import t as student

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from profiler.ports.port import Port

__all__ = ["FittedPeriod", "delays_s", "fit_period"]

N_STRETCHES: Final = 12
"""Stretches of the recording in which the group is timed; enough for a line through them."""
MIN_STRETCHES: Final = 5
"""Fewer leave the scatter about the pace to chance."""
MIN_STRETCH_CYCLES: Final = 2.0
"""A stretch must hold this many iterations to be timed."""
N_DELAYS: Final = 256
"""Delays tried in a period, before the best is refined by a parabola."""
N_ROUNDS: Final = 3
"""Each round starts from the pace that the one before found, which keeps stretches from being an iteration off."""
TICK_SLACK: Final = 0.03
"""A stretch is timed no better than this part of a tick: as well as a tick's phase is recovered from polls."""
MIN_KNOWN_FRAC: Final = 0.5
"""A stretch of which less is known is not timed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedPeriod:
    """A period, its standard error, its 95 % interval, and the error that the differences between ports show.

    ``scatter_frac`` is how far stretches of the recording stray from the pace, in cycles of what was followed.
    """

    period_s: float
    error_s: float
    low_s: float
    high_s: float
    port_error_s: float | None
    scatter_frac: float


def delays_s(lines: NDArray[np.complex128], *, freq_hz: float) -> NDArray[np.float64]:
    """Return each port's delay after their common shape, in seconds within half a period either way.

    Parameters
    ----------
    lines
        Amplitude of each port's harmonics 1, 2, …, shape (n_ports, n_harmonics).
    freq_hz
        The fundamental.

    Notes
    -----
    A delay d turns harmonic h by exp(-2 pi i h f d). The shape is the mean of the ports once their delays are undone.
    """
    scaled = lines / np.maximum(np.abs(lines).max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    shape = scaled[int(np.argmax(np.abs(lines).sum(axis=1)))]
    found = np.zeros(len(lines))
    orders = np.arange(1, lines.shape[1] + 1)
    for _ in range(N_ROUNDS):
        found = np.array([_delay_s(np.conj(shape) * one, freq_hz=freq_hz, orders=orders) for one in scaled])
        shape = np.mean(scaled * np.exp(2j * np.pi * freq_hz * np.outer(found, orders)), axis=0)
    middle = np.angle(np.exp(2j * np.pi * freq_hz * found).mean()) / (2 * np.pi * freq_hz)
    period_s = 1 / freq_hz
    centred: NDArray[np.float64] = np.mod(found - middle + period_s / 2, period_s) - period_s / 2
    return centred


def fit_period(ports: Sequence[Port], *, freq_hz: float, orders: NDArray[np.int64]) -> FittedPeriod | None:
    """Return the period that all ports keep best, or None if they keep none that can be followed.

    Parameters
    ----------
    ports
        Ports that have the period.
    freq_hz
        The fundamental to begin with.
    orders
        Harmonics that are followed.

    Notes
    -----
    The recording is cut into stretches. In each, one delay against the whole is found for all ports and harmonics
    together (ports add up, so noise that is not common to them averages out); a line through the delays over time
    corrects the period, and their scatter about it gives its error: what one port's noise adds, and the jitter and
    drift that all of them share.

    How far ports differ comes from the jackknife over them (both directions of one left out together): with n ports and
    fits f_i without the i-th, sqrt((n - 1) / n * sum (f_i - mean f)^2) [1]_.
    The interval rests on the scatter, for jitter that all ports share moves the pace of all alike.

    References
    ----------
    .. [1] B. Efron, C. Stein, "The jackknife estimate of variance", Annals of Statistics 9 (1981).
    """
    turns = _turns(ports, freq_hz=freq_hz, orders=orders)
    fitted = _fitted(turns.values(), freq_hz=freq_hz, orders=orders)
    for _ in range(1, N_ROUNDS):
        if fitted is None:
            return None
        freq_hz = 1 / fitted.period_s
        turns = _turns(ports, freq_hz=freq_hz, orders=orders)
        fitted = _fitted(turns.values(), freq_hz=freq_hz, orders=orders)
    return None if fitted is None else _jackknifed(fitted, turns, freq_hz=freq_hz, orders=orders)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Turns:
    """How far each stretch of some ports is turned against the whole, shape (n_stretches, n_harmonics)."""

    middles_s: NDArray[np.float64]
    tick_s: float
    products: NDArray[np.complex128]


def _turns(ports: Sequence[Port], *, freq_hz: float, orders: NDArray[np.int64]) -> dict[str, _Turns]:
    """Return the turns of each unit: the directions of a port, summed."""
    start_s, end_s = min(port.t0_s for port in ports), max(port.end_s for port in ports)
    n_stretches = max(1, int(min(N_STRETCHES, (end_s - start_s) * freq_hz / MIN_STRETCH_CYCLES)))
    edges_s = np.linspace(start_s, end_s, n_stretches + 1)
    middles_s = 0.5 * (edges_s[:-1] + edges_s[1:])
    turns: dict[str, _Turns] = {}
    for port in ports:
        freqs_hz = np.asarray(freq_hz * orders, dtype=np.float64)
        whole = port.lines(freqs_hz)
        stretches = [_lines(port, freqs_hz, start_s=a, end_s=b) for a, b in pairwise(edges_s.tolist())]
        power = max(float(np.sum(np.abs(whole) ** 2)), np.finfo(np.float64).tiny)
        earlier = turns[port.unit].products if port.unit in turns else np.zeros_like(stretches)
        products = earlier + np.conj(whole) * np.array(stretches) / power
        turns[port.unit] = _Turns(middles_s=middles_s, tick_s=port.dt_s, products=products)
    return turns


def _jackknifed(
    fitted: FittedPeriod, turns: dict[str, _Turns], *, freq_hz: float, orders: NDArray[np.int64]
) -> FittedPeriod:
    n_units = len(turns)
    if n_units < 2:
        return fitted
    without = [
        _fitted([one for unit, one in turns.items() if unit != left_out], freq_hz=freq_hz, orders=orders)
        for left_out in turns
    ]
    periods_s = np.array([one.period_s for one in without if one is not None])
    error_s = float(np.sqrt((n_units - 1) / n_units * np.sum((periods_s - periods_s.mean()) ** 2)))
    return replace(fitted, port_error_s=error_s) if periods_s.size == n_units else fitted


def _fitted(turns: Iterable[_Turns], *, freq_hz: float, orders: NDArray[np.int64]) -> FittedPeriod | None:
    turns = list(turns)
    products = np.sum([one.products for one in turns], axis=0)
    middles_s, tick_s = turns[0].middles_s, turns[0].tick_s
    seen = np.flatnonzero(np.abs(products).sum(axis=1) > 0)
    if seen.size < MIN_STRETCHES:
        return None
    period_s = 1 / freq_hz
    late_s = np.array([_delay_s(products[i], freq_hz=freq_hz, orders=orders) for i in seen])
    part_s = period_s / int(np.gcd.reduce(orders))
    slope, error, scatter_s = _slope(middles_s[seen], np.unwrap(late_s, period=part_s))
    span_s = float(middles_s[-1] - middles_s[0])
    error_s = period_s * float(np.hypot(error, tick_s * TICK_SLACK / span_s))
    half_s = float(student.ppf(0.975, seen.size - 2)) * error_s
    fitted_s = period_s * (1 + slope)
    return FittedPeriod(
        period_s=fitted_s,
        error_s=error_s,
        low_s=fitted_s - half_s,
        high_s=fitted_s + half_s,
        port_error_s=None,
        scatter_frac=scatter_s / part_s,
    )


def _lines(port: Port, freqs_hz: NDArray[np.float64], *, start_s: float, end_s: float) -> NDArray[np.complex128]:
    """Return a port's lines in a stretch of time, 0 where too little of it is known."""
    _, weight, _ = port.tapered(start_s=start_s, end_s=end_s)
    if np.count_nonzero(weight) < MIN_KNOWN_FRAC * (end_s - start_s) / port.dt_s:
        return np.zeros(freqs_hz.size, dtype=np.complex128)
    return port.lines(freqs_hz, start_s=start_s, end_s=end_s)


def _delay_s(products: NDArray[np.complex128], *, freq_hz: float, orders: NDArray[np.int64]) -> float:
    """Return the delay at which products conj(reference) * line of these harmonics add up best."""
    cycles = (np.arange(N_DELAYS) - N_DELAYS // 2) / N_DELAYS
    gain = (np.exp(2j * np.pi * np.outer(cycles, orders)) @ products).real
    i_best = int(np.argmax(gain))
    before, here, after = gain[i_best - 1], gain[i_best], gain[(i_best + 1) % N_DELAYS]
    bend = before - 2 * here + after
    shift = 0.5 * (before - after) / bend if bend < 0 else 0.0
    return float((cycles[i_best] + shift / N_DELAYS) / freq_hz)


def _slope(at_s: NDArray[np.float64], late_s: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return the slope of a least-squares line, its standard error, and the standard deviation about it."""
    at = at_s - at_s.mean()
    late = late_s - late_s.mean()
    slope = float(np.dot(at, late) / np.dot(at, at))
    rest = late - slope * at
    scatter = float(np.sqrt(np.dot(rest, rest) / (at.size - 2)))
    return slope, scatter / float(np.sqrt(np.dot(at, at))), scatter
