"""What the report says, against what the analysis found."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipeline.analysis import Analysis, Skipped
from pipeline.compat.result import VERDICTS, JobShift
from pipeline.report.advice import Advice, advise
from pipeline.report.headline import caveats, expect, headline, lead
from pipeline.report.summary import summarize
from pipeline.report.verdicts import VERDICT_WORDS, explain_verdict, score_lines, severity
from pipeline.shifts import ShiftPlan
from tests.pipeline.analyses import (
    SHIFT_S,
    SLOT_S,
    analysis,
    colliding_pair,
    judged,
    link,
    paced_link,
    vgg,
)


def test_headline_names_the_jobs_the_link_and_the_remedy() -> None:
    assert headline(colliding_pair()) == "A and B collide on t1; shifting and pacing them should keep them apart"


def test_headline_promises_less_when_the_paced_score_is_not_one() -> None:
    trunk = paced_link()
    partly = replace(trunk, compatibility=replace(trunk.compatibility, score_paced=0.95))

    assert headline(analysis(partly)).endswith("should ease it")


def test_headline_does_not_claim_a_collision_that_was_not_seen() -> None:
    apart = analysis(paced_link(score_now=1.0, shared_frac=0.01))
    unseen = analysis(paced_link(score_now=None, shared_frac=None))
    once = analysis(paced_link(score_now=0.7, shared_frac=None))

    assert headline(apart).startswith("A and B can collide on t1;")
    assert any("clear of each other, but not steadily" in caveat for caveat in caveats(apart))
    assert headline(unseen).startswith("A and B can collide on t1;")
    assert headline(once).startswith("A and B collided when last seen on t1;")


def test_jobs_seen_to_meet_collide_whatever_the_last_instant_was() -> None:
    assert headline(analysis(paced_link(score_now=1.0))).startswith("A and B collide on t1;")


def test_jobs_that_interleave_are_told_to_keep_it_and_given_no_other_advice() -> None:
    held = analysis(replace(paced_link(score_now=1.0, shared_frac=0.0), is_interleaved=True))

    told = summarize(held)

    assert told[0] == "A and B already interleave on t1: keep what holds them there."
    assert told[1] == "Keep what holds A and B there, every 255 ms: another slot would only slow them."
    assert told[2].startswith("t1 a-b: already interleaved. ")
    assert advise(held) == []
    assert "drift" not in " ".join(told)


def test_an_interleaved_link_does_not_hide_one_that_nothing_helps() -> None:
    held = replace(paced_link(), is_interleaved=True)
    other = link("t2", demands={"C": vgg("c")}, compatibility=judged("futile", "C"))

    assert headline(analysis(held, other)) == (
        "A and B already interleave on t1: keep what holds them there; t2 is contended, and no shift would help"
    )


def test_without_jobs_the_periodic_ports_are_named_and_a_cluster_file_is_asked_for() -> None:
    ports = {f"s1/p{i}/receive": vgg("a") for i in range(14)}
    found = Analysis(profiles=ports, jobs={}, links=(), plan=ShiftPlan(shifts=(), gap=0.0))

    told = summarize(found)

    assert told[0].startswith("14 ports carry periodic traffic")
    assert "s1/p0/receive every 255 ms, s1/p1/receive every 255 ms" in told[1]
    assert told[1].endswith("and 2 more.")
    assert "[[link]]" in told[2]
    assert "--cluster cluster.toml" in told[2]


def unread(*kept: str) -> Analysis:
    """Return what is found of one job where readings are missing that links need."""
    notes = tuple(Skipped(what=what, why="kept from an earlier analysis: a.parquet cannot be read") for what in kept)
    return Analysis(profiles={}, jobs={"A": vgg("a")}, links=(), plan=ShiftPlan(shifts=(), gap=0.0), kept=notes)


def test_where_links_are_kept_no_cluster_file_is_asked_for() -> None:
    (told,) = lead(unread("link t1 forward"), advice=())
    assert told.startswith("Restore what cannot be read")


def test_headline_counts_jobs_and_links_that_are_too_many_to_name() -> None:
    busy = analysis(paced_link(), replace(paced_link(a="C", b="D"), link="t2"))

    assert headline(busy).startswith("4 jobs collide on 2 links")


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (analysis(), "No periodic traffic was found"),
        (Analysis(profiles={}, jobs={"A": vgg("a")}, links=(), plan=ShiftPlan(shifts=(), gap=0.0)), "no link to judge"),
        (unread("job A"), "1 job found, but not all could be read, and no link is left"),
        (
            unread("job A", "link t1 forward", "link t1 backward"),
            "1 job found, but not all could be read: what an earlier analysis found of 1 link stays",
        ),
        (
            analysis(link("h1", demands={"A": vgg("a")}, compatibility=judged("uncontended", "A"))),
            "No link is contended: leave the jobs as they are",
        ),
        (
            analysis(link("t1", demands={"A": vgg("a")}, compatibility=judged("overloaded", "A"))),
            "t1 is contended, and no shift would help",
        ),
        (
            analysis(link("t1", demands={"A": vgg("a"), "B": vgg("b")}, compatibility=judged("unknown", "A", "B"))),
            "A and B meet on t1, and whether a shift would help is not known",
        ),
    ],
)
def test_headline_says_so_when_there_is_nothing_to_shift(found: Analysis, says: str) -> None:
    assert says in headline(found)


def test_lead_says_what_to_do_and_what_it_should_bring() -> None:
    pair = colliding_pair()

    assert lead(pair, advice=advise(pair)) == [
        "Start B's all-reduce 133 ms after A's, every 266 ms.",
        "Expected on t1: 90 % of iterations take at most 279 ms held to slots. In this recording it was 306 ms; "
        "simulated unmanaged over all relative positions, 353 ms.",
    ]


def test_expectation_is_silent_when_nothing_was_simulated() -> None:
    assert expect({}) is None
    assert expect({"p90_now_s": 0.3}) is None


def test_expectation_prefers_the_tail_and_falls_back_to_the_median() -> None:
    both = expect({"p50_now_s": 0.3, "p50_paced_s": 0.2, "p90_now_s": 0.4, "p90_paced_s": 0.3})
    median = expect({"p50_now_s": 0.3, "p50_paced_s": 0.2})

    assert both is not None
    assert both.statistic == "p90"
    assert median is not None
    assert median.speedup == pytest.approx(1.5)


def test_caveats_tell_that_gains_are_simulated_unheld_shifts_decay_and_things_were_skipped() -> None:
    hidden = analysis(paced_link(score_now=None), skipped=(Skipped(what="h9", why="noise"),))

    told = " ".join(caveats(hidden))

    for part in ("simulation", "without the pacer", "could not be observed", "1 item could not be analysed"):
        assert part in told


def test_advice_gives_each_job_its_numbers_and_the_lines_that_apply_them() -> None:
    first, second = advise(colliding_pair())

    assert (first.job, first.leads, second.job, second.leads) == ("A", True, "B", False)
    assert second.sentence == "Start its all-reduce 133 ms after A's, every 266 ms."
    assert second.slot_s == SLOT_S
    assert second.lasts == "while it is paced"
    assert f"Pacer(period_s={SLOT_S}, shift_s={SHIFT_S})" in second.snippet


def test_the_snippet_runs_as_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr("time.sleep", waited.append)
    names: dict[str, object] = {}

    exec("from profiler.pacer import Pacer\n" + advise(colliding_pair())[1].snippet, names)  # noqa: S102 - our own words

    pacer = names["pacer"]
    assert pacer.n_iterations == 1  # type: ignore[attr-defined]


def test_jobs_that_only_meet_links_with_room_get_no_advice() -> None:
    alone = analysis(link("h1", demands={"A": vgg("a")}, compatibility=judged("uncontended", "A")))

    assert advise(alone) == []


def test_jobs_of_different_slots_are_told_their_time_after_the_anchor() -> None:
    trunk = paced_link()
    a, b = trunk.compatibility.shifts
    unlike = replace(
        trunk, compatibility=replace(trunk.compatibility, shifts=(a, replace(b, pace_period_s=2 * SLOT_S)))
    )

    assert advise(analysis(unlike))[1].sentence == (
        "Start its all-reduce 133 ms after the common anchor, every 532 ms."
    )


def test_words_count_from_where_jobs_communicate_not_from_where_their_iterations_begin() -> None:
    trunk = paced_link()
    a, b = trunk.compatibility.shifts

    def advised(*shifts: JobShift) -> list[Advice]:
        return advise(analysis(replace(trunk, compatibility=replace(trunk.compatibility, shifts=shifts))))

    first, second = advised(a, replace(b, shift_s=0.033, lead_s=0.1))
    assert second.sentence == "Start its all-reduce 133 ms after A's, every 266 ms."
    assert "shift_s=0.133)" in second.snippet
    assert second.shift_s == 0.033

    # B communicates at 233 ms, A at 100 ms and every 266 ms from there.
    both = advised(replace(a, lead_s=0.1), replace(b, lead_s=0.1))
    assert [advice.leads for advice in both] == [True, False]
    assert both[1].sentence == "Start its all-reduce 133 ms after A's, every 266 ms."
    # 0.25 + 0.149 s is a slot and 133 ms.
    assert advised(a, replace(b, shift_s=0.25, lead_s=0.149))[1].sentence == second.sentence
    # Sums that differ by rounding only: 0.1 + 0.2 and 0.3.
    together = advised(replace(a, shift_s=0.1, lead_s=0.2), replace(b, shift_s=0.3))
    assert any("together with" in advice.sentence for advice in together)

    first, second = advised(replace(a, lead_s=0.2), replace(b, shift_s=0.1))
    assert (first.job, first.leads) == ("B", True)
    assert second.sentence == "Start its all-reduce 100 ms after B's, every 266 ms."
    unlike = advised(a, replace(b, shift_s=0.033, lead_s=0.1, pace_period_s=2 * SLOT_S))[1]
    assert unlike.sentence == "Start its all-reduce 133 ms after the common anchor, every 532 ms."


def test_a_shift_without_pacing_says_how_long_it_lasts() -> None:
    trunk = paced_link()
    shifts = (JobShift(job="A", shift_s=0.0), JobShift(job="B", shift_s=SHIFT_S))
    free = replace(trunk.compatibility, verdict="compatible", shifts=shifts, hold_s=12.0)

    slots = tuple(replace(shift, pace_period_s=0.255, stretch_frac=0.0) for shift in shifts)
    settable = analysis(replace(trunk, compatibility=replace(free, shifts=slots, hold_s=float("inf"))))
    held_for_12_s = advise(analysis(replace(trunk, compatibility=free)))[1]
    held_for_good = advise(analysis(replace(trunk, compatibility=replace(free, hold_s=float("inf")))))[1]

    assert (held_for_12_s.lasts, held_for_12_s.snippet) == ("12 s", "")
    assert held_for_good.lasts == "for good"
    assert advise(settable)[1].lasts == "for good"
    assert "Pacer(period_s=0.255" in advise(settable)[1].snippet
    assert any("the pacer sets it at no cost" in caveat for caveat in caveats(settable))


def test_jobs_that_meet_through_a_third_share_one_leader() -> None:
    chain = analysis(paced_link(a="A", b="B"), replace(paced_link(a="C", b="B"), link="t2"))

    assert [item.job for item in advise(chain) if item.leads] == ["A"]


def test_every_verdict_has_words() -> None:
    assert set(VERDICT_WORDS) == set(VERDICTS)


def test_explanation_is_the_solvers_reason_or_else_the_meaning_of_the_verdict() -> None:
    reasoned = judged("futile", "A", "C", reason="slots would stretch C by 63 %")

    assert explain_verdict(reasoned) == "Slots would stretch C by 63 %."
    assert explain_verdict(judged("futile", "A", "C")) == VERDICT_WORDS["futile"].meaning


def test_scores_that_are_not_known_are_left_out() -> None:
    lines = score_lines(judged("futile", "A"))

    assert [line.name for line in lines] == ["chance", "best shift"]
    assert lines[0].excess_frac == pytest.approx(0.08)


def test_links_come_in_order_of_trouble() -> None:
    found = [judged("uncontended", "A"), judged("futile", "A"), judged("overloaded", "A"), paced_link().compatibility]

    assert [item.verdict for item in sorted(found, key=severity)] == ["overloaded", "paced", "futile", "uncontended"]


def test_summary_says_the_finding_the_advice_the_reason_and_the_caveats_in_this_order() -> None:
    lines = summarize(colliding_pair())

    assert lines[0] == "A and B collide on t1; shifting and pacing them should keep them apart."
    assert lines[1] == "Start B's all-reduce 133 ms after A's, every 266 ms."
    assert lines[3].startswith("t1 a-b: shift and pace. ")
    assert lines[-1].startswith("Note: ")


def test_summary_tells_two_directions_that_are_alike_once() -> None:
    trunk = paced_link()

    told = [line for line in summarize(analysis(trunk, replace(trunk, direction="b-a"))) if "shift and pace" in line]

    assert len(told) == 1
    assert told[0].startswith("t1 (both directions): ")


def test_summary_of_many_links_tells_the_worst_and_counts_the_rest() -> None:
    trunk = paced_link()
    links = [
        replace(trunk, link=f"t{i}", compatibility=replace(trunk.compatibility, score_now=1 - i / 100))
        for i in range(7)
    ]

    lines = summarize(analysis(*links))

    told = [line for line in lines if "shift and pace" in line]
    assert [line.split()[0] for line in told] == ["t6", "t5", "t4", "t3", "t2"]
    assert "2 more links are contended." in lines
