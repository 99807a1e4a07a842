"""Candidates, profiles and networks that cannot be ranked: what is said of each, and what still is ranked."""

from __future__ import annotations

import json
import math
import os
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pipeline.ranking import Candidate, rank, read_candidates
from pipeline.topology import Cluster
from profiler.errors import BadInput, UsageError
from profiler.phases import Phase, TrafficProfile
from tests.pipeline.jobs import vgg
from tests.pipeline.placements import candidate, racks, two_racks

if TYPE_CHECKING:
    from pathlib import Path

    from profiler.period.status import Status

FINE = candidate("fine", A="l1 r1", B="l2 r2")


def reason_of(**jobs: list[str]) -> str:
    """Why a candidate is not judged; the fine one beside it must be."""
    topology = two_racks(400e6, standing={"S": ["l3", "r3"]}, a_rack=4)
    profiles = {"A": vgg(), "B": vgg(), "S": vgg()}
    first, last = rank([{"id": "bad", "jobs": jobs}, FINE], profiles=profiles, topology=topology).candidates
    assert (first.id, first.is_judged, last.id, last.is_judged) == ("fine", True, "bad", False)
    assert last.score_mean is last.score_worst is last.predicted_slowdown is None
    assert last.shifts == ()
    return last.reason


@pytest.mark.parametrize(
    ("jobs", "problem"),
    [
        ({"A": ["l1", "x9"]}, "job 'A': no link ends at host 'x9'"),
        ({"A": ["l1", "r1"], "Z": ["l2", "r2"]}, "job 'Z': no profile of it is given"),
        ({"A": ["l1", "r"]}, "'r' is a switch"),
        ({"A": ["l1", "r1:eth7"]}, "'r1:eth7' is the end of 0 links, not one; name one of its ports: r1:eth0"),
        ({"A": ["l1", "r1"], "B": ["r1", "l2"]}, "job 'B': r1:eth0 is taken: job 'A' is put there too"),
        ({"A": ["l3", "r1"]}, "job 'A': l3:eth0 is taken: job 'S' stands there"),
        ({"A": ["l1", "r1", "l1", "r2"]}, "job 'A': l1:eth0 is taken twice, with other hosts between"),
    ],
)
def test_a_candidate_that_cannot_be_comes_last_with_its_reason(jobs: dict[str, list[str]], problem: str) -> None:
    assert problem in reason_of(**jobs)


def test_a_host_is_free_once_its_job_moves_away() -> None:
    topology = two_racks(400e6, standing={"S": ["l1", "r1"]})
    swap = candidate("swap", A="l1 r1", S="l2 r2")
    assert rank([swap], profiles={"A": vgg(), "S": vgg()}, topology=topology).best is not None


def test_jobs_that_may_share_a_port_are_judged_by_its_link() -> None:
    topology = two_racks(1e12, host_bps=400e6)
    profiles = {"A": vgg(up_s=0.1), "B": vgg(up_s=0.2)}
    both = candidate("both", A="l1 r1", B="l1 r2")
    found = rank([both], profiles=profiles, topology=topology, sharing="allowed").candidates[0]
    assert found.score_worst == pytest.approx(1 - 0.045 / 0.255)
    assert (found.worst_link, found.n_links) == ("l1", 4)
    assert rank([both], profiles=profiles, topology=topology).best is None


def test_a_host_of_two_ports_asks_which_and_takes_two_jobs() -> None:
    topology = racks({"s": ["h2"]}, trunks={})
    twice = racks({"s": ["h1"], "t": ["h1"]}, trunks={("s", "t"): 400e6}).links
    twice = (twice[0], replace(twice[1], link_id="h1-t", a="h1:eth1"), twice[2])
    topology = Cluster(links=(*topology.links, *twice))
    unclear = candidate("unclear", A="h1 h2")
    clear = {"id": "clear", "jobs": {"A": [{"host": "h1", "device": "eth0"}, "h2"], "B": ["h1:eth1"]}}
    found = rank([unclear, clear], profiles={"A": vgg(), "B": vgg()}, topology=topology)
    assert [one.id for one in found.candidates] == ["clear", "unclear"]
    assert found.candidates[0].is_judged
    assert "name one of its ports: h1:eth0, h1:eth1" in found.candidates[1].reason


