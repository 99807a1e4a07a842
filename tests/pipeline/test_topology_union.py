"""Several files as one cluster: who wins, whose name is whose, what is there when, what is down."""

from __future__ import annotations

import gzip
import tracemalloc
from typing import TYPE_CHECKING, Final

import pytest

from pipeline.topology import documents, read_cluster
from profiler.errors import BadInput
from profiler.schema import arrow_schema
from tests.pipeline.clusterfiles import FABRIC, put, slurm, weights_of, why

if TYPE_CHECKING:
    from pathlib import Path

LINKS: Final = """link,a,b,capacity,tier,state,valid_from,valid_to
up1,n1.site.org:mlx5_0,leaf:1,100Gbps,host,up,2026-01-01T00:00:00Z,
up2,n2.site.org:mlx5_0,leaf:2,100 Gbit/s,host,up,,
up3,n3.site.org:mlx5_0,leaf:3,12.5GB/s,host,,,
"""
NOON_NS: Final = 1_772_366_400_000_000_000
"""2026-03-01 12:00:00 UTC."""


def jobs_of(*rows: str) -> str:
    return "\n".join(["job,hosts,pattern,start,end", *rows]) + "\n"


def test_units_of_capacity_may_differ_from_row_to_row(tmp_path: Path) -> None:
    cluster = read_cluster(put(tmp_path, "links.csv", LINKS))

    assert {link.capacity_bps for link in cluster.links} == {100e9}


@pytest.mark.parametrize("hosts", ['"n1,n2"', "N[1-2]", '"n1.site.org,n2"', "n1 n2"])
def test_hosts_are_known_by_short_names_and_by_whole_ones(tmp_path: Path, hosts: str) -> None:
    cluster = read_cluster(put(tmp_path, "links.csv", LINKS), put(tmp_path, "jobs.csv", jobs_of(f"A,{hosts}")))

    assert [rank.host for rank in cluster.placements] == ["n1.site.org", "n2.site.org"]
    assert {link_id for link_id, _ in weights_of(cluster, "A")} == {"up1", "up2"}


def test_another_domain_is_another_host(tmp_path: Path) -> None:
    jobs = jobs_of('A,"n1.site.org,n2.other.org"')

    cluster = read_cluster(put(tmp_path, "links.csv", LINKS), put(tmp_path, "jobs.csv", jobs))

    assert "no link ends at its host n2.other.org; did you mean n" in why(cluster)["job A"]


def test_a_short_name_of_two_hosts_is_not_guessed(tmp_path: Path) -> None:
    links = LINKS + "up4,n1.lab.org:mlx5_0,leaf:4,100Gbps,host,,,\n"

    cluster = read_cluster(put(tmp_path, "links.csv", links), put(tmp_path, "jobs.csv", jobs_of('A,"n1,n2"')))

    assert "may be each of n1.site.org, n1.lab.org; give the whole name" in why(cluster)["job A"]


def test_other_names_of_hosts_come_from_a_table_or_the_cluster_file(tmp_path: Path) -> None:
    links, jobs = put(tmp_path, "links.csv", LINKS), put(tmp_path, "jobs.csv", jobs_of('A,"gpu-1,gpu-2"'))
    table = put(tmp_path, "hosts.csv", "host;rack;alias\nn1;r1;gpu-1\nn2.site.org;r1;gpu-2\n")
    toml = put(
        tmp_path, "c.toml", '[[host]]\nname = "n1"\naliases = ["gpu-1"]\n[[host]]\nname = "n2"\naliases = ["gpu-2"]\n'
    )

    for names in (table, toml):
        assert {rank.host for rank in read_cluster(links, jobs, names).placements} == {"n1.site.org", "n2.site.org"}
    other = put(tmp_path, "other.csv", "host,alias\nn3,gpu-1\n")
    assert "it is of host n1, not n3, in" in why(read_cluster(links, jobs, table, other))["alias gpu-1"]


