"""`detect_together`: from the series of several ports of one job to the period that they have together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.ports.aliases import AliasTest, rate_aliases
from profiler.ports.combs import Comb, best_comb, comb_nats, some_nats, sum_nats
from profiler.ports.estimate import PortPhase, PortsEstimate
from profiler.ports.port import Port, reads, ready
from profiler.ports.spectra import PooledSpectrum, pooled_spectra
from profiler.ports.timing import FittedPeriod, delays_s, fit_period
from profiler.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profiler.period.status import Status
    from profiler.signals import RateSeries

__all__ = ["detect_together"]

METHOD: Final = "combs in the pooled spectrum of all ports, aliases by amplitude and by phase against the tick"
IDLE_BPS: Final = 10e3
"""Keep-alives and link-layer chatter stay below this mean rate; no training job does."""
STEADY_SPREAD: Final = 1e-3
"""What varies less, over its mean, is steady: its only lines are those of rounding."""
MIN_OVERLAP: Final = 0.5
"""The time that all ports have, over the shortest recording: with less, most of what was recorded would be left out."""
LOG_CHANCE: Final = float(np.log(1e-11))
"""Real traffic has heavier tails than the noise that chances are reckoned from: the random families of `profiler.synth`
reach 1e-10 once in a hundred groups of ports."""
MIN_MARGIN_NATS: Final = 7.0
"""A part or a multiple of the period is as good once in a thousand."""
BETWEEN_FRAC: Final = 0.3
"""What stands between the teeth of a comb, over what stands at them; a broad hump has as much at either."""
PORT_NATS: Final = 7.0
"""A port alone has the comb by chance once in a thousand: it is looked at in one place only."""
OWN_NATS: Final = 14.0
OWN_FRAC: Final = 0.8
"""A port has the group's comb if its own best one is the same, or has hardly more evidence."""
MAX_RATIO: Final = 3
"""A port that has the comb at this multiple or part of its period has the same one, seen more or less sharply."""
SAME_CELLS: Final = 2.0
"""Combs closer than this, in steps of the spectrum, cannot be told apart: a tapered line is that broad."""
FINEST_FRAC: Final = 0.8
"""The finest spectrum with this part of the best one's evidence is read: it tells periods apart best."""
BLEND_NATS: Final = 10.0
"""Teeth with less evidence keep no pace that could be compared."""
MAX_SCATTER_FRAC: Final = 0.1
"""Teeth that stray further from their pace, in cycles, are not followed surely enough to compare."""
BLEND_FRAC: Final = 0.003
BLEND_SIGMAS: Final = 5.0
"""Teeth whose paces differ by more than both of these are not of one comb."""
MAX_SLIP_STEPS: Final = 2.0
"""A fit further than this from the comb, in steps of its spectrum, has lost count of the iterations."""
MIN_TICKS: Final = 4.0
"""A shorter period is not told apart from its aliases by sampling alone."""
CLEAR_TICKS: Final = 30.0
"""A shorter one is not, either, if ports disagree on its phase as they would on an alias."""
UNTESTED: Final = 0.85
"""Confidence in a period of under `CLEAR_TICKS` whose aliases could not be told apart, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A comb, the spectrum it was found in, and each port's evidence for it."""

    spectrum: PooledSpectrum
    comb: Comb


def detect_together(series: Sequence[RateSeries]) -> PortsEstimate:
    """Return the period that the ports of one job have together.

    Parameters
    ----------
    series
        The rates of the job's ports, at least two, over about the same time; both directions of a port may be given.
        Each may tick at a phase of its own.

    Returns
    -------
    PortsEstimate
        Its status is ``periodic`` only if most ports have the period; the reason names those that do not. Ports of
        different jobs, none of which has most of them, have none together, and the reason names those that agree.
        ``undersampled`` is a period of under four ticks whose aliases the ports cannot tell apart.

    Notes
    -----
    1. Every port's spectrum is divided by its own floor, and their mean over ports and stretches of time is judged by
       a Gamma distribution whose shape is measured, so that noise which ports share is counted once
       (`profiler.ports.spectra`).
    2. The comb of least chance wins, after parsimony (`profiler.ports.combs`), if noise has it less than once in 10^11,
       in both halves of the recording, and in most ports. If it is that of a few which drown the others out, the
       others are judged by themselves.
    3. Its aliases are told apart by amplitude or by phase (`profiler.ports.aliases`).
    4. The period is fitted to all ports at once (`profiler.ports.timing`).
    """
    used = [one for one in series if one.n_samples and one.known.any()]
    if len(used) < 2:
        return _without("no_data" if not used else "insufficient", f"{len(used)} series have data; two are needed")
    alive = [one for one in used if not _is_flat(one)]
    if len(alive) < 2:
        status: Status = "idle" if max(one.mean_bps for one in used) < IDLE_BPS else "constant"
        return _without(status, f"{len(alive)} of {len(used)} series vary; two are needed")
    pairs = _overlapping(alive)
    if len(pairs) < 2:
        return _without("insufficient", "the recordings hardly overlap; give series of the same time")
    estimate = _common_to(pairs)
    n_agree = sum(phase.agrees for phase in estimate.ports)
    if estimate.period_s is not None or not 0 < 2 * n_agree < len(pairs):
        return estimate
    rest = _common_to([pair for pair, phase in zip(pairs, estimate.ports, strict=True) if not phase.agrees])
    return estimate if rest.period_s is None else _with_strangers(rest, pairs, before=estimate.ports)