def test_hosts_without_a_way_between_them_are_no_placement() -> None:
    topology = racks({"s": ["h1"], "t": ["h2"]}, trunks={})
    found = rank([candidate("x", A="h1 h2")], profiles={"A": vgg()}, topology=topology)
    assert found.best is None
    assert "no links lead from h1:eth0 to h2:eth0" in found.candidates[0].reason


def test_a_standing_job_without_a_profile_is_named() -> None:
    topology = two_racks(400e6, standing={"S": ["l1", "r1"]})
    found = rank([candidate("x", A="l2 r2")], profiles={"A": vgg()}, topology=topology)
    assert found.warnings == ("job S stands, but no profile of it is given: nothing was counted for it",)
    assert found.candidates[0].score_mean == 1


@pytest.mark.parametrize("status", ["no_data", "insufficient"])
def test_a_candidate_is_not_judged_where_it_would_meet_a_job_of_which_nothing_is_known(status: Status) -> None:
    unseen = TrafficProfile(status=status, reason="", fold_bps=np.zeros(0))
    topology = two_racks(400e6, standing={"S": ["l1", "r1"]}, a_rack=3)
    across, away = candidate("across", A="l2 r2"), candidate("away", A="l2 l3")
    found = rank([across, away], profiles={"A": vgg(), "S": unseen}, topology=topology)
    assert found.warnings == (
        f"job S stands, but what it sends is not known ({status}): no candidate that would meet it is judged",
    )
    assert [(one.id, one.is_judged) for one in found.candidates] == [("away", True), ("across", False)]
    assert found.candidates[1].reason.startswith(f"job 'S': what it sends is not known ({status}), and a job of")


def test_a_candidate_that_places_a_job_of_which_nothing_is_known_is_not_judged_unless_it_stays_off_the_links() -> None:
    unseen = TrafficProfile(status="insufficient", reason="", fold_bps=np.zeros(0))
    alone, packed = candidate("alone", A="l1 r1"), candidate("packed", A="l1 l1")
    found = rank([alone, packed], profiles={"A": unseen}, topology=two_racks(400e6))
    assert [(one.id, one.is_judged) for one in found.candidates] == [("packed", True), ("alone", False)]
    assert "job 'A': what it sends is not known (insufficient); give a profile" in found.candidates[1].reason


def test_a_job_of_which_only_the_mean_is_known_takes_that_and_is_judged() -> None:
    steady = TrafficProfile(status="insufficient", reason="", mean_bps=100e6, fold_bps=np.zeros(0))
    found = rank(
        [candidate("x", A="l1 r1", S="l2 r2")], profiles={"A": vgg(), "S": steady}, topology=two_racks(400e6)
    ).candidates[0]
    assert found.is_judged
    assert found.warnings == ("job S has no period (insufficient): it takes capacity and gets no shift",)


@pytest.mark.parametrize(
    ("candidates", "problem"),
    [
        ([], "no candidate"),
        ([7], "candidate 1: 7: expected"),
        ([math.nan], "candidate 1: nan: expected"),
        ([{"jobs": {"A": ["l1"]}}], "id is None"),
        ([{"id": math.nan, "jobs": {"A": ["l1"]}}], "id is nan"),
        ([{"id": "x"}], "jobs is None"),
        ([{"id": "x", "jobs": {}}], "jobs is {}"),
        ([{"id": "x", "jobs": {"": ["l1"]}}], "job '': give each job its name"),
        ([{"id": "x", "jobs": {7: ["l1"]}}], "job 7: give each job its name"),
        ([{"id": "x", "jobs": {"A": "l1"}}], "hosts are 'l1'; give a list"),
        ([{"id": "x", "jobs": {"A": []}}], "hosts are []; give a list"),
        ([{"id": "x", "jobs": {"A": [math.nan]}}], "host 1 is nan"),
        ([{"id": "x", "jobs": {"A": ["l1", ""]}}], "host 2 is ''"),
        ([{"id": "x", "jobs": {"A": [{"host": "l1", "port": "1"}]}}], "port '1' has no device"),
        ([{"id": "x", "jobs": {"A": [{"hosts": "l1"}]}}], "unknown key 'hosts'; did you mean 'host'?"),
        ([{"id": "x", "job": {"A": ["l1"]}}], "unknown key 'job'; did you mean 'jobs'?"),
        ([FINE, FINE], "candidate 2: id 'fine' is given twice"),
    ],
)
def test_what_is_no_candidate_says_which_and_why(candidates: list[Any], problem: str) -> None:
    with pytest.raises(BadInput) as caught:
        rank(candidates, profiles={"A": vgg(), "B": vgg()}, topology=two_racks(400e6))
    assert problem in str(caught.value)