def test_nodes_are_called_as_their_counters_are_and_jobs_still_find_them(tmp_path: Path) -> None:
    files = put(tmp_path, "links.csv", LINKS), put(tmp_path, "jobs.csv", jobs_of('A,"n1.site.org,n2"'))
    names = put(tmp_path, "hosts.csv", "host,alias\nn2.site.org,gpu-2\n")

    cluster = read_cluster(*files, names, counted={"n1", "gpu-2", "n3.other.org", "leaf"})

    assert [link.a for link in cluster.links] == ["n1:mlx5_0", "gpu-2:mlx5_0", "n3.site.org:mlx5_0"]
    assert [rank.host for rank in cluster.placements] == ["n1", "gpu-2"]
    assert {link_id for link_id, _ in weights_of(cluster, "A")} == {"up1", "up2"}


def test_a_name_of_counters_that_two_nodes_may_have_is_given_to_none(tmp_path: Path) -> None:
    links = LINKS + "up4,n1.lab.org:mlx5_0,leaf:4,100Gbps,host,,,\n"

    cluster = read_cluster(put(tmp_path, "links.csv", links), counted={"n1"})

    assert [link.a for link in cluster.links][::3] == ["n1.site.org:mlx5_0", "n1.lab.org:mlx5_0"]


def test_a_job_of_many_lost_hosts_says_how_many(tmp_path: Path) -> None:
    cluster = read_cluster(put(tmp_path, "links.csv", LINKS), put(tmp_path, "jobs.csv", jobs_of("A,n[1-2] z[1-9]")))

    assert "no link ends at its host z1, nor can 8 more of its 11 be found; see" in why(cluster)["job A"]


def test_jobs_of_a_cluster_file_are_placed_on_the_links_of_another(tmp_path: Path) -> None:
    toml = '[[job]]\nid = "A"\nranks = [{host = "n1", device = "mlx5_1"}, {host = "n2", device = "mlx5_1"}]\n'
    hosts = '[[job]]\nid = "B"\nhosts = "n[1-2]"\npattern = "all_to_all"\n'

    cluster = read_cluster(put(tmp_path, "c.toml", toml + hosts), put(tmp_path, "fabric.out", FABRIC))

    assert [(job.job_id, job.n_ranks, job.pattern) for job in cluster.jobs] == [
        ("A", 2, "ring"),
        ("B", 4, "all_to_all"),
    ]
    assert weights_of(cluster, "A")["n1:mlx5_1/1--leaf1:2", "forward"] == 1.0


def test_of_two_files_that_differ_the_first_wins_and_the_other_is_named(tmp_path: Path) -> None:
    links = "link,a,b,capacity\nup1,n1:eth0,sw:p1,{}\nup2,n2:eth0,sw:p2,1Gbps\n"
    one, two = (put(tmp_path, f"{rate}.csv", links.format(rate)) for rate in ("1Gbps", "2Gbps"))
    jobs = [put(tmp_path, name, slurm((7, nodes, "RUNNING"))) for name, nodes in (("a", "n[1-2]"), ("b", "n[1,3]"))]

    for first, second, gbps in ((one, two, 1), (two, one, 2)):
        cluster = read_cluster(first, second, *jobs)

        assert [link.capacity_bps for link in cluster.links] == [gbps * 1e9, 1e9]
        found = why(cluster)
        assert set(found) == {"link up1", "job 7"}
        assert f"{second}: its capacity is {gbps} Gbit/s, not {3 - gbps} Gbit/s, in {first}" in found["link up1"]
        assert f"{tmp_path / 'b'}: it has other hosts or ranks in {tmp_path / 'a'}" in found["job 7"]


def test_a_cable_that_two_files_name_differently_is_one_link(tmp_path: Path) -> None:
    table = "link,a,b,capacity\nmine,leaf1:3,spine:9,400Gbps\nnew,n1:mlx5_0/1,spine:7,200Gbps\n"

    cluster = read_cluster(put(tmp_path, "fabric.out", FABRIC), put(tmp_path, "links.csv", table))

    assert len(cluster.links) == 7
    assert "its end n1:mlx5_0/1 is that of link n1:mlx5_0/1--leaf1:1" in why(cluster)["link new"]
    assert "link mine" not in why(cluster)


