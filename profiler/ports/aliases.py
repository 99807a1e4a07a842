"""Which period of an alias set is the true one.

A line at f and lines at m / dt + f and m / dt - f are one to a sampler every dt. Two things tell them apart. A rate is
never negative, so no harmonic of it can have an amplitude above its mean; the mean over a tick weakens a faster line
more, so the faster ones would have to be stronger than they can be. And where ports are sampled at different phases of
the tick, the phase of a true line, referred to absolute time, agrees across ports, while that of an alias turns with
the tick.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import gammaln

from profiler.ports.timing import delays_s

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from profiler.ports.port import Port

__all__ = ["AliasPeriod", "AliasTest", "rate_aliases"]

N_FOLDS: Final = 3
"""Multiples of the sampling rate whose aliases are tried; past them a tick leaves nothing of a line."""
MOST_AMPLITUDE: Final = 1.1
"""An amplitude over the mean that a rate which is never negative can have, and some slack for a mean that drifts."""
CLOCK_SLACK_FRAC: Final = 0.03
"""Tick phases closer than this part of a tick are one clock; a phase recovered from polls is hardly better."""
TICK_SLACK_FRAC: Final = 0.01
"""Ports whose ticks differ by more of them have other aliases."""
MIN_CLOCKS: Final = 3
"""Two ports agree at some alias by chance too easily: their delays are not known."""
MAX_CHANCE: Final = 0.01
"""Ports whose delays have nothing to do with one another agree as well at some alias once in a hundred."""
MIN_WORSE: Final = 9.0
"""The squared disagreement at every other alias must be this many times that at the best."""
MAX_APART: Final = 0.1
"""Ports of one job whose phases are further apart than this, in cycles, may be seen at an alias."""
N_SHAPE: Final = 3
"""Harmonics whose phases are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasPeriod:
    """A period of the alias set and what the ports say of it.

    ``agreement`` is the length of the mean phase vector of the ports' clocks (1: all agree in absolute time),
    ``disagreement_frac`` the root mean square of their phases about it, in cycles, ``chance`` the chance that ports
    with unrelated delays agree as well at any alias; ``amplitude_frac`` the amplitude over the mean rate that the
    strongest harmonic would have. ``possible`` is whether a rate that is never negative can have that.
    """

    period_s: float
    agreement: float
    disagreement_frac: float
    chance: float
    amplitude_frac: float
    possible: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasTest:
    """All periods of an alias set, longest first; the one picked, if any; and why.

    ``margin`` is how many times worse the next one does: in amplitude over what is possible, or in disagreement.
    ``disagrees`` is whether ports have phases of their own at the longest, so that they speak against it.
    """

    periods: tuple[AliasPeriod, ...]
    picked: AliasPeriod | None
    margin: float | None
    disagrees: bool
    reason: str


def rate_aliases(ports: Sequence[Port], *, freq_hz: float, snr: NDArray[np.float64]) -> AliasTest:
    """Return what ports say of each alias of a fundamental.

    Parameters
    ----------
    ports
        Ports that have the line; those with ticks much shorter than the longest are left out.
    freq_hz
        The lowest frequency of the alias set.
    snr
        Power over noise of each port's line, shape (n_ports,).
    """
    tick_s = max(port.dt_s for port in ports)
    sampling_hz = 1 / tick_s
    alike = [i for i, port in enumerate(ports) if port.dt_s > (1 - TICK_SLACK_FRAC) * tick_s]
    ports, snr = [ports[i] for i in alike], snr[alike]
    freqs_hz = [freq_hz, *(m * sampling_hz + sign * freq_hz for m in range(1, N_FOLDS + 1) for sign in (-1, 1))]
    clocks = _clocks(ports)
    periods = tuple(_rated(ports, f, clocks=clocks, snr=snr, n_tried=len(freqs_hz)) for f in freqs_hz)
    possible = [one for one in periods if one.possible]
    if len(possible) == 1:
        margin = min(one.amplitude_frac for one in periods if not one.possible)
        reason = f"at any shorter alias the rate would have to swing {margin:.2f} times its mean, and be negative"
        return AliasTest(periods=periods, picked=possible[0], margin=margin, disagrees=False, reason=reason)
    one_instant = _as_one_instant(ports, freq_hz=freq_hz, clocks=clocks)
    return _by_phase(periods, possible, clocks=clocks, one_instant=one_instant)


def _by_phase(
    periods: tuple[AliasPeriod, ...], possible: list[AliasPeriod], *, clocks: NDArray[np.int64], one_instant: float
) -> AliasTest:
    n_clocks = int(clocks.max()) + 1
    disagrees = n_clocks > 1 and periods[0].disagreement_frac > MAX_APART

    def undecided(reason: str) -> AliasTest:
        return AliasTest(periods=periods, picked=None, margin=None, disagrees=disagrees, reason=reason)

    if n_clocks < MIN_CLOCKS:
        return undecided(f"counters tick at {n_clocks} different phases; {MIN_CLOCKS} are needed to tell aliases apart")
    best, second = sorted(possible, key=lambda one: one.disagreement_frac)[:2]
    margin = (second.disagreement_frac / best.disagreement_frac) ** 2
    if one_instant < MIN_WORSE**0.5 * best.disagreement_frac:
        return undecided(
            "tick phases are too alike to tell aliases apart, or the counters are copied at one instant and only the "
            "times written to their reads differ"
        )
    if best.chance > MAX_CHANCE:
        return undecided(
            f"phases agree at no alias: {best.agreement:.2f} at best, by chance once in {1 / best.chance:.0f}"
        )
    if margin < MIN_WORSE:
        return undecided(f"phases agree at several aliases alike (the second {margin:.1f} times worse)")
    reason = f"phases of {n_clocks} clocks agree here ({best.agreement:.3f}) and nowhere else ({second.agreement:.3f})"
    return AliasTest(periods=periods, picked=best, margin=margin, disagrees=False, reason=reason)


