"""Tables of links, ports, jobs, placements and hosts: what they mean, and how wrong cells are told."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from pipeline.topology import Cluster, read_cluster
from profiler.errors import BadInput
from tests.pipeline.clusterfiles import put, weights_of

if TYPE_CHECKING:
    from pathlib import Path

PORTS = "host,device,port,switch,switch_port,capacity\nn1,mlx5_0,1,sw,swp1,400G\nn2,mlx5_0,1,sw,swp2,400G\n"


def cluster_of(folder: Path, *tables: str) -> Cluster:
    return read_cluster(*(put(folder, f"{i}.csv", table) for i, table in enumerate(tables)))


def test_a_table_of_ports_is_the_cables_of_its_hosts(tmp_path: Path) -> None:
    cluster = cluster_of(tmp_path, PORTS)

    assert [(link.a, link.b, link.tier, link.capacity_bps) for link in cluster.links] == [
        ("n1:mlx5_0/1", "sw:swp1", "host", 400e9),
        ("n2:mlx5_0/1", "sw:swp2", "host", 400e9),
    ]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_spreadsheets_of_all_countries_are_read(tmp_path: Path, delimiter: str) -> None:
    text = "\ufeff" + PORTS.replace(",", delimiter).replace("\n", "\r\n") + delimiter * 5 + "\r\n\r\n"

    assert len(cluster_of(tmp_path, text).links) == 2


def test_ranks_order_the_rows_of_placements(tmp_path: Path) -> None:
    rows = "job,rank,host,device\nA,1,n1,mlx5_0\nA,0,n2,mlx5_0\n"

    assert [rank.host for rank in cluster_of(tmp_path, PORTS, rows).placements] == ["n2", "n1"]


def test_what_a_lake_exports_is_read_back(tmp_path: Path) -> None:
    first = cluster_of(tmp_path, PORTS, "job,host,device\nA,n1,mlx5_0\nA,n2,mlx5_0\n")
    tables = first.to_tables()
    texts = []
    for name in ("links", "placements"):
        rows = [
            ",".join("" if cell is None else str(cell) for cell in row.values()) for row in tables[name].to_pylist()
        ]
        texts.append("\n".join([",".join(tables[name].column_names), *rows]) + "\n")

    again = cluster_of(tmp_path, *texts)

    assert (again.links, again.placements, again.paths) == (first.links, first.placements, first.paths)


def test_a_pattern_of_a_job_is_that_of_its_paths(tmp_path: Path) -> None:
    ports = PORTS + "n3,mlx5_0,1,sw,swp3,400G\n"
    two = cluster_of(tmp_path, ports, "job,hosts,pattern\nA,n[1-3],all_to_all\nB,n[1-2] n3,\n")

    assert set(weights_of(two, "A").values()) == {1.0}
    assert set(weights_of(two, "B").values()) == {1.0}
    assert [job.pattern for job in two.jobs] == ["all_to_all", "ring"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_table_of_any_line_ends_is_read(tmp_path: Path, end: str) -> None:
    ports = PORTS + "n3,mlx5_0,1,sw,swp3,400G\n"
    jobs = "job,hosts\nA,n[1-3]\n"

    found = cluster_of(tmp_path, *(text.replace("\n", end) for text in (ports, jobs)))

    assert [job.job_id for job in found.jobs] == ["A"]
    assert [link.a for link in found.links] == ["n1:mlx5_0/1", "n2:mlx5_0/1", "n3:mlx5_0/1"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("link,a,b,capacity\nx,n1:e,sw:1,400\n", "line 2: capacity = '400': no link is as slow; add the unit"),
        ("link,a,b,capacity\nx,n1:e,n1:f,1Gbps\n", "line 2: b = 'n1:f': both ends are on one node"),
        ("link,a,b,capacity\nx,n1:e,sw:1,1Gbps,9\n", "line 2: 5 cells under 4 columns"),
        ("link,a,b,capacity\nx,n1:e,sw:1,1Gbps\nx,n2:e,sw:2,1Gbps\n", "link id 'x' is given twice"),
        ("link,a,b,capacity,tier\nx,n1:e,sw:1,1Gbps,core\n", "tier = 'core': expected host, leaf, spine"),
        ("link,a,b,capacity,state\nx,n1:e,sw:1,1Gbps,dwon\n", "state = 'dwon': expected up, down"),
        ("link,a,b,capacity,valid_to\nx,n1:e,sw:1,1Gbps,noon\n", "line 2: valid_to = 'noon': expected a date and time"),
        ("link,a,b,capacity,valid_to\nx,n1:e,sw:1,1Gbps,2026-03-01T12:00:00\n", "says no time zone"),
        ("link,a,b,capacity,valid_to_ns\nx,n1:e,sw:1,1Gbps,1e9\n", "valid_to_ns = '1e9': expected whole ns"),
        (
            "link,a,b,capacity,valid_from,valid_to\nx,n1:e,sw:1,1Gbps,2026-03-01T12:00:00Z,2026-03-01T12:00:00Z\n",
            "valid_to is not after valid_from",
        ),
        ("job,hosts\nA,n[1-999999999]\n", "line 2: hosts = 'n[1-999999999]'"),
        ("job,hosts\nA,n1\nA,n2\n", "line 3: job 'A' is given twice"),
        ("job,hosts,pattern\nA,n1,star\n", "line 2: pattern = 'star': expected ring, all_to_all"),
        ("job,host,rank\nA,n1,0\nA,n2,0\n", "line 3: rank 0 of job 'A' is given twice"),
        ("job,host,rank\nA,n1,0\nA,n2,2\n", "job 'A' has 2 ranks, and none is 1; add its row"),
        ("job,host,rank\nA,n1,0\nA,n2,\n", "line 3: rank = '': expected a whole number"),
        ("host,alias\nn1,g\nn2,g\n", "line 3: alias 'g' is of host 'n1' already"),
    ],
)
def test_a_wrong_cell_is_told_where_it_is_and_what_to_do(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(BadInput, match=re.escape(said)) as caught:
        cluster_of(tmp_path, text)
    assert str(caught.value).startswith(str(tmp_path / "0.csv"))
