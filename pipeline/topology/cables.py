"""`read_cable`: one link from the words of a table or file that people write; and what no two links may share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from pipeline.topology.cluster import Link
from pipeline.topology.moments import FIRST_NS, LAST_NS, moment_ns
from profiler.errors import BadInput, UsageError
from profiler.units import parse_rate_bps

__all__ = ["check_ends", "read_cable", "read_end", "read_span"]

_TIERS: Final = ("host", "leaf", "spine")
_STATES: Final = ("up", "down")
_LEAST_BPS: Final = 1e5
"""Slower than any cable: a number whose unit was left out."""


def read_cable(cells: Mapping[str, str], *, place: str) -> Link:
    """Return a link.

    Parameters
    ----------
    cells
        ``id``, ``a``, ``b`` and ``capacity`` (with its unit), and where known ``tier``, ``state``, ``valid_from`` and
        ``valid_to`` (a date and time), or ``valid_from_ns`` and ``valid_to_ns``.
    place
        Where they stand, for messages.

    Raises
    ------
    BadInput
        If a value is not what it should be.
    """
    a, b = (read_end(cells[key], place=f"{place}: {key}") for key in ("a", "b"))
    if a.partition(":")[0] == b.partition(":")[0]:
        raise BadInput(f"{place}: b = {b!r}: both ends are on one node; a link joins two")
    from_ns, to_ns = read_span(cells, ("valid_from", "valid_to"), place=place)
    return Link(
        link_id=cells["id"],
        a=a,
        b=b,
        capacity_bps=_capacity_bps(cells["capacity"], place=place),
        tier=_choice(cells, "tier", _TIERS, place=place) or None,
        state=_choice(cells, "state", _STATES, place=place) or "up",
        valid_from_ns=from_ns,
        valid_to_ns=to_ns,
    )


def read_end(text: str, *, place: str) -> str:
    """Return the end of a link, ``node:device`` or ``node:device/port``.

    Raises
    ------
    BadInput
        If it is none.
    """
    node, _, device = text.partition(":")
    if not node or not device or ":" in device:
        raise BadInput(f"{place} = {text!r}: expected node:device, such as sw1:p1")
    return text


def read_span(cells: Mapping[str, str], names: tuple[str, str], *, place: str) -> tuple[int | None, int | None]:
    """Return from when and to when something holds, in ns since the epoch; None where that is not told, or for ever.

    Inventories write a year such as 9999 for what has no end.

    Raises
    ------
    BadInput
        If a time is none, or the end is not after the start.
    """
    from_ns, to_ns = (_time_ns(cells, name, place=place) for name in names)
    if from_ns is not None and to_ns is not None and to_ns <= from_ns:
        raise BadInput(f"{place}: {names[1]} is not after {names[0]}; correct one")
    return None if from_ns == FIRST_NS else from_ns, None if to_ns == LAST_NS else to_ns


def check_ends(links: Iterable[Link], *, place: str) -> None:
    """Check that in one file each link and each end stands once at a time.

    Raises
    ------
    BadInput
        If two links have one name, or one end, at one time.
    """
    seen: dict[tuple[str, str], list[Link]] = {}
    for link in links:
        for what, name in (("link id", link.link_id), ("link end", link.a), ("link end", link.b)):
            others = seen.setdefault((what, name), [])
            if any(_overlaps(link, other) for other in others):
                raise BadInput(f"{place}: {what} {name!r} is given twice; each must stand once")
            others.append(link)


def _overlaps(link: Link, other: Link) -> bool:
    """Return whether two links are there at one time."""
    return _begins_before_end(link, other) and _begins_before_end(other, link)


def _begins_before_end(link: Link, other: Link) -> bool:
    return link.valid_from_ns is None or other.valid_to_ns is None or link.valid_from_ns < other.valid_to_ns


def _capacity_bps(text: str, *, place: str) -> float:
    try:
        capacity_bps = parse_rate_bps(text)
    except UsageError as error:
        raise BadInput(f"{place}: capacity: {error}") from None
    if capacity_bps < _LEAST_BPS:
        raise BadInput(f"{place}: capacity = {text!r}: no link is as slow; add the unit, such as 400Gbps")
    return capacity_bps


def _choice(cells: Mapping[str, str], key: str, choices: tuple[str, ...], *, place: str) -> str:
    value = cells.get(key, "")
    if value and value not in choices:
        raise BadInput(f"{place}: {key} = {value!r}: expected {', '.join(choices)}, or leave it out")
    return value


def _time_ns(cells: Mapping[str, str], name: str, *, place: str) -> int | None:
    if text := cells.get(name):
        return moment_ns(text, place=f"{place}: {name}")
    text = cells.get(f"{name}_ns", "")
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > len(str(LAST_NS)) or int(text) > LAST_NS:
        raise BadInput(f"{place}: {name}_ns = {text[:40]!r}: expected whole ns since 1970, UTC")
    return int(text)