def _as_one_instant(ports: Sequence[Port], *, freq_hz: float, clocks: NDArray[np.int64]) -> float:
    """Return the disagreement in cycles if all counters were copied at one instant, whatever the times of their reads.

    Then no port tells of any alias more than another; each seems late by its own tick phase, at every alias.
    """
    lines = np.array([port.lines(freq_hz * np.arange(1.0, N_SHAPE + 1)) for port in ports])
    phases = _tick_phases(ports)
    phases_s = (np.mod(phases - _mean_phase(phases) + 0.5, 1.0) - 0.5) * np.array([port.dt_s for port in ports])
    late = (delays_s(lines, freq_hz=freq_hz) - phases_s) * freq_hz
    return _apart(late, clocks=clocks)[1]


def _rated(
    ports: Sequence[Port], freq_hz: float, *, clocks: NDArray[np.int64], snr: NDArray[np.float64], n_tried: int
) -> AliasPeriod:
    freqs_hz = freq_hz * np.arange(1.0, N_SHAPE + 1)
    lines = np.array([port.lines(freqs_hz) for port in ports])
    late = delays_s(lines, freq_hz=freq_hz) * freq_hz
    agreement, apart = _apart(late, clocks=clocks)
    tick_s = float(np.median([port.dt_s for port in ports]))
    blur = CLOCK_SLACK_FRAC / 3 * tick_s * freq_hz + 1 / (2 * np.pi * np.sqrt(2 * float(np.median(snr))))
    spread = float(max(apart, blur))
    amplitude, possible = _amplitude(ports, freq_hz, lines=lines[:, 0], snr=snr)
    return AliasPeriod(
        period_s=1 / freq_hz,
        agreement=agreement,
        disagreement_frac=spread,
        chance=min(1.0, n_tried * _chance(spread, n_clocks=int(clocks.max()) + 1)),
        amplitude_frac=amplitude,
        possible=possible,
    )


def _amplitude(
    ports: Sequence[Port], freq_hz: float, *, lines: NDArray[np.complex128], snr: NDArray[np.float64]
) -> tuple[float, bool]:
    """Return the largest amplitude over the mean that a line at this frequency has on any port, and if it can be."""
    gains = np.array([float(port.gain(np.array([freq_hz]))[0]) for port in ports])
    means_bps = np.array([port.tapered(start_s=port.t0_s, end_s=port.end_s)[2] for port in ports])
    seen = np.abs(lines) / np.maximum(means_bps, np.finfo(np.float64).tiny)
    least = np.maximum(0.0, seen * (1 - 2 / np.sqrt(2 * np.maximum(snr, 1.0))))
    gains = np.maximum(gains, np.finfo(np.float64).eps)
    return float((seen / gains).max()), bool((least / gains).max() <= MOST_AMPLITUDE)


def _apart(late: NDArray[np.float64], *, clocks: NDArray[np.int64]) -> tuple[float, float]:
    """Return the length of the mean vector of the clocks' phases, and their root mean square about it, in cycles."""
    of_clock = np.array([_mean_phase(late[clocks == clock]) for clock in range(int(clocks.max()) + 1)])
    apart = np.mod(of_clock - _mean_phase(of_clock) + 0.5, 1.0) - 0.5
    return float(abs(np.exp(2j * np.pi * of_clock).mean())), float(np.sqrt(np.mean(apart**2)))


def _tick_phases(ports: Sequence[Port]) -> NDArray[np.float64]:
    """Return when in a tick each port's counter is copied, 0 to 1, in the middle of the recording."""
    middle_s = float(np.mean([0.5 * (port.t0_s + port.end_s) for port in ports]))
    return np.array([((port.t0_s - middle_s) / port.dt_s) % 1.0 for port in ports])


def _clocks(ports: Sequence[Port]) -> NDArray[np.int64]:
    """Return the number of each port's clock: ports whose ticks fall together share one."""
    phases = _tick_phases(ports)
    order = np.argsort(phases)
    steps = np.diff(phases[order]) > CLOCK_SLACK_FRAC
    numbers = np.concatenate(([0], np.cumsum(steps)))
    # The circle closes: the last clock may be the first.
    if numbers[-1] > 0 and phases[order[0]] + 1 - phases[order[-1]] <= CLOCK_SLACK_FRAC:
        numbers[numbers == numbers[-1]] = 0
    clocks = np.empty(phases.size, dtype=np.int64)
    clocks[order] = numbers
    return clocks


def _mean_phase(cycles: NDArray[np.float64]) -> float:
    return float(np.angle(np.exp(2j * np.pi * cycles).mean()) / (2 * np.pi))


def _chance(spread: float, *, n_clocks: int) -> float:
    """Return the chance that ``n_clocks`` uniform phases lie within this root mean square of their mean, in cycles.

    The volume of a ball of n - 1 dimensions about the diagonal of the unit cube, times the diagonal's length.
    """
    n_free = n_clocks - 1
    log_ball = 0.5 * n_free * np.log(np.pi) - gammaln(0.5 * n_free + 1)
    radius = spread * np.sqrt(n_clocks)
    return float(min(1.0, np.exp(0.5 * np.log(n_clocks) + log_ball + n_free * np.log(max(radius, 1e-12)))))
