"""``--job NAME=PROFILE``: what a command line may give as a job's profile.

A profile is JSON as ``offbeat profile --json`` writes it, ``{"period_s": …, "phases": […]}`` in a file or inline, or
anything that ``offbeat profile`` reads: a lake, a table of counters, a capture, a trace. ``#DEVICE/DIRECTION`` behind
it chooses one of several series.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from pipeline.cli.lake_options import lake_address
from profiler.errors import BadInput, OffbeatError, UsageError

if TYPE_CHECKING:
    from profiler.phases import TrafficProfile

__all__ = ["own_profiles", "read_job_profiles"]

INLINE: Final = "inline"
"""How errors call a profile that stands in the command line itself."""


class _Labelled(Protocol):
    @property
    def host(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def port(self) -> str: ...
    @property
    def direction(self) -> str: ...


_Series = TypeVar("_Series", bound=_Labelled)


def read_job_profiles(options: Sequence[str]) -> dict[str, TrafficProfile]:
    """Read the profile of each job.

    Parameters
    ----------
    options
        ``NAME=PROFILE`` of each job.

    Raises
    ------
    UsageError
        If an option has no name, a name comes twice, or a file has several series and none is chosen.
    BadInput
        If a file is not a profile, nor anything that can be profiled.
    """
    profiles: dict[str, TrafficProfile] = {}
    for option in options:
        name, equals, source = option.partition("=")
        if not (name and equals and source):
            raise UsageError(f"--job {option!r}: expected NAME=PROFILE, such as A=a.json or A=lake#eth0/transmit")
        if name in profiles:
            raise UsageError(f"--job {name}: given twice; each job needs a name of its own")
        try:
            profiles[name] = _read(source)
        except OffbeatError as error:
            raise type(error)(f"--job {name}: {error}") from None
    return profiles


def own_profiles(
    profiles: Mapping[str, TrafficProfile], *, capacity_bps: float, shared: bool | None
) -> tuple[dict[str, TrafficProfile], list[str]]:
    """Return what each job would do alone, and what was corrected.

    Parameters
    ----------
    profiles
        As given.
    capacity_bps
        Of the link.
    shared
        Whether they were measured while the jobs shared it; None to go by how each looks.
    """
    from pipeline.compat.congestion import hindered_jobs, own_profile

    hindered = set(profiles) if shared else set()
    if shared is None:
        hindered = set(hindered_jobs(profiles, capacity_bps=capacity_bps))
    own: dict[str, TrafficProfile] = {}
    notes: list[str] = []
    for name, measured in profiles.items():
        own[name], warnings = own_profile(measured, capacity_bps=capacity_bps, contended=name in hindered)
        notes += [f"job {name}: {warning}{'' if shared else '; --alone takes it as it is'}" for warning in warnings]
    return own, notes


def _read(source: str) -> TrafficProfile:
    if source.lstrip().startswith("{"):
        return _from_document(_parsed(source, place=INLINE), wanted="", place=INLINE)
    path, wanted = _split(source)
    if path.suffix == ".json" and path.is_file():
        return _from_document(_parsed(path.read_bytes(), place=str(path)), wanted=wanted, place=str(path))
    return _measured(path, wanted=wanted)


def _split(source: str) -> tuple[Path, str]:
    """Return the path and what is chosen in it; a # that is part of an existing path stays there."""
    path, mark, wanted = source.rpartition("#")
    if not mark or ("://" not in source and Path(source).exists()):
        return lake_address(source), ""
    return lake_address(path), wanted


def _parsed(text: str | bytes, *, place: str) -> Mapping[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{place}: not JSON ({error}); write a profile with offbeat profile --json") from None
    if not isinstance(document, dict):
        raise BadInput(f"{place}: expected a JSON object, found {type(document).__name__}")
    return document


def _from_document(document: Mapping[str, Any], *, wanted: str, place: str) -> TrafficProfile:
    from profiler.phases import TrafficProfile

    series = document.get("series", []) if document.get("kind") == "profile" else [document]
    if not isinstance(series, list) or not all(isinstance(one, dict) for one in series):
        raise BadInput(f"{place}: series is not a list of objects; write a profile with offbeat profile --json")
    try:
        return _periodic([TrafficProfile.from_dict(one) for one in series], wanted=wanted, place=place)
    except BadInput as error:
        raise BadInput(f"{place}: {error}") from None


def _measured(path: Path, *, wanted: str) -> TrafficProfile:
    from profiler.events import profile_events
    from profiler.phases import profile
    from profiler.sources import read_sources

    rates, events, _ = read_sources(path, chosen=lambda series: bool(_chosen([series], wanted=wanted)))
    profiles = [
        *map(profile, _chosen(rates, wanted=wanted)),
        *map(profile_events, _chosen(events, wanted=wanted)),
    ]
    return _periodic(profiles, wanted=wanted, place=str(path))


def _periodic(profiles: Sequence[TrafficProfile], *, wanted: str, place: str) -> TrafficProfile:
    """Return the profile that is meant: the chosen one, the only one, or the only periodic one."""
    chosen = _chosen(profiles, wanted=wanted)
    periodic = [profile for profile in chosen if profile.status == "periodic"]
    for found in (chosen, periodic):
        if len(found) == 1:
            return found[0]
    labels = ", ".join(profile.label for profile in periodic or chosen or profiles) or "none"
    what = "several series" if chosen else f"no series {wanted!r}"
    raise UsageError(f"{place}: {what}; choose one with {place}#DEVICE/DIRECTION; there are: {labels}")


def _chosen(series: Sequence[_Series], *, wanted: str) -> list[_Series]:
    """Return the series whose host, device, port and direction contain all the wanted parts."""
    parts = {part for part in wanted.split("/") if part}
    return [one for one in series if parts <= {one.host, one.device, one.port, one.direction}]
