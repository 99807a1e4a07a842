"""`Demand`: one job's traffic on a link as it repeats in a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from profiler.phases import TrafficProfile

__all__ = ["Demand"]

_FLAT_PERIOD_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Demand:
    """Piecewise constant demand that repeats every ``repeat_s`` seconds.

    Parameters
    ----------
    edges_s
        Ends of the pieces, from 0 to ``repeat_s``; float64, shape (n_pieces + 1,).
    rates_bps
        Demand of each piece; float64, shape (n_pieces,).
    offset_s
        Time in the picture at which a repetition begins.
    natural_s
        The job's own period; None for a job that has none, whose mean rate is drawn as a level.
    ups
        ``(start_s, width_s, rate_bps)`` of each Up phase within a repetition.
    """

    job: str
    repeat_s: float
    natural_s: float | None
    offset_s: float
    edges_s: NDArray[np.float64]
    rates_bps: NDArray[np.float64]
    ups: tuple[tuple[float, float, float], ...]

    @classmethod
    def from_profile(
        cls, job: str, profile: TrafficProfile, *, offset_s: float = 0.0, slot_s: float | None = None
    ) -> Self:
        """Place a job's profile in a picture, stretched to slots of ``slot_s`` seconds if that is given."""
        if profile.period_s is None or not profile.phases:
            return cls._level(job, profile.mean_bps or 0.0)
        edges_s, rates_bps = _pieces(profile, profile.period_s)
        repeat_s = max(slot_s or profile.period_s, profile.period_s)
        if repeat_s > profile.period_s:
            edges_s = np.append(edges_s, repeat_s)
            rates_bps = np.append(rates_bps, rates_bps.min())
        return cls(
            job=job,
            repeat_s=repeat_s,
            natural_s=profile.period_s,
            offset_s=offset_s % repeat_s,
            edges_s=edges_s,
            rates_bps=rates_bps,
            ups=tuple((p.start_s, p.width_s, p.rate_bps) for p in profile.phases if p.kind == "up"),
        )

    @classmethod
    def _level(cls, job: str, rate_bps: float) -> Self:
        return cls(
            job=job,
            repeat_s=_FLAT_PERIOD_S,
            natural_s=None,
            offset_s=0.0,
            edges_s=np.array([0.0, _FLAT_PERIOD_S]),
            rates_bps=np.array([rate_bps]),
            ups=(),
        )

    def rate_at(self, t_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the demand (bit/s) at each time of the picture."""
        local_s = (t_s - self.offset_s) % self.repeat_s
        piece = np.searchsorted(self.edges_s, local_s, side="right") - 1
        return self.rates_bps[np.clip(piece, 0, self.rates_bps.size - 1)]

    def edges_within(self, span_s: float) -> NDArray[np.float64]:
        """Return the times in ``[0, span_s]`` at which the demand may change."""
        first = -np.ceil(self.offset_s / self.repeat_s)
        repeats = np.arange(first, np.ceil(span_s / self.repeat_s) + 1)
        edges_s = (self.offset_s + repeats[:, None] * self.repeat_s + self.edges_s[None, :]).ravel()
        return edges_s[(edges_s >= 0) & (edges_s <= span_s)]


def _pieces(profile: TrafficProfile, period_s: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return edges and rates over one period; a phase that runs past the period goes on at its beginning."""
    starts_s = np.array([phase.start_s for phase in profile.phases])
    widths_s = np.array([phase.width_s for phase in profile.phases])
    rates_bps = np.array([phase.rate_bps for phase in profile.phases])
    edges_s = np.unique(np.concatenate([[0.0, period_s], starts_s, (starts_s + widths_s) % period_s]))
    middles_s = (edges_s[:-1] + edges_s[1:]) / 2
    inside = (middles_s[:, None] - starts_s[None, :]) % period_s < widths_s[None, :]
    return edges_s, inside @ rates_bps