def test_a_file_given_twice_changes_nothing(tmp_path: Path) -> None:
    files = put(tmp_path, "fabric.out", FABRIC), put(tmp_path, "jobs.json", slurm((7, "n[1-2]", "RUNNING")))

    once, twice = read_cluster(*files), read_cluster(*files, *files)

    assert (once.links, once.jobs, once.placements, once.paths) == (
        twice.links,
        twice.jobs,
        twice.placements,
        twice.paths,
    )


def test_links_and_jobs_count_while_they_are_there(tmp_path: Path) -> None:
    links = put(
        tmp_path,
        "links.csv",
        LINKS.replace("up3,", "old3,n3.site.org:mlx5_0,leaf:9,10Gbps,host,,,2026-03-01T12:00:00Z\nup3,").replace(
            "12.5GB/s,host,,,", "12.5GB/s,host,,2026-03-01T13:00:00+01:00,"
        ),
    )
    day = "2026-03-01T"
    rows = [f"past,n[1-3],,{day}08:00:00Z,{day}12:00:00Z", f"now,n[1-3],,{day}12:00:00Z,{day}14:00:00Z"]
    jobs = put(tmp_path, "jobs.csv", jobs_of(*rows, f"next,n[1-3],,{day}14:00:00Z,"))

    before, noon = (read_cluster(links, jobs, at_ns=t_ns) for t_ns in (NOON_NS - 1, NOON_NS))

    assert [link.link_id for link in before.links] == ["up1", "up2", "old3"]
    assert [link.link_id for link in noon.links] == ["up1", "up2", "up3"]
    assert [job.job_id for job in before.jobs] == ["past"]
    assert [(job.job_id, job.start_ns, job.end_ns) for job in noon.jobs] == [("now", NOON_NS, NOON_NS + 7_200 * 10**9)]
    assert "ended at 2026-03-01 12:00:00 UTC; the lake's last sample is of 2026-03-01 12:00:00" in why(noon)["job past"]
    assert "begins at 2026-03-01 14:00:00 UTC" in why(noon)["job next"]
    assert "ended at" in why(noon)["link old3"]
    assert [job.job_id for job in read_cluster(links, jobs).jobs] == ["next"]


def test_times_that_no_table_holds_are_for_ever(tmp_path: Path) -> None:
    ever, never = "0001-01-01T00:00:00Z,9999-12-31T23:59:59-05:00", "9999-12-31T00:00:00Z,"
    rows = f"up1,n1:e,s:1,1Gbps,{ever}\nup2,n2:e,s:2,1Gbps,{ever}\nup3,n3:e,s:3,1Gbps,{never}\n"
    links = put(tmp_path, "links.csv", "link,a,b,capacity,valid_from,valid_to\n" + rows)
    jobs = put(tmp_path, "jobs.csv", f'job,hosts,start,end\nA,"n1,n2",{ever}\n')

    for at_ns in (None, NOON_NS):
        cluster = read_cluster(links, jobs, at_ns=at_ns)

        found = cluster.to_tables()
        assert found["links"]["valid_to_ns"].to_pylist()[:2] == [None, None]
        assert found["jobs"]["start_ns"].to_pylist() == found["jobs"]["end_ns"].to_pylist() == [None]
    assert "begins at 2262" in why(cluster)["link up3"]


def test_what_ends_is_said_to_end_where_no_lake_tells_the_time(tmp_path: Path) -> None:
    links = put(tmp_path, "links.csv", LINKS.replace("host,up,,\n", "host,up,,2099-01-01T00:00:00Z\n"))

    assert "is there until 2099-01-01 00:00:00 UTC only" in why(read_cluster(links))["link up2"]