def test_a_message_does_not_grow_with_what_it_complains_of() -> None:
    with pytest.raises(BadInput) as caught:
        rank([{"id": "x" * 10**6, "jobs": {}}], profiles={}, topology=two_racks(400e6))
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("profile", "problem"),
    [
        (replace(vgg(), period_s=1e7), "job A: period_s 10000000.0"),
        (replace(vgg(), phases=(Phase(kind="up", start_s=0.0, width_s=0.1, rate_bps=math.nan),)), "job A"),
        (TrafficProfile(status="constant", reason="", mean_bps=math.nan, fold_bps=np.zeros(0)), "job A"),
        (TrafficProfile(status="constant", reason="", mean_bps=-1.0, fold_bps=np.zeros(0)), "job A"),
    ],
)
def test_a_profile_without_sense_is_an_error_that_names_the_job(profile: TrafficProfile, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        rank([FINE], profiles={"A": profile, "B": vgg()}, topology=two_racks(400e6))
    assert problem in str(caught.value)


@pytest.mark.parametrize("capacity_bps", [0.0, -1.0, math.nan, math.inf])
def test_a_link_without_a_capacity_is_an_error_that_names_it(capacity_bps: float) -> None:
    with pytest.raises(UsageError, match="link l-r: capacity_bps"):
        rank([FINE], profiles={"A": vgg(), "B": vgg()}, topology=two_racks(capacity_bps))


def test_no_link_and_wishes_that_are_unknown_are_refused() -> None:
    profiles = {"A": vgg(), "B": vgg()}
    with pytest.raises(UsageError, match="no link"):
        rank([FINE], profiles=profiles, topology=Cluster(links=()))
    with pytest.raises(UsageError, match="by 'luck': expected mean, worst, time"):
        rank([FINE], profiles=profiles, topology=two_racks(1e9), by="luck")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="sharing 'maybe': expected refused, allowed"):
        rank([FINE], profiles=profiles, topology=two_racks(1e9), sharing="maybe")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="budget_s nan: must be positive"):
        rank([FINE], profiles=profiles, topology=two_racks(1e9), budget_s=math.nan)


def test_a_file_holds_candidates_with_hosts_in_words_or_parts(tmp_path: Path) -> None:
    path = tmp_path / "candidates.json"
    document = {"candidates": [FINE, {"id": "y", "jobs": {"A": [{"host": "h", "device": "d", "port": "1"}]}}]}
    path.write_text(json.dumps(document), encoding="utf-8")
    expected = [
        Candidate(id="fine", jobs={"A": ("l1", "r1"), "B": ("l2", "r2")}),
        Candidate(id="y", jobs={"A": ("h:d/1",)}),
    ]
    assert read_candidates(path) == expected
    path.write_text(json.dumps(document["candidates"]), encoding="utf-8")
    assert read_candidates(path) == expected


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"t_ns,eth0.rx_bytes\n1,2\n", "not JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[]", "no candidate"),
        (b"{}", "no list of candidates"),
        (b"7", "no list of candidates"),
        (b"NaN", "no list of candidates"),
        (b'{"kind": "profile", "version": 1, "series": []}', "unknown key 'series'; expected candidates"),
        (b'[{"id": "x", "jobs": {"A": ["h1"], "A": ["h2"]}}]', "key 'A' is given twice"),
        (b'[{"id": "x", "jobs": {"A": [NaN]}}]', "host 1 is nan"),
    ],
)
def test_a_file_that_holds_no_candidates_is_named_with_the_reason(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "candidates.json"
    path.write_bytes(content)
    with pytest.raises(BadInput) as caught:
        read_candidates(path)
    assert str(path) in str(caught.value)
    assert problem in str(caught.value)


def test_a_file_that_is_missing_a_folder_or_without_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"nowhere\.json: No such file"):
        read_candidates(tmp_path / "nowhere.json")
    with pytest.raises(BadInput, match="Is a directory"):
        read_candidates(tmp_path)
    with pytest.raises(BadInput, match="more than the 67108864 bytes"):
        read_candidates("/dev/zero")


def test_candidates_may_come_through_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(json.dumps([FINE]),))
    writer.start()
    assert [one.id for one in read_candidates(pipe)] == ["fine"]
    writer.join()