def _is_flat(series: RateSeries) -> bool:
    rate_bps = series.rate_bps[series.known]
    return series.mean_bps < IDLE_BPS or bool(rate_bps.std() < STEADY_SPREAD * rate_bps.mean())


def _overlapping(series: Sequence[RateSeries]) -> list[tuple[Port, Port | None]]:
    """Return the ports, and how often each was read, in the time that all have; none if that is short for any."""
    ports = ready(series, origin_ns=min(int(one.edges_ns[0]) for one in series))
    read = [reads(one, port=port) for one, port in zip(series, ports, strict=True)]
    start_s, end_s = max(port.t0_s for port in ports), min(port.end_s for port in ports)
    if end_s - start_s < MIN_OVERLAP * min(port.end_s - port.t0_s for port in ports):
        return []
    pairs = [
        (port.between(start_s, end_s), None if one is None else one.between(start_s, end_s))
        for port, one in zip(ports, read, strict=True)
    ]
    return [(port, one) for port, one in pairs if port.known.any()]


def _common_to(pairs: Sequence[tuple[Port, Port | None]]) -> PortsEstimate:
    """Return the period that ports have together, each given with how often it was read."""
    ports = [port for port, _ in pairs]
    found = _found(ports, [read for _, read in pairs])
    if found is None:
        duration_s = min(port.end_s - port.t0_s for port in ports)
        return _without("insufficient", f"{format_duration(duration_s)} hold too few ticks for a spectrum")
    return _judged(ports, found)


def _with_strangers(
    estimate: PortsEstimate, pairs: Sequence[tuple[Port, Port | None]], *, before: Sequence[PortPhase]
) -> PortsEstimate:
    """Return the estimate of most ports with a row for the few which alone had another period, as they were before."""
    freq_hz = 1 / (estimate.period_s or float("inf"))
    found = iter(estimate.ports)
    rows: list[PortPhase] = []
    for (port, read), phase in zip(pairs, before, strict=True):
        if phase.agrees:
            spectrum = next(pooled_spectra([port], reads=[read]))
            rows.append(replace(phase, nats=comb_nats(spectrum, freq_hz)[0], agrees=False))
        else:
            rows.append(next(found))
    strangers = ", ".join(
        f"{phase.name} with {format_duration(phase.own_period_s)}" for phase in before if phase.agrees
    )
    return replace(estimate, reason=f"{estimate.reason}; without {strangers}", ports=tuple(rows))


def _found(ports: Sequence[Port], read: Sequence[Port | None]) -> _Found | None:
    found = [_Found(spectrum=spectrum, comb=best_comb(spectrum)) for spectrum in pooled_spectra(ports, reads=read)]
    if not found:
        return None
    enough = FINEST_FRAC * min(one.comb.log_chance for one in found)
    return next(one for one in found if one.comb.log_chance <= enough)


def _judged(ports: Sequence[Port], found: _Found) -> PortsEstimate:
    comb = found.comb
    phases = _port_phases(ports, found)
    doubt = _doubt(comb)
    if doubt is not None:
        return _without("aperiodic", doubt, ports=phases)
    period = format_duration(1 / comb.freq_hz)
    if not _is_common(phases):
        agreeing = ", ".join(phase.name for phase in phases if phase.agrees) or "none"
        reason = f"{period} is not common to these ports: only {agreeing} of {len(ports)} have it; are they one job's?"
        return _without("aperiodic", reason, ports=phases)
    if not _in_both_halves(ports, comb):
        return _without("aperiodic", f"{period} is seen in one half of the recording only", ports=phases)
    having = [port for port, phase in zip(ports, phases, strict=True) if phase.agrees] or list(ports)
    return _told_apart(having, found, phases=phases)


