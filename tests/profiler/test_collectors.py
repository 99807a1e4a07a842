"""Collectors on trees of files: values, units, what is absent, what is broken."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from profiler.collectors import COLLECTORS, find_sources, open_counters
from profiler.collectors.nic import NIC
from profiler.collectors.rdma import RDMA
from profiler.errors import NotHere, SourceBroken
from tests.profiler.rights import rights_of_nobody
from tests.profiler.ttar import read_ttar, unpack_ttar

if TYPE_CHECKING:
    from profiler.collectors import Source

SYS_ROOT = Path(__file__).parents[1] / "fixtures" / "sys"
SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "infiniband"
INVALID = Path("/sys/class/net/lo/speed")

Values = dict[tuple[str, str], int]


def read(source: Source) -> Values:
    """Return (metric, direction) to canonical value of each counter of a source."""
    counters, broken = open_counters(source, COLLECTORS[source.collector], host="h1")
    assert broken == []
    values: Values = {}
    for counter in counters:
        values[counter.spec.metric, counter.spec.direction] = counter.read() * counter.spec.scale
        counter.close()
    return values


def values(*, tx_bytes: int, rx_bytes: int, tx_packets: int, rx_packets: int) -> Values:
    return {
        ("bytes", "transmit"): tx_bytes,
        ("bytes", "receive"): rx_bytes,
        ("packets", "transmit"): tx_packets,
        ("packets", "receive"): rx_packets,
    }


def nic(name: str, root: Path = SYS_ROOT) -> Source:
    (source,) = find_sources(root, ifaces=[name])
    return source


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with one interface, to be damaged."""
    folder = tmp_path / "class" / "net" / "eth0" / "statistics"
    folder.mkdir(parents=True)
    for name, count in (("tx_bytes", 1), ("rx_bytes", 2), ("tx_packets", 3), ("rx_packets", 4)):
        (folder / name).write_text(f"{count}\n")
    return tmp_path


# Interfaces


def test_an_interface_gives_what_its_files_say() -> None:
    assert read(nic("eth0")) == values(
        tx_bytes=7_000_000_000_000, rx_bytes=9_000_000_000_000, tx_packets=5_000_000_000, rx_packets=6_000_000_000
    )


def test_a_bond_its_members_and_a_vlan_are_series_of_their_own() -> None:
    tx_bytes = {name: read(nic(name))["bytes", "transmit"] for name in ("bond0", "eth0", "eth1", "eth0.100")}
    assert tx_bytes == {
        "bond0": 8_000_000_000_001,
        "eth0": 7_000_000_000_000,
        "eth1": 1_000_000_000_001,
        "eth0.100": 6_999_999_999_000,
    }


def test_speed_and_state_are_read_where_the_kernel_knows_them() -> None:
    known = {source.name: (source.is_up, source.speed_bps) for source in NIC.find(SYS_ROOT)}
    assert known == {
        "bond0": (True, 200e9),
        "eth0": (True, 100e9),
        "eth0.100": (True, 100e9),
        "eth1": (True, 100e9),
        "eth2": (False, None),
        "eth3": (False, None),
        "lo": (True, None),
    }


def test_the_series_names_the_kernel_file_and_its_scale() -> None:
    counters, _ = open_counters(nic("eth0"), NIC, host="h1")
    series = counters[0].series
    assert (series.host, series.device, series.port, series.direction) == ("h1", "eth0", "", "transmit")
    assert (series.metric, series.unit, series.kind, series.layer) == ("bytes", "bytes", "counter", "netdev")
    assert (series.raw_name, series.raw_scale, series.width_bits, series.source) == ("tx_bytes", 1.0, 64, "nic")
    for counter in counters:
        counter.close()


# RDMA


def test_rdma_data_counters_count_words_of_four_bytes() -> None:
    (source,) = find_sources(SYS_ROOT, devices=["mlx5_0"])
    assert source.speed_bps == 100e9
    assert read(source) == values(
        tx_bytes=4 * 1_750_000_000_000,
        rx_bytes=4 * 2_250_000_000_000,
        tx_packets=5_000_000_000,
        rx_packets=6_000_000_000,
    )


