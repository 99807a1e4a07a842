"""What files know of a cluster, in a lake: tables, names, times; and what `offbeat analyze` says of the rest."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest

from pipeline.cli.main import main
from pipeline.clusters import know_cluster
from pipeline.omissions import omissions
from pipeline.topology import read_cluster
from profiler.schema import arrow_schema
from tests.pipeline.clusterfiles import put
from tests.pipeline.lakes import T0_NS, make_lake, port

if TYPE_CHECKING:
    from pathlib import Path

    from profiler.store import Lake

LINKS: Final = """link,a,b,capacity,tier,state
trunk,sw1:t1,sw2:t1,400Mbps,spine,up
spare,sw1:t9,sw2:t9,400Mbps,spine,down
a1,a1.site.org:eth0,sw1:p1,800Mbps,host,
a2,a2.site.org:eth0,sw2:p1,800Mbps,host,
b1,b1.site.org:eth0,sw1:p2,800Mbps,host,
"""
JOBS: Final = """JobId=1 JobName=A
   JobState=RUNNING Reason=None
   NodeList=a[1-2]

JobId=3 JobName=C
   JobState=PENDING Reason=Resources
   NodeList=

JobId=4 JobName=D
   JobState=RUNNING Reason=None
   NodeList=b[1-2]

JobId=5 JobName=E
   JobState=RUNNING Reason=None
   NodeList=b1
"""
READS: Final = (T0_NS + np.arange(5) * 1_000_000_000, np.arange(5))
"""Of a counter, each second."""
UNPLACED: Final = {
    "link spare": "it is down; no path takes it",
    "job 3": "its state is PENDING (Resources)",
    "job 4": "no link ends at its host b2",
    "job 5": "it runs on one host, b1.site.org, and sends nothing over links",
}


def lake_of(folder: Path) -> Lake:
    """Return a lake of counters of host a1, which calls itself by its short name."""
    return make_lake(folder / "lake", {port("a1", "eth0", "transmit"): READS})


def files_of(folder: Path) -> list[Path]:
    return [put(folder, "links.csv", LINKS), put(folder, "jobs.txt", JOBS)]


def test_the_tables_of_the_lake_hold_what_the_files_know(tmp_path: Path) -> None:
    lake, files = lake_of(tmp_path), files_of(tmp_path)

    know_cluster(lake, files)

    expected = read_cluster(*files, counted={"a1"}).to_tables()
    for name, table in expected.items():
        held = lake.read(name)
        assert held.schema.equals(arrow_schema(name))
        assert sorted(map(repr, held.to_pylist())) == sorted(map(repr, table.to_pylist()))
    assert {(row["link_id"], row["state"]) for row in lake.read("links").to_pylist()} >= {
        ("spare", "down"),
        ("a1", "up"),
    }
    assert lake.read("placements")["host"].to_pylist() == ["a1", "a2.site.org"]
    weights = {(row["link_id"], row["direction"]): row["weight_frac"] for row in lake.read("paths").to_pylist()}
    assert weights == {(link, way): 1.0 for link in ("a1", "a2", "trunk") for way in ("forward", "backward")}


def test_all_that_is_not_placed_is_returned_with_the_reason(tmp_path: Path) -> None:
    found = {skipped.what: skipped.why for skipped in know_cluster(lake_of(tmp_path), files_of(tmp_path))}

    assert {what: reason.partition(";")[0] if what != "link spare" else reason for what, reason in found.items()} == {
        what: reason.partition(";")[0] if what != "link spare" else reason for what, reason in UNPLACED.items()
    }


def test_analyze_names_all_that_is_not_placed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake_of(tmp_path)
    clusters = [word for path in files_of(tmp_path) for word in ("--cluster", str(path))]

    main(["analyze", "--lake", str(tmp_path / "lake"), *clusters, "--json"])

    skipped = {one["what"]: one["why"] for one in json.loads(capsys.readouterr().out)["skipped"]}
    assert {what: reason for what, reason in skipped.items() if what in UNPLACED}.keys() == UNPLACED.keys()
    assert all(skipped[what].startswith(reason) for what, reason in UNPLACED.items())


def test_jobs_are_those_of_the_lakes_last_sample(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    last = np.datetime64(int(READS[0][-1]), "ns")
    first, after = (f"{last + np.timedelta64(s, 's')}Z" for s in (-1, 1))
    jobs = f'job,hosts,start,end\nnow,"a1,a2",{first},{after}\nended,"a1,a2",,{first}\nnext,"a1,a2",{after},\n'

    found = know_cluster(lake, [put(tmp_path, "links.csv", LINKS), put(tmp_path, "jobs.csv", jobs)])

    assert lake.read("jobs")["job_id"].to_pylist() == ["now"]
    assert {skipped.what for skipped in found} == {"link spare", "job ended", "job next"}


@pytest.mark.parametrize(("n_links", "what"), [(0, "links and jobs"), (2, "jobs")])
def test_what_a_cluster_lacks_is_said_and_not_what_it_has(n_links: int, what: str) -> None:
    (found,) = omissions(jobs=[], ports=[], profiles={}, n_links=n_links)

    assert found.what == what