def _doubt(comb: Comb) -> str | None:
    """Return why a comb is no evidence of a period, or None."""
    period = format_duration(1 / comb.freq_hz)
    if comb.log_chance > LOG_CHANCE:
        return f"strongest common period {period}, by chance once in {np.exp(-comb.log_chance):.3g}"
    if comb.between_nats > max(PORT_NATS, BETWEEN_FRAC * comb.nats):
        return f"strongest common period {period}, but there is as much between its harmonics: humps, not lines"
    if comb.margin_nats < MIN_MARGIN_NATS:
        return f"perhaps a period of {period}, but a part or a multiple of it is nearly as good"
    return None


def _port_phases(ports: Sequence[Port], found: _Found) -> tuple[PortPhase, ...]:
    phases = []
    for port, nats in zip(ports, found.spectrum.of_port, strict=True):
        here, _ = comb_nats(found.spectrum, found.comb.freq_hz, nats=nats, n_harmonics=found.comb.n_harmonics)
        own = best_comb(replace(found.spectrum, nats=nats))
        same = _is_same(own.freq_hz, found.comb.freq_hz, step_hz=found.spectrum.step_hz) or here >= OWN_FRAC * own.nats
        agrees = here >= PORT_NATS and same
        own_s = 1 / own.freq_hz
        phases.append(PortPhase(name=port.name, nats=here, own_period_s=own_s, own_nats=own.nats, agrees=agrees))
    return tuple(phases)


def _is_same(own_hz: float, freq_hz: float, *, step_hz: float) -> bool:
    """Return whether a port's own comb is the group's, or one at a low multiple or part of its period."""
    ratios = np.concatenate((np.arange(1.0, MAX_RATIO + 1), 1 / np.arange(2.0, MAX_RATIO + 1)))
    return bool(np.min(np.abs(own_hz - ratios * freq_hz) / np.maximum(1.0, ratios)) <= SAME_CELLS * step_hz)


