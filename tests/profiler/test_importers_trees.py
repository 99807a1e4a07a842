"""Saved trees of ``/sys``: the same series as a recording, whichever archive holds them."""

from __future__ import annotations

import io
import shutil
import tarfile
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from profiler.collectors import COLLECTORS, open_counters
from profiler.errors import BadInput, NotHere
from profiler.importers import ingest, read_counters
from profiler.store import Lake
from tests.data import shared
from tests.profiler.dumps import n_samples, statuses
from tests.profiler.tables import table
from tests.profiler.ttar import unpack_ttar

if TYPE_CHECKING:
    from pathlib import Path

NS = 10**9
T0_S = 1_700_000_000


def save_tree(folder: Path, words: int, *, is_up: bool = True) -> Path:
    """Write the tree of a host with one RDMA port, below a folder that is named by its time."""
    port = folder / "class" / "infiniband" / "mlx5_0" / "ports" / "1"
    (port / "counters").mkdir(parents=True)
    (port / "state").write_text("4: ACTIVE\n" if is_up else "1: DOWN\n")
    for name in ("port_xmit_data", "port_rcv_data", "port_xmit_packets", "port_rcv_packets"):
        (port / "counters" / name).write_text(f"{words}\n")
    return folder


def bytes_sent(path: Path) -> tuple[list[int], list[int], str]:
    counters, problems = read_counters(path)
    assert problems == []
    ((series, t_ns, value),) = [
        (s, t, v)
        for s, t, v, _ in counters
        if s.metric == "bytes" and s.direction == "transmit" and s.device == "mlx5_0"
    ]
    assert (series.layer, series.port) == ("rdma_vport", "1")
    return t_ns.tolist(), value.tolist(), series.host


def test_snapshots_named_by_their_time_are_one_series(tmp_path: Path) -> None:
    for i in range(3):
        save_tree(tmp_path / f"n1-{T0_S + i}", 100 + i)

    assert bytes_sent(tmp_path) == ([(T0_S + i) * NS for i in range(3)], [400, 404, 408], "n1")


def test_a_folder_that_holds_sys_is_such_a_tree(tmp_path: Path) -> None:
    save_tree(tmp_path / f"n1-{T0_S}" / "sys", 5)

    assert bytes_sent(tmp_path / f"n1-{T0_S}") == ([T0_S * NS], [20], "n1")


@pytest.mark.parametrize("name", [f"n1-{T0_S}.tar", f"n1-{T0_S}.tar.gz"])
def test_an_archive_of_a_tree_is_that_tree(tmp_path: Path, name: str) -> None:
    tree = save_tree(tmp_path / "saved", 5)
    with tarfile.open(tmp_path / name, "w:gz" if name.endswith("gz") else "w") as archive:
        archive.add(tree, arcname="sys")

    assert bytes_sent(tmp_path / name) == ([T0_S * NS], [20], "n1")


def test_links_of_interfaces_in_an_archive_are_followed(tmp_path: Path) -> None:
    device = tmp_path / "saved" / "devices" / "net" / "eth0" / "statistics"
    device.mkdir(parents=True)
    for name in ("tx_bytes", "rx_bytes", "tx_packets", "rx_packets"):
        (device / name).write_text("9\n")
    (tmp_path / "saved" / "class" / "net").mkdir(parents=True)
    (tmp_path / "saved" / "class" / "net" / "eth0").symlink_to("../../devices/net/eth0")
    with tarfile.open(tmp_path / f"n1-{T0_S}.tar", "w") as archive:
        archive.add(tmp_path / "saved", arcname=".")

    counters, problems = read_counters(tmp_path / f"n1-{T0_S}.tar")

    assert problems == []
    assert {(s.device, s.metric): v.tolist() for s, _, v, _ in counters} == {
        ("eth0", "bytes"): [9],
        ("eth0", "packets"): [9],
    }


