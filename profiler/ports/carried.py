"""Which jobs a port carries: its rate regressed on templates of the jobs.

An uplink carries parts of many jobs, each too weak in it to be found alone. But a job's own ports show what the job did
in the same time, and that can be looked for: in the frequency domain, where every frequency counts by how quiet it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import scipy.fft
from scipy.stats import norm
from scipy.stats import t as student

from profiler.errors import UsageError
from profiler.ports.fits import N_FREE, lines_only
from profiler.ports.port import Port, reads, ready
from profiler.ports.regression import Evidence, evidence_of, explained, regressed
from profiler.ports.spectra import line_mask
from profiler.ports.tapers import edge_taper
from profiler.units import BITS_PER_BYTE, NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from profiler.signals import RateSeries

__all__ = ["CarriedJob", "carried_jobs"]

MIN_BINS: Final = 128
"""Fewer bins have too few frequencies to tell a job from noise."""
MIN_COMMON_FRAC: Final = 0.5
"""A template must cover this part of the port's known bins."""
MAX_LAG_TICKS: Final = 1.0
"""Clocks of counters differ by up to a tick."""
LAG_STEP_TICKS: Final = 0.25
"""A lag that is half of this off costs a line at half the sampling rate less than a tenth."""
LEAST_Z: Final = 2.5
"""What is less sure by so many standard deviations is no evidence, and not looked at further."""
MIN_STEADINESS: Final = 3.0
READ_NATS: Final = 6.0
"""Where the times of the reads have as much as this (few frequencies do by chance), nothing is counted."""
MAX_BETTER_Z: Final = 1.5
"""A job that is carried fits where it stands; by so many standard deviations noise makes another shift look better."""
MIN_SWING_FRAC: Final = 0.2
"""Lines whose root mean square is a smaller part of a template's mean do not tell how much of it a port carries."""
BLUR_FRAC: Final = 0.12
"""Putting a template on ticks of another phase weakens its lines by up to so much, and its share seems larger."""
MAX_CHANCE: Final = 1e-4
"""Of 10,000 jobs that a port does not carry one may be named."""
N_ROUNDS: Final = 2
"""Shares and lags are found in turn, each from the other, so many times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedJob:
    """A job that a port carries.

    ``share`` is how many bits the port moves for each bit of the template; ``mean_bps`` that times the template's
    mean, ``frac`` that over the port's mean rate, which it cannot exceed; ``mean_low_bps`` to ``mean_high_bps`` is its
    95 % interval; all None where the template's lines are so small a part of its mean that they tell nothing of it.
    ``lag_s`` is how much later than the template the port moves them (clocks differ). ``z`` is the
    evidence in standard deviations of what the same template, shifted in time and frequency, finds in the same port,
    and ``chance`` the chance of so much.
    """

    name: str
    share: float
    mean_bps: float | None
    mean_low_bps: float | None
    mean_high_bps: float | None
    frac: float | None
    lag_s: float
    z: float
    chance: float


def carried_jobs(series: RateSeries, templates: Mapping[str, RateSeries]) -> tuple[CarriedJob, ...]:
    """Return the jobs that a port carries, the surest first.

    Parameters
    ----------
    series
        The port's rate, perhaps an uplink's.
    templates
        By name of the job: the rate of one of its own ports (or of all of them together) in the same time.

    Raises
    ------
    UsageError
        If there are no templates.

    Notes
    -----
    With U the port's spectrum, M_j the lines of the templates and S the noise floor of what they leave of U,
    generalised least squares solves G b = h, G_jk = sum conj(M_j) M_k / S, h_j = sum conj(M_j) U / S, each template at
    the lag at which it explains most. That tells the share; whether the job is there at all is told from the same with
    the outbursts of other traffic cut down (`profiler.ports.calm`). A job's share is judged by what is left of its
    template once all others are taken out of it (so that two jobs with periods in a ratio are not taken for one
    another), against what the same template finds when it is shifted by some frequencies: noise keeps its floor and its
    memory, but a job that is carried no longer fits. Parts of the recording must agree on the share, no other shift in
    time may fit better, and it must be more than what errors of the other templates may leave over. What is carried
    must vary as the template does; a steady part of a job cannot be told from any other traffic.
    """
    if not templates:
        raise UsageError("carried_jobs: no templates; give the rate of a port of each job")
    if not series.n_samples or not series.known.any():
        return ()
    names, spectra = _spectra(series, templates)
    if not names:
        return ()
    return tuple(sorted(_carried(names, spectra), key=lambda job: -job.z))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Spectra:
    """Spectra of a port, shape (n_freqs,), and of templates, shape (n_jobs, n_freqs); frequency 0 left out.

    ``drawn`` is where the times of the reads have a line: what stands there, in port and templates alike, is theirs.
    """

    port: NDArray[np.complex128]
    templates: NDArray[np.complex128]
    freqs_hz: NDArray[np.float64]
    drawn: NDArray[np.bool_]
    known: NDArray[np.bool_]
    tick_s: float
    port_bps: float
    template_bps: NDArray[np.float64]
    swing_frac: NDArray[np.float64]


def _spectra(series: RateSeries, templates: Mapping[str, RateSeries]) -> tuple[list[str], _Spectra]:
    port = ready([series], origin_ns=int(series.edges_ns[0]))[0]
    rows = {name: _on_bins(template, port, origin_ns=int(series.edges_ns[0])) for name, template in templates.items()}
    n_needed = max(MIN_BINS, MIN_COMMON_FRAC * np.count_nonzero(port.known))
    rows = {
        name: row
        for name, row in rows.items()
        if np.count_nonzero(np.isfinite(row) & port.known) >= n_needed and np.nanstd(row) > 0
    }
    known = port.known & np.all([np.isfinite(row) for row in rows.values()], axis=0)
    if np.count_nonzero(known) < n_needed or port.rate_bps[known].std() == 0:
        rows = {}
    window = edge_taper(known)
    weight = window / max(window.sum(), 1e-300)

    def spectrum(rate_bps: NDArray[np.float64]) -> NDArray[np.complex128]:
        filled = np.where(known, rate_bps, 0.0)
        transformed: NDArray[np.complex128] = scipy.fft.rfft((filled - np.dot(weight, filled)) * window)[1:]
        return transformed

    read = reads(series, port=port)
    spectra = np.array([lines_only(spectrum(row)) for row in rows.values()]).reshape(len(rows), known.size // 2)
    template_bps = np.array([row[known].mean() for row in rows.values()])
    energy = 2 * np.sum(np.abs(spectra) ** 2, axis=1) / known.size
    swing_bps = np.sqrt(energy / max(float(np.sum(window**2)), np.finfo(np.float64).tiny))
    return list(rows), _Spectra(
        port=spectrum(port.rate_bps),
        templates=spectra,
        freqs_hz=scipy.fft.rfftfreq(known.size, port.dt_s)[1:],
        drawn=np.zeros(known.size // 2, dtype=bool) if read is None else _drawn(spectrum(read.rate_bps)),
        known=known,
        tick_s=port.dt_s,
        port_bps=float(port.rate_bps[known].mean()) if known.any() else 0.0,
        template_bps=template_bps,
        swing_frac=swing_bps / np.maximum(template_bps, np.finfo(np.float64).tiny),
    )


def _drawn(of_reads: NDArray[np.complex128]) -> NDArray[np.bool_]:
    return line_mask(np.abs(of_reads) ** 2, least_nats=READ_NATS, breadth=1)


def _on_bins(template: RateSeries, port: Port, *, origin_ns: int) -> NDArray[np.float64]:
    """Return a template's mean rate in each bin of a port, NaN where it is not known."""
    edges_s = port.t0_s + np.arange(port.n_bins + 1) * port.dt_s
    if not template.n_samples:
        return np.full(port.n_bins, np.nan)
    own_s = (template.edges_ns - origin_ns) / NS_PER_S
    known_bits = np.where(template.known, template.delta_bytes, 0.0) * BITS_PER_BYTE
    known_s = np.where(template.known, np.diff(own_s), 0.0)
    bits = np.diff(np.interp(edges_s, own_s, np.concatenate(([0.0], np.cumsum(known_bits)))))
    covered_s = np.diff(np.interp(edges_s, own_s, np.concatenate(([0.0], np.cumsum(known_s)))))
    return np.where(covered_s > 0.5 * port.dt_s, bits / np.maximum(covered_s, 0.5 * port.dt_s), np.nan)


