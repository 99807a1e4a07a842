"""Training jobs: traffic of bursts that come back every iteration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from profiler.errors import UsageError
from profiler.synth.bursts import Burst
from profiler.synth.counter import Counter
from profiler.synth.iterations import draw_iterations
from profiler.synth.labelled import Labelled, label
from profiler.synth.polls import regular_polls

if TYPE_CHECKING:
    import numpy as np

    from profiler.synth.reads import Reads
    from profiler.synth.traffic import Traffic

__all__ = ["Job", "draw_job", "training_job"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Job:
    """The traffic of one job, its bursts in order of their starts, and its median recorded iteration in seconds."""

    traffic: Traffic
    period_s: float

    def labelled(self, reads: Reads) -> Labelled:
        """Return the series that reads of this job's counter give, with its truth."""
        return label(
            reads.to_series(),
            reads=reads,
            status="periodic",
            periods_s=[self.period_s],
            bursts_s=[self.traffic.edges_s],
        )


def draw_job(
    rng: np.random.Generator,
    *,
    period_s: float,
    bursts: Sequence[Burst],
    duration_s: float,
    jitter_frac: float = 0.0,
    drift_frac: float = 0.0,
) -> Job:
    """Draw a job's traffic; the parameters are those of `draw_iterations` and `training_job`."""
    iterations = draw_iterations(
        rng, period_s=period_s, duration_s=duration_s, jitter_frac=jitter_frac, drift_frac=drift_frac
    )
    return Job(traffic=iterations.traffic(bursts).within(duration_s), period_s=iterations.median_s(duration_s))


def training_job(
    rng: np.random.Generator,
    *,
    period_s: float,
    bursts: Sequence[Burst] = (Burst(0.3, 0.45, 400e6),),
    duration_s: float,
    dt_s: float,
    jitter_frac: float = 0.0,
) -> Labelled:
    """Make the traffic of a training job, read regularly from a counter of its own.

    Parameters
    ----------
    rng
        Source of randomness.
    period_s
        Nominal iteration period in seconds.
    bursts
        Up phases of an iteration, in order.
    duration_s, dt_s
        Length of the recording and the sampling interval, in seconds.
    jitter_frac
        Standard deviation of an iteration's length over ``period_s``; it stretches the time before the first burst,
        and accumulates, as a compute phase's jitter does.

    Raises
    ------
    UsageError
        If a time is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> job = training_job(np.random.default_rng(1), period_s=0.25, duration_s=10.0, dt_s=0.001)
    >>> job.series.n_samples, job.period_s, job.up_mask().mean().round(2)
    (10000, 0.25, np.float64(0.45))
    """
    if not (period_s > 0 and duration_s > 0 and dt_s > 0):
        raise UsageError("training_job: period_s, duration_s and dt_s must be positive")
    job = draw_job(rng, period_s=period_s, bursts=bursts, duration_s=duration_s, jitter_frac=jitter_frac)
    return job.labelled(Counter().read(job.traffic, regular_polls(duration_s=duration_s, dt_s=dt_s)))
