"""Which jobs are bound to each other, and where that goes round in a loop."""

from __future__ import annotations

from pipeline.affinity import affinity_of
from tests.pipeline.jobs import solved_link, vgg


def test_jobs_are_bound_through_contended_links() -> None:
    graph = affinity_of(
        [
            solved_link("x", {"A": vgg(), "B": vgg()}),
            solved_link("y", {"B": vgg(), "C": vgg()}),
            solved_link("z", {"D": vgg(), "E": vgg()}),
        ]
    )
    first, second = graph.components()
    assert first.jobs == ("A", "B", "C")
    assert [link.link for link in first.links] == ["x", "y"]
    assert second.jobs == ("D", "E")
    assert graph.is_tree


def test_link_that_needs_no_shift_binds_nobody() -> None:
    graph = affinity_of([solved_link("wide", {"A": vgg(), "B": vgg()}, capacity_bps=1e9)])
    assert list(graph.components()) == []
    assert graph.is_tree


def test_two_jobs_on_two_links_are_already_a_loop() -> None:
    graph = affinity_of([solved_link("x", {"A": vgg(), "B": vgg()}), solved_link("y", {"A": vgg(), "B": vgg()})])
    (component,) = graph.components()
    assert not graph.is_tree
    assert not component.is_tree


def test_one_loop_does_not_spoil_the_other_components() -> None:
    graph = affinity_of(
        [
            solved_link("x", {"A": vgg(), "B": vgg()}),
            solved_link("y", {"A": vgg(), "B": vgg()}),
            solved_link("z", {"C": vgg(), "D": vgg()}),
        ]
    )
    assert [component.is_tree for component in graph.components()] == [False, True]