def test_older_drivers_64_bit_counters_are_preferred_to_32_bit_ones_that_stick() -> None:
    first, second = find_sources(SYS_ROOT, devices=["mlx4_0"])
    assert read(first) == values(
        tx_bytes=106_036_453_180, rx_bytes=34_359_738_368, tx_packets=4_294_967_299, rx_packets=4_294_967_300
    )
    assert read(second) == {("bytes", "transmit"): 4 * (2**32 - 1), ("bytes", "receive"): 48}
    widths = []
    for source in (first, second):
        counters, _ = open_counters(source, RDMA, host="h1")
        widths.append({counter.series.width_bits for counter in counters})
        for counter in counters:
            counter.close()
    assert widths == [{64}, {None}]


def test_a_port_of_a_device_can_be_named() -> None:
    assert [source.name for source in find_sources(SYS_ROOT, devices=["mlx4_0:2", "mlx4_0"])] == [
        "mlx4_0:2",
        "mlx4_0:1",
    ]


def test_no_pma_means_that_the_device_does_not_count() -> None:
    (source,) = find_sources(SYS_ROOT, devices=["i40iw0"])
    with pytest.raises(NotHere, match="i40iw0:1 has no rdma counters"):
        open_counters(source, RDMA, host="h1")


@pytest.mark.parametrize(("name", "n_counters"), [("class_infiniband.ttar", 9), ("procfs_class_infiniband.ttar", 22)])
def test_trees_of_real_hosts_give_what_their_files_say(tmp_path: Path, name: str, n_counters: int) -> None:
    archive = SHARED / name
    if not archive.exists():
        pytest.skip(f"{archive} is not here")
    unpack_ttar(archive, tmp_path)
    (root,) = (folder for folder in (tmp_path / "sys", tmp_path / "fixtures" / "sys") if folder.is_dir())
    texts = read_ttar(archive)
    n_read = 0
    for source in RDMA.find(root):
        try:
            counters, _ = open_counters(source, RDMA, host="h1")
        except NotHere:
            assert source.device == "i40iw0"
            continue
        prefix = str(source.folder.relative_to(tmp_path))
        for counter in counters:
            path = f"{prefix}/{counter.spec.file}"
            older = f"{prefix}/counters_ext/{counter.path.name}_64"
            assert older not in texts, "64 bits are preferred to 32"
            assert counter.read() * counter.spec.scale == int(texts[path]) * (4 if "_data" in path else 1), path
            counter.close()
            n_read += 1
    assert n_read == n_counters


def test_the_published_figures_of_a_real_adapter_are_met(tmp_path: Path) -> None:
    """prometheus/procfs states 8884894436 and 106036453180 bytes for port 1 of its mlx4_0."""
    archive = SHARED / "procfs_class_infiniband.ttar"
    if not archive.exists():
        pytest.skip(f"{archive} is not here")
    unpack_ttar(archive, tmp_path)
    (source,) = find_sources(tmp_path / "fixtures" / "sys", devices=["mlx4_0:1"])
    assert read(source)["bytes", "receive"] == 8_884_894_436
    assert read(source)["bytes", "transmit"] == 106_036_453_180
    assert source.speed_bps == 40e9


# Choosing


def test_by_default_all_that_is_up_and_counts_is_recorded_but_for_the_loopback() -> None:
    assert [source.name for source in find_sources(SYS_ROOT)] == [
        "bond0", "eth0", "eth0.100", "eth1", "mlx4_0:1", "mlx5_0:1",
    ]  # fmt: skip


def test_a_named_interface_is_taken_whatever_its_state() -> None:
    assert [source.name for source in find_sources(SYS_ROOT, ifaces=["eth2", "lo", "eth2"])] == ["eth2", "lo"]


def test_what_is_not_on_this_machine_is_told_with_what_is(tmp_path: Path) -> None:
    with pytest.raises(NotHere, match=r"no interface eth9 on this machine; it has: bond0, eth0"):
        find_sources(SYS_ROOT, ifaces=["eth9"])
    with pytest.raises(NotHere, match=r"no device mlx5_9 .*mlx5_0:1"):
        find_sources(SYS_ROOT, devices=["mlx5_9"])
    with pytest.raises(NotHere, match=r"no device mlx5_0 on this machine; it has: none"):
        find_sources(tmp_path, devices=["mlx5_0"])
    with pytest.raises(NotHere, match="no interface and no RDMA port that is up"):
        find_sources(tmp_path)