def _is_common(phases: Sequence[PortPhase]) -> bool:
    """Return whether most ports have the comb, or all have it a little and none has another.

    In the second case even the weaker half of the ports must have more together than noise has once in a thousand.
    """
    if 2 * sum(phase.agrees for phase in phases) > len(phases):
        return True
    if any(phase.own_nats >= OWN_NATS and not phase.agrees for phase in phases):
        return False
    weaker = sorted(phase.nats for phase in phases)[: (len(phases) + 1) // 2]
    return sum_nats(sum(weaker), len(weaker)) >= PORT_NATS


def _in_both_halves(ports: Sequence[Port], comb: Comb) -> bool:
    middle_s = float(np.mean([0.5 * (port.t0_s + port.end_s) for port in ports]))
    for start_s, end_s in ((-np.inf, middle_s), (middle_s, np.inf)):
        half = [port.between(max(start_s, port.t0_s), min(end_s, port.end_s)) for port in ports]
        if any(not port.known.any() for port in half):
            return False
        spectra = list(pooled_spectra(half, reads=[None] * len(half)))
        seen = [comb_nats(one, comb.freq_hz, n_harmonics=comb.n_harmonics)[0] for one in spectra]
        if max(seen, default=0.0) < PORT_NATS:
            return False
    return True


def _blend(ports: Sequence[Port], found: _Found) -> str | None:
    """Return why a comb is that of two jobs, or None: every second or third tooth keeps another pace than the rest."""
    freq_hz = found.comb.freq_hz
    orders = np.arange(1, found.comb.n_harmonics + 1)
    for n_parts in (2, 3):
        every, rest = orders[orders % n_parts == 0], orders[orders % n_parts != 0]
        if any(not one.size or some_nats(found.spectrum, freq_hz, orders=one) < BLEND_NATS for one in (every, rest)):
            continue
        part, whole = (fit_period(ports, freq_hz=freq_hz, orders=one) for one in (every, rest))
        if part is None or whole is None or max(part.scatter_frac, whole.scatter_frac) > MAX_SCATTER_FRAC:
            continue
        apart_s = abs(part.period_s - whole.period_s)
        if apart_s > max(BLEND_FRAC * whole.period_s, BLEND_SIGMAS * float(np.hypot(part.error_s, whole.error_s))):
            paces = f"{format_duration(whole.period_s)} and {format_duration(part.period_s / n_parts)}"
            return f"lines of two paces, {paces}, lie in one another: several jobs share these ports"
    return None


def _told_apart(ports: Sequence[Port], found: _Found, *, phases: tuple[PortPhase, ...]) -> PortsEstimate:
    """Answer with the alias that stands, or with the set of those that may."""
    orders = np.arange(1, found.comb.n_harmonics + 1)
    fitted = fit_period(ports, freq_hz=found.comb.freq_hz, orders=orders)
    if fitted is not None and abs(1 / fitted.period_s - found.comb.freq_hz) > MAX_SLIP_STEPS * found.spectrum.step_hz:
        fitted = None
    blend = _blend(ports, found)
    if blend is not None:
        return _without("aperiodic", blend, ports=phases)
    freq_hz = 1 / fitted.period_s if fitted is not None else found.comb.freq_hz
    snr = np.array([max(phase.nats, 1.0) for phase in phases if phase.agrees] or [1.0])
    test = rate_aliases(ports, freq_hz=freq_hz, snr=snr)
    tick_s = max(port.dt_s for port in ports)
    least_ticks = CLEAR_TICKS if test.disagrees else MIN_TICKS
    if test.picked is None and least_ticks * tick_s * freq_hz > 1:
        periods_s = tuple(one.period_s for one in test.periods)
        reason = (
            f"{format_duration(1 / freq_hz)} or an alias of it, at ticks of {format_duration(tick_s)}: {test.reason}"
        )
        return replace(_without("undersampled", reason, ports=phases), alias_periods_s=periods_s, aliases=test.periods)
    if test.picked is not None and test.picked != test.periods[0]:
        fitted = fit_period(ports, freq_hz=1 / test.picked.period_s, orders=orders)
    return _answer(ports, found, phases=phases, fitted=fitted, test=test)


def _answer(
    ports: Sequence[Port],
    found: _Found,
    *,
    phases: tuple[PortPhase, ...],
    fitted: FittedPeriod | None,
    test: AliasTest,
) -> PortsEstimate:
    comb = found.comb
    if fitted is None:
        step_s = found.spectrum.step_hz / comb.freq_hz**2
        period_s = 1 / comb.freq_hz
        low_s, high_s = period_s - 2 * step_s, period_s + 2 * step_s
        fitted = FittedPeriod(
            period_s=period_s, error_s=step_s, low_s=low_s, high_s=high_s, port_error_s=None, scatter_frac=0.0
        )
    lines = np.array([port.lines(np.arange(1, comb.n_harmonics + 1) / fitted.period_s) for port in ports])
    late_s = iter(delays_s(lines, freq_hz=1 / fitted.period_s))
    all_agree = len(ports) == len(phases)
    phases = tuple(replace(one, delay_s=float(next(late_s))) if one.agrees or all_agree else one for one in phases)
    n_agree = sum(one.agrees for one in phases)
    others = [one.name for one in phases if not one.agrees]
    but = f" (not {', '.join(others)})" if others else ""
    is_flagged = MIN_TICKS * max(port.dt_s for port in ports) * max(1 / one.period_s for one in test.periods[:1]) > 1
    return PortsEstimate(
        status="periodic",
        reason=f"{n_agree} of {len(phases)} ports agree{but}, {comb.n_harmonics} harmonics, {comb.nats:.0f} nats",
        period_s=fitted.period_s,
        low_s=fitted.low_s,
        high_s=fitted.high_s,
        error_s=fitted.error_s,
        port_error_s=fitted.port_error_s,
        confidence=_confidence(comb, test, tick_s=max(port.dt_s for port in ports)),
        chance=float(np.exp(comb.log_chance)),
        margin_nats=comb.margin_nats,
        alias_periods_s=tuple(one.period_s for one in test.periods) if is_flagged else (),
        alias_margin=test.margin,
        aliases=test.periods,
        ports=phases,
        method=METHOD,
    )


def _confidence(comb: Comb, test: AliasTest, *, tick_s: float) -> float:
    """Return the chance that neither noise, nor a part or multiple of the period, nor an alias is the truth."""
    of_comb = 1 - 0.1 * np.exp(0.25 * max(comb.log_chance - LOG_CHANCE, MIN_MARGIN_NATS - comb.margin_nats))
    if test.picked is None:
        of_alias = UNTESTED if test.periods[0].period_s < CLEAR_TICKS * tick_s else 1.0
    else:
        of_alias = 1.0 if test.picked == test.periods[0] else 1 - test.picked.chance
    return float(np.clip(of_comb * of_alias, 0.0, 0.999))


def _without(status: Status, reason: str, *, ports: tuple[PortPhase, ...] = ()) -> PortsEstimate:
    return PortsEstimate(status=status, reason=reason, ports=ports, method=METHOD)