def test_a_link_that_is_down_stays_and_carries_nothing(tmp_path: Path) -> None:
    links = "link,a,b,capacity,tier,state\nh1,n1:e,x:1,1Gbps,host,up\nh2,n2:e,y:1,1Gbps,host,up\n"
    trunks = "t1,x:t1,y:t1,1Gbps,spine,{}\nt2,x:t2,y:t2,1Gbps,spine,down\n"
    jobs = put(tmp_path, "jobs.csv", "job,host\nA,n1\nA,n2\n")

    half = read_cluster(put(tmp_path, "half.csv", links + trunks.format("up")), jobs)
    none = read_cluster(put(tmp_path, "none.csv", links + trunks.format("down")), jobs)
    lost = read_cluster(put(tmp_path, "lost.csv", links.replace("host,up", "host,down") + trunks.format("up")), jobs)

    assert weights_of(half, "A")["t1", "forward"] == 1.0
    assert ("t2", "forward") not in weights_of(half, "A")
    assert len(half.links) == 4
    assert why(half) == {"link t2": "it is down; no path takes it"}
    assert (none.jobs, none.placements, none.paths) == ((), (), ())
    assert "no links lead from n1:e to n2:e" in why(none)["job A"]
    assert "all links of its host n1 are down" in why(lost)["job A"]


def test_adapters_that_not_all_hosts_of_a_job_have_are_named(tmp_path: Path) -> None:
    fabric = FABRIC.replace('"n2 mlx5_1"', '"MT4129 ConnectX7"')

    cluster = read_cluster(
        put(tmp_path, "fabric.out", fabric), put(tmp_path, "j.json", slurm((7, "n[1-2]", "RUNNING")))
    )

    assert [rank.device for rank in cluster.placements] == ["mlx5_0", "mlx5_0"]
    assert "no rank is put there" in why(cluster)["adapter n1:mlx5_1/1 of job 7"]


def test_hosts_whose_adapters_have_no_name_in_common_are_shown(tmp_path: Path) -> None:
    fabric = FABRIC.replace("n2 mlx5_0", "n2 HCA-1").replace("n2 mlx5_1", "n2 HCA-2")

    cluster = read_cluster(
        put(tmp_path, "fabric.out", fabric), put(tmp_path, "j.json", slurm((7, "n[1-2]", "RUNNING")))
    )

    assert "(n1 has mlx5_0/1, mlx5_1/1; n2 has HCA-1/1, HCA-2/1)" in why(cluster)["job 7"]


def test_jobs_that_share_a_host_are_both_placed(tmp_path: Path) -> None:
    jobs = slurm((1, "n[1-2]", "RUNNING"), (2, "n[1-2]", "RUNNING"))

    cluster = read_cluster(put(tmp_path, "fabric.out", FABRIC), put(tmp_path, "jobs.json", jobs))

    assert weights_of(cluster, "1") == weights_of(cluster, "2") != {}


def test_compressed_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "fabric.out.gz"
    path.write_bytes(gzip.compress(FABRIC.encode()))

    assert len(read_cluster(path).links) == 7


def test_a_file_that_fills_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_BYTES", 2**20)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(bytes(64 * 2**20)))

    tracemalloc.start()
    with pytest.raises(BadInput, match=r"bomb\.gz: more than 1 MiB"):
        read_cluster(path)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 16 * 2**20


@pytest.mark.parametrize(
    "text",
    [
        '{"jobs":' + "[" * 100_000,
        "a = " + "[" * 100_000,
        "x = " + "9" * 5_000,
        '{"jobs": [{"job_id": 1',
        "link,a,b,capacity\n" + '"' * 200_000,
    ],
    ids=["deep JSON", "deep TOML", "long number", "cut JSON", "long cell"],
)
def test_hostile_files_are_refused_by_name(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadInput, match=r"hostile: "):
        read_cluster(put(tmp_path, "fabric.out", FABRIC), put(tmp_path, "hostile", text))


def test_what_was_read_is_what_the_tables_hold(tmp_path: Path) -> None:
    cluster = read_cluster(
        put(tmp_path, "fabric.out", FABRIC), put(tmp_path, "j.json", slurm((7, "n[1-2]", "RUNNING")))
    )

    tables = cluster.to_tables()

    parts = {"links": cluster.links, "jobs": cluster.jobs, "placements": cluster.placements, "paths": cluster.paths}
    for name, rows in parts.items():
        assert tables[name].schema.equals(arrow_schema(name))
        assert [tuple(row.values()) for row in tables[name].to_pylist()] == [
            tuple(getattr(row, column) for column in tables[name].column_names) for row in rows
        ]
