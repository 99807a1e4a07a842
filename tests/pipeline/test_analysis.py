"""Whether an analysis has an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.pipeline.analyses import analysis, judged, link, paced_link, vgg

if TYPE_CHECKING:
    from pipeline.compat.result import Verdict


@pytest.mark.parametrize(
    ("verdicts", "has_answer"),
    [
        (["uncontended"], True),
        (["futile"], False),
        (["uncontended", "uncontended", "futile"], False),
        (["unknown", "uncontended", "overloaded"], False),
    ],
)
def test_only_contended_links_decide_whether_there_is_an_answer(verdicts: list[Verdict], *, has_answer: bool) -> None:
    demands = {"A": vgg("a"), "B": vgg("b")}
    links = [link(f"l{i}", demands=demands, compatibility=judged(one, "A", "B")) for i, one in enumerate(verdicts)]
    assert analysis(*links).has_answer == has_answer
    assert analysis(*links, paced_link()).has_answer