def _carried(names: list[str], spectra: _Spectra) -> list[CarriedJob]:
    lags_s, turned = _fit(spectra)
    regression = regressed(spectra.port, turned, drawn=spectra.drawn, known=spectra.known)
    jobs = []
    for i, name in enumerate(names):
        found = evidence_of(turned, i, regression=regression, least_z=LEAST_Z)
        if found is None or found.steady < MIN_STEADINESS or found.better_z > MAX_BETTER_Z:
            continue
        if found.part_frac < BLUR_FRAC:
            continue
        weight = np.abs(turned[i]) ** 2 / regression.calm.noise
        chance = min(1.0, len(names) * _chance(found.z, weight=weight, spectra=spectra))
        if chance <= MAX_CHANCE:
            jobs.append(_job(name, found, i_job=i, spectra=spectra, lag_s=float(lags_s[i]), chance=chance))
    return jobs


def _chance(z: float, *, weight: NDArray[np.float64], spectra: _Spectra) -> float:
    """Return the chance of a fit this good at the best lag, of lines that count so much, shape (n_freqs,).

    Notes
    -----
    The fit passes a level z upwards so often a second as its root mean square frequency, times exp(-z^2 / 2) [1]_, of
    which the mean over the error of its spread is (1 + z^2 / n)^(-n / 2).

    References
    ----------
    .. [1] R. B. Davies, "Hypothesis testing when a nuisance parameter is present only under the alternative",
       Biometrika 74 (1987).
    """
    often_hz = float(np.sqrt(np.dot(weight, spectra.freqs_hz**2) / weight.sum()))
    passes = 2 * MAX_LAG_TICKS * spectra.tick_s * often_hz * float((1 + z**2 / N_FREE) ** (-N_FREE / 2))
    return float(student.sf(z, N_FREE)) + passes


