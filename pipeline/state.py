"""`NetworkState`: what the last analysis of a lake found, as far as changes are told from it; `find_changes`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from pipeline.derived import open_derived
from profiler.units import format_duration

if TYPE_CHECKING:
    from profiler.store import Lake

__all__ = ["Beat", "Change", "NetworkState", "find_changes", "read_state"]

PERIOD_FRAC: Final = 0.01
"""A period that differs by less is the same one, seen at another time: the pace of real jobs wanders by as much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """Whether something has a period, and its 95 % interval."""

    status: str
    period_s: float | None = None
    low_s: float | None = None
    high_s: float | None = None

    def differs_from(self, other: Beat) -> bool:
        """Return whether the status is another, or the period for sure."""
        if self.status != other.status or self.period_s is None or other.period_s is None:
            return self.status != other.status
        is_far = abs(self.period_s - other.period_s) > PERIOD_FRAC * min(self.period_s, other.period_s)
        return is_far and (self._least_s > other._most_s or other._least_s > self._most_s)

    @property
    def _least_s(self) -> float:
        return (self.period_s or 0.0) if self.low_s is None else self.low_s

    @property
    def _most_s(self) -> float:
        return (self.period_s or 0.0) if self.high_s is None else self.high_s

    def __str__(self) -> str:
        return self.status if self.period_s is None else f"a period of {format_duration(self.period_s)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkState:
    """What was found of each job, or of each series where no job is known, and the verdict on each shared link.

    ``beats`` and ``verdicts`` are by words such as ``job A`` and ``link trunk forward``. ``is_known`` is False if the
    lake was never analysed.
    """

    is_known: bool = False
    beats: Mapping[str, Beat] = field(default_factory=dict)
    verdicts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Something that is not as it was: None stands for what was not there, or is no more."""

    what: str
    before: str | None
    after: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return asdict(self)

    def __str__(self) -> str:
        if self.before is None:
            return f"{self.what}: new, {self.after}"
        if self.after is None:
            return f"{self.what}: gone, was {self.before}"
        return f"{self.what}: {self.before} -> {self.after}"


def read_state(store: Lake) -> NetworkState:
    """Return what the last analysis of a lake found.

    Raises
    ------
    LakeError
        If the manifest or a small table is damaged.
    """
    with open_derived(store) as database:
        series = database.run("profiles_by_series").to_pylist()
        jobs = database.run("profiles_by_job").to_pylist()
        links = database.run("compat_by_link").to_pylist()
    by_series = {row["series_id"]: row for row in series}
    beats = (
        {f"job {job['job_id']}": _beat(by_series.get(job["series_id"])) for job in jobs}
        if jobs
        else {_label(row): _beat(row) for row in series}
    )
    verdicts = {f"link {row['link_id']} {row['direction']}": row["verdict"] for row in links}
    return NetworkState(is_known=bool(series), beats=beats, verdicts=verdicts)


def find_changes(before: NetworkState, after: NetworkState) -> tuple[Change, ...]:
    """Return what is not as it was: jobs first, then links; nothing if nothing was known before."""
    if not before.is_known:
        return ()
    return (*_beat_changes(before.beats, after.beats), *_verdict_changes(before.verdicts, after.verdicts))


def _beat_changes(before: Mapping[str, Beat], after: Mapping[str, Beat]) -> Iterator[Change]:
    for what in sorted({*before, *after}):
        old, new = before.get(what), after.get(what)
        if old is None or new is None or new.differs_from(old):
            yield Change(what=what, before=_text(old), after=_text(new))


def _verdict_changes(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Change]:
    for what in sorted({*before, *after}):
        if before.get(what) != after.get(what):
            yield Change(what=what, before=before.get(what), after=after.get(what))


def _text(beat: Beat | None) -> str | None:
    return None if beat is None else str(beat)


def _beat(row: Mapping[str, Any] | None) -> Beat:
    if row is None:
        return Beat(status="no_data")
    return Beat(status=row["status"], period_s=row["period_s"], low_s=row["period_low_s"], high_s=row["period_high_s"])


def _label(row: Mapping[str, Any]) -> str:
    return "port " + "/".join(part for part in (row["host"], row["device"], row["port"], row["direction"]) if part)
