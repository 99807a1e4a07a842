"""`Omission`: a link on whose account nobody is shifted, and why."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pipeline.affinity import Component, SolvedLink

__all__ = ["Omission", "named", "omit"]

MAX_NAMED: Final = 4
"""A sentence names so many jobs or links."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Omission:
    """A link that is left out of a plan.

    Parameters
    ----------
    link
        The link.
    found
        What was found of shifts with it, a clause such as "job B's iterations would go from 300 ms to 320 ms".
    among
        Under which conditions: pinned jobs, and other links that the jobs cross; empty if there are none.
    """

    link: SolvedLink
    found: str
    among: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Name and direction of the link."""
        return self.link.link, self.link.direction

    @property
    def why(self) -> str:
        """The whole clause."""
        return f"{self.found} {self.among}".rstrip()


def omit(links: Sequence[SolvedLink], *, found: str, component: Component, pinned: Collection[str]) -> list[Omission]:
    """Return some links of a component as left out, all for one finding.

    Parameters
    ----------
    links, component
        The links, and the jobs and links that they were judged with.
    found
        What was found.
    pinned
        Jobs that may not be moved; fewer than two of the component bind nobody, as all shifts are relative.
    """
    return [Omission(link=link, found=found, among=_among(link, component=component, pinned=pinned)) for link in links]


def named(names: Sequence[str]) -> str:
    """Return the first few of some names."""
    return ", ".join(names[:MAX_NAMED]) + (", …" if len(names) > MAX_NAMED else "")


def _among(link: SolvedLink, *, component: Component, pinned: Collection[str]) -> str:
    others = [name for name in dict.fromkeys(one.link for one in component.links) if name != link.link]
    stuck = [job for job in component.jobs if job in pinned]
    parts = []
    if len(stuck) > 1:
        parts.append(f"while jobs {named(stuck)} stay pinned")
    if others:
        parts.append(f"beside the traffic on {named(others)}")
    return " and ".join(parts)
