"""`regressed`, `evidence_of`: a port's spectrum as shares of templates, and how surely it holds each of them.

Two estimates are made of each share. Least squares tells how much is carried on average: bursts that a job sends over a
port now and then count fully. Whether a job is there at all is told from the same regression with outbursts cut down.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from profiler.ports.calm import calmed
from profiler.ports.fits import fit_z, in_phase, left_of, noise_under, steadiness

__all__ = ["Evidence", "Regression", "Solved", "evidence_of", "explained", "regressed"]

N_ROUNDS: Final = 2
"""Shares and noise are found in turn, each from the other, so many times."""
N_CALM_ROUNDS: Final = 2
"""Steps to Huber's estimate, each of which leaves a small part of the way: what cutting changes of the noise."""
SINGULAR: Final = 1e-9
"""Templates more alike than this are one to least squares."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Solved:
    """Share of each template, shape (n_jobs,), what they leave, and its noise, shape (n_freqs,)."""

    share: NDArray[np.float64]
    rest: NDArray[np.complex128]
    noise: NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Regression:
    """``plain`` by least squares, ``calm`` with outbursts cut down; ``kept_frac`` of the bins were not."""

    plain: Solved
    calm: Solved
    kept_frac: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """How surely a port holds a template.

    ``share`` is by least squares, ``error_frac`` its standard error over it; ``z`` is the evidence in standard
    deviations of chance fits, ``steady`` how many standard errors the share is by how parts of the recording agree on
    it, and ``better_z`` by how many standard deviations the template fits better at another time. ``part_frac`` is the
    amplitude of what it explains alone over that of what all others explain at its lines, infinite if they are nowhere.
    """

    share: float
    error_frac: float
    z: float
    steady: float
    better_z: float
    part_frac: float


def explained(
    whole: NDArray[np.complex128], lines: NDArray[np.complex128], *, noise: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """Return what templates explain of a spectrum, over its noise, and their shares by generalised least squares."""
    used = np.flatnonzero(lines.any(axis=0))
    some, weighed = lines[:, used], np.conj(lines[:, used]) / noise[used]
    match = (weighed @ whole[used]).real
    share = np.asarray(np.linalg.lstsq((weighed @ some.T).real, match, rcond=SINGULAR)[0], dtype=np.float64)
    return float(share @ match), share


def regressed(
    whole: NDArray[np.complex128],
    lines: NDArray[np.complex128],
    *,
    drawn: NDArray[np.bool_],
    known: NDArray[np.bool_],
) -> Regression:
    """Return a port's spectrum as shares of templates.

    Parameters
    ----------
    whole
        The port's spectrum, frequency 0 left out, shape (n_freqs,).
    lines
        Those of the templates, shape (n_jobs, n_freqs).
    drawn
        Frequencies at which nothing counts, shape (n_freqs,).
    known
        Bins of the port that count, shape (n_bins,).
    """
    plain = _solved(whole, lines, noise=noise_under(whole, drawn=drawn), drawn=drawn)
    for _ in range(1, N_ROUNDS):
        plain = _solved(whole, lines, noise=plain.noise, drawn=drawn)
    calm, kept_frac = plain, 1.0
    for _ in range(N_CALM_ROUNDS):
        cut, kept_frac = calmed(whole - calm.share @ lines, known=known)
        step = _solved(cut, lines, noise=noise_under(cut, drawn=drawn), drawn=drawn)
        calm = replace(step, share=calm.share + step.share / kept_frac)
    return Regression(plain=plain, calm=calm, kept_frac=kept_frac)


def evidence_of(
    lines: NDArray[np.complex128], i_job: int, *, regression: Regression, least_z: float = 0.0
) -> Evidence | None:
    """Return how surely a port holds one of the templates it was regressed on; None if less surely than ``least_z``.

    A share is judged by what is left of its template once all others are taken out of it, so that two jobs with periods
    in a ratio are not taken for one another.
    """
    calm, plain = regression.calm, regression.plain
    share, weight = float(calm.share[i_job]), float(plain.share[i_job])
    if min(share, weight) <= 0:
        return None
    own = _own(lines, i_job, noise=calm.noise)
    z = regression.kept_frac * fit_z(own, calm.rest, share=share, noise=calm.noise) if own.any() else 0.0
    if z <= least_z:
        return None
    alone = calm.rest + share * own
    as_much = _own(lines, i_job, noise=plain.noise)
    plain_z = fit_z(as_much, plain.rest, share=weight, noise=plain.noise)
    plain_steady = steadiness(as_much, plain.rest + weight * as_much, noise=plain.noise)
    return Evidence(
        share=weight,
        error_frac=1 / max(min(plain_z, plain_steady), 1.0),
        z=z,
        steady=steadiness(own, alone, noise=calm.noise),
        better_z=(in_phase(own, alone, noise=calm.noise) - 1) * z,
        part_frac=_part_frac(share * own, calm.share @ lines - share * lines[i_job], noise=calm.noise),
    )


def _part_frac(part: NDArray[np.complex128], others: NDArray[np.complex128], *, noise: NDArray[np.float64]) -> float:
    at = part != 0
    of_others = float(np.sum(np.abs(others[at]) ** 2 / noise[at]))
    return float(np.sqrt(np.sum(np.abs(part[at]) ** 2 / noise[at]) / of_others)) if of_others > 0 else np.inf


def _own(lines: NDArray[np.complex128], i_job: int, *, noise: NDArray[np.float64]) -> NDArray[np.complex128]:
    used = np.flatnonzero(lines.any(axis=0))
    own = np.zeros(lines.shape[1], dtype=np.complex128)
    own[used] = left_of(lines[:, used], i_job, noise=noise[used])
    return own


def _solved(
    whole: NDArray[np.complex128],
    lines: NDArray[np.complex128],
    *,
    noise: NDArray[np.float64],
    drawn: NDArray[np.bool_],
) -> Solved:
    _, share = explained(whole, lines, noise=noise)
    rest = whole - share @ lines
    return Solved(share=share, rest=rest, noise=noise_under(rest, drawn=drawn))
