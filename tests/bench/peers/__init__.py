"""Other people's methods, each behind one small function that takes a rate and returns its periods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final

from tests.bench.peers.ftio import ftio_z_score, ftio_z_score_acf
from tests.bench.peers.inputs import filled, middles
from tests.bench.peers.periodograms import box_least_squares, lomb_scargle
from tests.bench.peers.plain import fft_argmax, highest_acf_peak
from tests.bench.peers.pyriodicity import autoperiod, sazed
from tests.bench.peers.riptide import fast_folding

if TYPE_CHECKING:
    from profiler.signals import RateSeries

__all__ = ["METHODS", "Peer"]


@dataclass(frozen=True, slots=True)
class Peer:
    """A method, the distribution that it needs, if any, and how it takes a series."""

    find: Callable[[Any, Any], tuple[float, ...]]
    needs: str | None = None
    prepare: Callable[[RateSeries], tuple[Any, Any]] = filled

    @property
    def lacks(self) -> str | None:
        """Why the method cannot run here, None where it can."""
        if self.needs is None:
            return None
        try:
            version(self.needs)
        except PackageNotFoundError:
            return f"{self.needs} is not installed; pip install -e '.[bench]'"
        return None


METHODS: Final[dict[str, Peer]] = {
    "FFT argmax": Peer(fft_argmax),
    "highest ACF peak": Peer(highest_acf_peak),
    "FTIO, z-score": Peer(ftio_z_score, "ftio-hpc"),
    "FTIO, z-score + ACF": Peer(ftio_z_score_acf, "ftio-hpc"),
    "pyriodicity Autoperiod": Peer(autoperiod, "pyriodicity"),
    "pyriodicity SAZED": Peer(sazed, "pyriodicity"),
    "astropy Lomb-Scargle": Peer(lomb_scargle, "astropy", middles),
    "astropy BLS": Peer(box_least_squares, "astropy", middles),
    "riptide FFA": Peer(fast_folding, "riptide-ffa"),
}