# What is broken


def test_a_missing_file_is_absent_and_the_others_are_read(tree: Path) -> None:
    (tree / "class/net/eth0/statistics/tx_packets").unlink()
    assert set(read(nic("eth0", tree))) == {("bytes", "transmit"), ("bytes", "receive"), ("packets", "receive")}


def test_a_file_that_the_kernel_refuses_to_read_is_broken_and_the_others_are_read(tree: Path) -> None:
    if _refusal(INVALID) != errno.EINVAL:
        pytest.skip(f"{INVALID} can be read here, so there is nothing that refuses")
    broken_path = tree / "class/net/eth0/statistics/rx_bytes"
    broken_path.unlink()
    broken_path.symlink_to(INVALID)
    counters, broken = open_counters(nic("eth0", tree), NIC, host="h1")
    assert [counter.spec.file for counter in counters] == [
        "statistics/tx_bytes", "statistics/tx_packets", "statistics/rx_packets",
    ]  # fmt: skip
    assert [str(error) for error in broken] == [f"{broken_path}: Invalid argument; is eth0 still there?"]
    for counter in counters:
        counter.close()


@pytest.mark.parametrize("text", ["", "many\n", "0x10\n", "1.5\n"])
def test_a_file_without_a_number_is_broken(tree: Path, text: str) -> None:
    (tree / "class/net/eth0/statistics/rx_bytes").write_text(text)
    _, (error,) = open_counters(nic("eth0", tree), NIC, host="h1")
    assert "expected a whole number, found" in str(error)


def test_a_broken_64_bit_counter_falls_back_to_the_other_one(tmp_path: Path) -> None:
    port = tmp_path / "class/infiniband/mlx4_0/ports/1"
    for folder, name, text in (
        ("counters", "port_xmit_data", "5"),
        ("counters_ext", "port_xmit_data_64", "nonsense"),
        ("counters", "port_rcv_data", "6"),
    ):
        (port / folder).mkdir(parents=True, exist_ok=True)
        (port / folder / name).write_text(text)
    assert read(find_sources(tmp_path, devices=["mlx4_0"])[0]) == {("bytes", "transmit"): 20, ("bytes", "receive"): 24}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("flags", b"garbage\n", "flags: expected a hexadecimal number, found 'garbage'"),
        ("flags", b"\xff\xfe", r"flags: expected text, found b'\\xff\\xfe'"),
        ("speed", b"\xff\xfe", r"speed: expected text, found b'\\xff\\xfe'"),
    ],
)
def test_a_file_of_an_interface_that_the_kernel_cannot_have_written_is_broken(
    tree: Path, name: str, content: bytes, message: str
) -> None:
    (tree / "class/net/eth0" / name).write_bytes(content)
    with pytest.raises(SourceBroken, match=message):
        find_sources(tree)


def test_a_tree_that_may_not_be_read_is_broken_rather_than_absent(tree: Path) -> None:
    folder = tree / "class" / "net"
    folder.chmod(0)
    with rights_of_nobody(), pytest.raises(SourceBroken, match="Permission denied; run as a user who may read it"):
        find_sources(tree)
    folder.chmod(0o755)


def test_an_open_counter_is_read_anew_each_time(tree: Path) -> None:
    counters, _ = open_counters(nic("eth0", tree), NIC, host="h1")
    before = counters[0].read()
    with (tree / "class/net/eth0/statistics/tx_bytes").open("r+") as file:
        file.write("123456\n")
    assert (before, counters[0].read()) == (1, 123456)
    for counter in counters:
        counter.close()


def test_every_collector_describes_each_counter_once_and_by_its_own_direction() -> None:
    for name, collector in COLLECTORS.items():
        assert collector.name == name
        files = [spec.file for spec in collector.counters]
        assert len(files) == len(set(files))
        for spec in collector.counters:
            assert f"{spec.direction[:7]}" in spec.help.replace("received", "receive")
            assert (spec.scale == 4) == ("data" in spec.file)
            if spec.unit != "events":
                words = {"transmit": ("tx_", "xmit"), "receive": ("rx_", "rcv")}[spec.direction]
                assert any(word in spec.file for word in words)


def _refusal(path: Path) -> int | None:
    try:
        path.read_text()
    except OSError as error:
        return error.errno
    return None
