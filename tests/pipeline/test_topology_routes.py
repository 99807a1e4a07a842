"""Weights of paths against every path counted one by one, on random fat trees."""

from __future__ import annotations

from collections import defaultdict
from itertools import permutations
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.topology import Link, Placement, Router

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.topology import Pattern

Weights = dict[tuple[str, str], float]
Hop = tuple[str, str, str]
"""Next node, link, direction."""


@st.composite
def fat_trees(draw: st.DrawFn) -> list[Link]:
    """Hosts on leaves, leaves on spines by one or several parallel cables, some missing, some down."""
    n_leaves, n_spines, n_cores = draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.integers(0, 2))
    pairs = [(f"leaf{i}", f"spine{j}", "leaf") for i in range(n_leaves) for j in range(n_spines)]
    pairs += [(f"spine{j}", f"core{k}", "spine") for j in range(n_spines) for k in range(n_cores)]
    links = [
        Link(
            link_id=f"h{i}",
            a=f"h{i}:eth0",
            b=f"leaf{draw(st.integers(0, n_leaves - 1))}:{i}",
            tier="host",
            capacity_bps=1,
        )
        for i in range(draw(st.integers(2, 6)))
    ]
    for one, two, tier in pairs:
        for i in range(draw(st.integers(0, 3))):
            a, b = (one, two) if draw(st.booleans()) else (two, one)
            state = draw(st.sampled_from(["up", "up", "up", "down"]))
            name = f"{one}-{two}-{i}"
            links.append(Link(link_id=name, a=f"{a}:{name}", b=f"{b}:{name}", tier=tier, capacity_bps=1, state=state))
    return links


def hops_of(links: list[Link]) -> dict[str, list[Hop]]:
    hops: defaultdict[str, list[Hop]] = defaultdict(list)
    for link in links:
        if link.state == "up":
            a, b = link.a.partition(":")[0], link.b.partition(":")[0]
            hops[a].append((b, link.link_id, "forward"))
            hops[b].append((a, link.link_id, "backward"))
    return hops


def walks(
    hops: dict[str, list[Hop]], here: str, there: str, *, most: int, seen: tuple[str, ...] = ()
) -> Iterator[list[Hop]]:
    """Yield every way from one node to another of at most so many hops; hosts in between pass nothing on."""
    if here == there:
        yield []
    elif most and not (seen and here.startswith("h")):
        for hop in hops[here]:
            if hop[0] not in (*seen, here):
                yield from ([hop, *rest] for rest in walks(hops, hop[0], there, most=most - 1, seen=(*seen, here)))


def counted(hops: dict[str, list[Hop]], here: str, there: str) -> Weights | None:
    """Return the shares of a flow, by listing all ways and dividing at each node by the choices that are left there."""
    ways = list(walks(hops, here, there, most=7))
    if not ways:
        return None
    shortest = [way for way in ways if len(way) == min(map(len, ways))]
    weights: defaultdict[tuple[str, str], float] = defaultdict(float)
    for way in shortest:
        share = 1.0
        for i, _ in enumerate(way):
            onward = {other[i] for other in shortest if [h[0] for h in other[:i]][-1:] == [h[0] for h in way[:i]][-1:]}
            share /= len(onward)
        for _, link_id, direction in way:
            weights[link_id, direction] += share
    return dict(weights)


def ranks_on(hosts: list[str]) -> list[Placement]:
    return [Placement(job_id="J", rank=i, host=host, device="eth0") for i, host in enumerate(hosts)]


def routed(links: list[Link], hosts: list[str], pattern: Pattern = "ring") -> Weights:
    load = Router(links, hosts=set(hosts)).group_load(ranks_on(hosts), pattern)
    return {(link_id, direction): weight for (link_id, direction), weight in load.items()}


@given(fat_trees(), st.sampled_from(["ring", "all_to_all"]))
def test_weights_are_those_of_all_shortest_ways_counted(links: list[Link], pattern: Pattern) -> None:
    hosts = [link.link_id for link in links if link.tier == "host"]
    hops = hops_of(links)
    pairs = list(zip(hosts, [*hosts[1:], hosts[0]], strict=True)) if pattern == "ring" else list(permutations(hosts, 2))
    share = 1.0 if pattern == "ring" else 1 / (len(hosts) - 1)
    expected: defaultdict[tuple[str, str], float] = defaultdict(float)
    for pair in pairs:
        weights = counted(hops, *pair)
        if weights is None:
            with pytest.raises(Exception, match="no links lead from"):
                routed(links, hosts, pattern)
            return
        for place, weight in weights.items():
            expected[place] += share * weight

    assert routed(links, hosts, pattern) == pytest.approx(dict(expected))


@given(fat_trees())
def test_what_one_host_sends_another_arrives_whole_at_each_hop(links: list[Link]) -> None:
    hosts = [link.link_id for link in links if link.tier == "host"][:2]
    hops = hops_of(links)
    if counted(hops, *hosts) is None:
        return
    weights = routed(links, hosts)

    into: defaultdict[str, float] = defaultdict(float)
    out_of: defaultdict[str, float] = defaultdict(float)
    for node, onward in hops.items():
        for far, link_id, direction in onward:
            out_of[node] += weights.get((link_id, direction), 0)
            into[far] += weights.get((link_id, direction), 0)
    assert [out_of[hosts[0]], into[hosts[1]]] == pytest.approx([1, 1])
    assert dict(into) == pytest.approx(dict(out_of))


def test_all_to_all_sends_each_other_rank_the_same_part() -> None:
    links = [Link(link_id=f"h{i}", a=f"h{i}:eth0", b=f"sw:{i}", tier="host", capacity_bps=1) for i in range(3)]
    ranks = ranks_on(["h0", "h0", "h1", "h2"])

    load = Router(links, hosts={"h0", "h1", "h2"}).group_load(ranks, "all_to_all")

    # Each of h0's two ranks sends 2 of its 3 parts away; the rank of h1 sends all of its 3 away.
    assert load["h0", "forward"] == pytest.approx(4 / 3)
    assert load["h1", "forward"] == load["h2", "forward"] == pytest.approx(1)


def test_a_cable_between_two_hosts_needs_no_switch() -> None:
    cable = Link(link_id="direct", a="h0:eth0", b="h1:eth0", capacity_bps=1)

    assert routed([cable], ["h0", "h1"]) == {("direct", "forward"): 1.0, ("direct", "backward"): 1.0}