def _job(name: str, found: Evidence, *, i_job: int, spectra: _Spectra, lag_s: float, chance: float) -> CarriedJob:
    mean_bps = min(found.share * float(spectra.template_bps[i_job]), spectra.port_bps)
    half_bps = mean_bps * float(np.hypot(norm.ppf(0.975) * found.error_frac, BLUR_FRAC))
    tells_mean = bool(spectra.swing_frac[i_job] >= MIN_SWING_FRAC)
    return CarriedJob(
        name=name,
        share=found.share,
        mean_bps=mean_bps if tells_mean else None,
        mean_low_bps=max(0.0, mean_bps - half_bps) if tells_mean else None,
        mean_high_bps=mean_bps + half_bps if tells_mean else None,
        frac=mean_bps / spectra.port_bps if tells_mean else None,
        lag_s=lag_s,
        z=found.z,
        chance=chance,
    )


def _fit(spectra: _Spectra) -> tuple[NDArray[np.float64], NDArray[np.complex128]]:
    """Return the lags at which templates explain most, each in turn, given the others, and the templates so turned."""
    lags_s = np.zeros(len(spectra.templates))
    turned = spectra.templates
    for _ in range(N_ROUNDS):
        calm = regressed(spectra.port, turned, drawn=spectra.drawn, known=spectra.known).calm
        whole = calm.share @ turned + calm.rest
        for i in range(lags_s.size):
            tried = [np.where(np.arange(lags_s.size) == i, lag_s, lags_s) for lag_s in _lags_s(spectra.tick_s)]
            lags_s = max(tried, key=lambda one: explained(whole, _turned(spectra, one), noise=calm.noise)[0])
        turned = _turned(spectra, lags_s)
    return lags_s, turned


def _turned(spectra: _Spectra, lags_s: NDArray[np.float64]) -> NDArray[np.complex128]:
    turned: NDArray[np.complex128] = np.exp(-2j * np.pi * np.outer(lags_s, spectra.freqs_hz)) * spectra.templates
    return turned


def _lags_s(tick_s: float) -> NDArray[np.float64]:
    n_steps = round(MAX_LAG_TICKS / LAG_STEP_TICKS)
    return np.linspace(-MAX_LAG_TICKS * tick_s, MAX_LAG_TICKS * tick_s, 2 * n_steps + 1)