def test_an_archive_that_would_write_elsewhere_is_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / f"n1-{T0_S}.tar", "w") as archive:
        for name in ("class/net/x", "../../escape"):
            member = tarfile.TarInfo(name)
            member.size = 1
            archive.addfile(member, io.BytesIO(b"1"))

    with pytest.raises(BadInput, match="hostile"):
        read_counters(tmp_path / f"n1-{T0_S}.tar")


def test_a_ttar_that_would_write_elsewhere_is_refused(tmp_path: Path) -> None:
    text = "# Archive created by ttar\nPath: ../../escape\nLines: 1\n1\nMode: 644\n"

    with pytest.raises(BadInput, match="outside of the archive"):
        read_counters(table(tmp_path, text, f"n1-{T0_S}.ttar"))


def test_a_port_that_is_down_is_passed_over_and_said(tmp_path: Path) -> None:
    save_tree(tmp_path / f"n1-{T0_S}", 5, is_up=False)

    with pytest.raises(BadInput, match="its link is down"):
        read_counters(tmp_path)


def test_counters_that_are_no_traffic_are_counted_and_named(tmp_path: Path) -> None:
    tree = save_tree(tmp_path / f"n1-{T0_S}", 5)
    for name in ("symbol_error", "link_downed"):
        (tree / "class" / "infiniband" / "mlx5_0" / "ports" / "1" / "counters" / name).write_text("0\n")

    (report,) = ingest(tree, lake=tmp_path / "lake").inputs

    coverage = report.coverage
    assert (coverage.n_read, coverage.n_kept, dict(coverage.left_out)) == (6, 4, {"no traffic": 2})
    assert ("counters of mlx5_0:1 (2)", "no traffic of a port, such as link_downed") in [
        (item.what, item.why) for item in coverage.skipped
    ]


def test_each_snapshot_goes_into_a_lake_once(tmp_path: Path) -> None:
    trees = [save_tree(tmp_path / f"n1-{T0_S + i}", 100) for i in range(2)]
    lake = Lake.open(tmp_path / "lake", create=True)

    assert statuses(ingest(*trees, lake=lake)) == ["read", "read"]
    assert statuses(ingest(*trees, lake=lake)) == ["already there", "already there"]
    assert n_samples(lake) == 8


def test_trees_of_one_time_that_differ_below_sys_or_a_link_are_two(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path / "lake", create=True)
    for words in (1, 2, 3):
        tree = save_tree(tmp_path / "devices", words)
        (tmp_path / f"n1-{T0_S}" / "sys" / "class" / "infiniband").mkdir(parents=True)
        (tmp_path / f"n1-{T0_S}" / "sys" / "class" / "infiniband" / "mlx5_0").symlink_to(
            tree / "class/infiniband/mlx5_0"
        )
        assert statuses(ingest(tmp_path / f"n1-{T0_S}", lake=lake)) == ["read"]
        shutil.rmtree(tree)
        shutil.rmtree(tmp_path / f"n1-{T0_S}")


@pytest.mark.parametrize("name", ["procfs_class_infiniband.ttar", "class_infiniband.ttar"])
def test_real_trees_are_read_as_the_collectors_read_them(tmp_path: Path, name: str) -> None:
    archive = shared(f"infiniband/{name}")
    unpack_ttar(archive, tmp_path / "unpacked")
    root = next(path.parent for path in (tmp_path / "unpacked").rglob("class") if (path / "infiniband").is_dir())
    wanted = {}
    for port in COLLECTORS["rdma"].find(root):
        with suppress(NotHere):
            for counter in open_counters(port, COLLECTORS["rdma"], host="")[0] if port.is_up else ():
                wanted[port.device, port.port, counter.series.raw_name] = counter.read() * counter.spec.scale
                counter.close()
    path = table(tmp_path, archive.read_bytes(), f"n1-{T0_S}.ttar")

    found, _ = read_counters(path)

    assert wanted
    rdma = {(s.device, s.port, s.raw_name): int(v[0]) for s, _, v, _ in found if s.layer == "rdma_vport"}
    assert rdma == wanted
