"""`Reference`, `carried`: which jobs a port carries, and how much of each: its rate regressed on what the jobs do.

An uplink carries parts of many jobs, each too weak in it to be seen alone. But the jobs' own ports show what each job
did in the same time, and that can be looked for, where every frequency counts by how quiet it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import scipy.fft
from numpy.typing import NDArray
from scipy.special import stdtr

from pipeline.discover.floors import swing_of
from pipeline.discover.spectra import transform
from pipeline.discover.ticks import on_ticks
from profiler.ports.fits import N_FREE
from profiler.ports.regression import evidence_of, regressed
from profiler.ports.tapers import edge_taper

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.discover.floors import Swing
    from pipeline.discover.ports import SeenPort
    from pipeline.discover.templates import Template
    from pipeline.discover.ticks import Ticks

__all__ = ["Carried", "Reference", "carried", "likely", "reference_of", "unexplained"]

MAX_CHANCE: Final = 5e-3
"""What is less likely than this is looked at; how many ports do as well decides (`likely`)."""
MAX_FALSE_FRAC: Final = 0.001
"""Of the ports that are said to carry a job, at most this part is expected not to."""
LEAST_Z: Final = 2.5
"""What is less sure by so many standard deviations is no evidence, and not looked at further."""
MIN_STEADINESS: Final = 3.0
"""Parts of the recording must agree on a share, to a third of it."""
MAX_BETTER_Z: Final = 1.5
"""A job that is carried fits where it stands; by so many standard deviations noise makes another shift look better."""
MIN_PART_FRAC: Final = 0.1
"""What a job does at its lines, over what others do there: less may be what is not known of theirs."""
SINGULAR: Final = 1e-9
"""Templates more alike than this are one to least squares."""
MIN_SWING_FRAC: Final = 0.2
"""Lines whose root mean square is a smaller part of a job's mean do not tell how much of it a port carries."""
MOST_MEMBERS: Final = 12
"""More ports make what a job does hardly clearer."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reference:
    """What the mean port of a job does: ``rate_bps`` on common ticks, shape (n_ticks,), and where its lines are.

    ``swing`` is its mean rate above what it does between bursts, None where its lines are so small a part of its mean
    that they tell nothing of it.
    """

    rate_bps: NDArray[np.float64]
    swing: Swing | None
    is_line: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """A job on a port, by its place among those tried.

    ``weight`` is how many bits the port moves for each bit of the mean port of the job, ``error`` its standard error;
    ``z`` its evidence, and ``log_chance`` the log of the chance of so much.
    """

    i_job: int
    weight: float
    error: float
    z: float
    log_chance: float


def reference_of(
    ports: Sequence[SeenPort], ticks: Ticks, *, lags_s: NDArray[np.float64], template: Template
) -> Reference:
    """Return what the mean of a job's ports does, each so much later than the first; the first few count."""
    freqs_hz = np.append(0.0, ticks.freqs_hz)
    rates = []
    known = np.ones(ticks.n_ticks, dtype=np.bool_)
    for port, lag_s in zip(ports[:MOST_MEMBERS], lags_s[:MOST_MEMBERS], strict=True):
        rate_bps, is_known = on_ticks(port, ticks)
        rates.append(_shifted(rate_bps, freqs_hz, by_s=-float(lag_s)))
        known &= is_known
    mean_bps = np.mean(rates, axis=0)
    is_line = np.zeros(ticks.n_ticks // 2, dtype=np.bool_)
    is_line[template.at] = True
    swing = swing_of(np.array(rates), known=known)
    tells = _swing_bps(mean_bps, is_line) >= MIN_SWING_FRAC * float(mean_bps.mean()) and swing.mean_bps > 0
    return Reference(rate_bps=mean_bps, swing=swing if tells else None, is_line=is_line)


def _swing_bps(rate_bps: NDArray[np.float64], is_line: NDArray[np.bool_]) -> float:
    """Return the root mean square of what stands in lines."""
    spectrum = scipy.fft.rfft(rate_bps - rate_bps.mean())[1:]
    return float(np.sqrt(2 * np.sum(np.abs(spectrum[is_line]) ** 2))) / rate_bps.size


def likely(log_chances: NDArray[np.float64], *, n_tested: int) -> NDArray[np.bool_]:
    """Return which of the least chances among so many tested are no chance, so that few of them are wrong.

    Notes
    -----
    A job that crosses one link of a leaf mostly crosses all. With k of n tests below a chance p, n * p of them are
    expected to be wrong; the largest p at which that is `MAX_FALSE_FRAC` of k is the bound [1]_.

    References
    ----------
    .. [1] Y. Benjamini, Y. Hochberg, "Controlling the false discovery rate", Journal of the Royal Statistical Society B
       57 (1995).
    """
    order = np.argsort(log_chances)
    bounds = np.log(MAX_FALSE_FRAC * np.arange(1, log_chances.size + 1) / max(1, n_tested))
    passed = np.flatnonzero(log_chances[order] <= bounds)
    is_likely = np.zeros(log_chances.size, dtype=np.bool_)
    is_likely[order[: passed[-1] + 1 if passed.size else 0]] = True
    return is_likely


def unexplained(reference: Reference, others: Sequence[Reference], *, lags_s: Sequence[float], ticks: Ticks) -> float:
    """Return which part of the power of a job's lines others leave, each so much later: near 0 if it is their sum."""
    freqs_hz = np.append(0.0, ticks.freqs_hz)
    known = np.ones(reference.rate_bps.size, dtype=np.bool_)
    own = transform(reference.rate_bps, known)[0][reference.is_line]
    lines = np.array(
        [
            transform(_shifted(one.rate_bps, freqs_hz, by_s=lag_s), known)[0][reference.is_line]
            for one, lag_s in zip(others, lags_s, strict=True)
        ]
    )
    share = np.linalg.lstsq((np.conj(lines) @ lines.T).real, (np.conj(lines) @ own).real, rcond=SINGULAR)[0]
    return float(np.sum(np.abs(own - share @ lines) ** 2) / max(float(np.sum(np.abs(own) ** 2)), 1e-300))


def _shifted(rate: NDArray[np.float64], freqs_hz: NDArray[np.float64], *, by_s: float) -> NDArray[np.float64]:
    """Return a rate so many seconds later; it goes around at the ends."""
    spectrum = scipy.fft.rfft(rate) * np.exp(-2j * np.pi * freqs_hz * by_s)
    later: NDArray[np.float64] = scipy.fft.irfft(spectrum, rate.size)
    return later


def carried(
    port: SeenPort,
    ticks: Ticks,
    *,
    references: Sequence[Reference],
    lags_s: Sequence[float],
    counted: NDArray[np.bool_],
) -> list[Carried]:
    """Return the jobs among those tried that a port carries.

    Parameters
    ----------
    port
        Perhaps an uplink.
    ticks
        On which ports are compared.
    references
        The jobs tried, at least one.
    lags_s
        How much later the port does what each of them does.
    counted
        Frequencies that count, shape (n_freqs,); where the poller draws a line none does.

    Notes
    -----
    With U the port's spectrum, M_j the lines of the jobs and S the noise floor of what they leave of U, generalised
    least squares solves G b = h, G_jk = Re sum conj(M_j) M_k / S, h_j = Re sum conj(M_j) U / S. A share is judged by
    what is left of its job once all others are taken out of it, so that two jobs whose periods are in a ratio, or
    alike, are not taken for one another; against what the same lines find when shifted in time and frequency; and parts
    of the recording must agree on it (`profiler.ports.fits`).
    """
    rate_bps, known = on_ticks(port, ticks)
    taper = edge_taper(known)
    freqs_hz = np.append(0.0, ticks.freqs_hz)
    lines = np.array(
        [
            np.where(one.is_line & counted, _tapered(_shifted(one.rate_bps, freqs_hz, by_s=lag_s), taper), 0.0)
            for one, lag_s in zip(references, lags_s, strict=True)
        ]
    )
    regression = regressed(_tapered(rate_bps, taper), lines, drawn=~counted, known=known)
    found = []
    for i, lag_s in enumerate(lags_s):
        one = evidence_of(lines, i, regression=regression, least_z=LEAST_Z)
        if one is None or one.steady < MIN_STEADINESS or one.better_z > MAX_BETTER_Z or one.part_frac < MIN_PART_FRAC:
            continue
        n_looks = 1 + 2 * abs(lag_s) / ticks.dt_s
        log_chance = min(0.0, float(np.log(n_looks * max(float(stdtr(N_FREE, -one.z)), 1e-300))))
        if log_chance <= np.log(MAX_CHANCE):
            error = one.share * one.error_frac
            found.append(Carried(i_job=i, weight=one.share, error=error, z=one.z, log_chance=log_chance))
    return found


def _tapered(rate: NDArray[np.float64], taper: NDArray[np.float64]) -> NDArray[np.complex128]:
    """Return the Fourier transform of a rate about its mean, frequency 0 left out."""
    level = float(np.dot(taper, rate) / max(float(taper.sum()), 1e-300))
    spectrum: NDArray[np.complex128] = scipy.fft.rfft((rate - level) * taper)[1:]
    return spectrum
