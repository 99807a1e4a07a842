"""What a host can measure, and what it is blind to: fake trees of the kernel, whose truth is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from profiler.collectors import find_sources
from profiler.doctor import Checkup, PortCheck, Refresh, examine, measure_refresh
from profiler.doctor.drivers import driver_remarks
from profiler.record import Clock

START_NS = 1_700_000_000 * 10**9


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")


def nic(root: Path, name: str, *, state: str = "up") -> Path:
    folder = root / "class" / "net" / name
    for counter in ("tx_bytes", "rx_bytes", "tx_packets", "rx_packets"):
        write(folder / "statistics" / counter, "1000")
    write(folder / "operstate", state)
    write(folder / "speed", "100000")
    (folder / "device").mkdir(exist_ok=True)
    return folder


def rdma(root: Path, name: str) -> Path:
    port = root / "class" / "infiniband" / name / "ports" / "1"
    write(port / "state", "4: ACTIVE")
    write(port / "rate", "200 Gb/sec (4X HDR)")
    for counter in ("port_xmit_data", "port_rcv_data", "port_xmit_packets", "port_rcv_packets"):
        write(port / "counters" / counter, "1000")
    return port


class Ticker:
    """A clock that a sleep moves, and a counter file that a device copies at times of its own."""

    def __init__(self, path: Path | None = None, *, refresh_s: float = 0.1) -> None:
        self.now_ns = START_NS
        self._path = path
        self._refresh_ns = round(refresh_s * 1e9)

    def sleep(self, seconds: float) -> None:
        self.now_ns += max(1000, round(seconds * 1e9))
        if self._path is not None:
            n_copies = (self.now_ns - START_NS) // self._refresh_ns
            self._path.write_text(f"{1000 + n_copies * 1_000_000}\n")

    def clock(self) -> Clock:
        return Clock(wall_ns=lambda: self.now_ns, monotonic_ns=lambda: self.now_ns, sleep_s=self.sleep)


def check(root: Path, ticker: Ticker | None = None) -> dict[str, PortCheck]:
    return {port.name: port for port in checkup(root, ticker).ports}


def checkup(root: Path, ticker: Ticker | None = None) -> Checkup:
    return examine(root, host="h1", clock=(ticker or Ticker()).clock())


def test_ports_have_their_counters_speed_and_state(tmp_path: Path) -> None:
    nic(tmp_path, "eth0")
    nic(tmp_path, "eth1", state="down")
    rdma(tmp_path, "mlx5_0")

    found = check(tmp_path)

    assert found["eth0"].is_up
    assert not found["eth1"].is_up
    assert found["mlx5_0:1"].counters == ("port_xmit_data", "port_rcv_data", "port_xmit_packets", "port_rcv_packets")
    assert (found["eth0"].speed_bps, found["mlx5_0:1"].speed_bps) == (100e9, 200e9)


def test_the_refresh_interval_of_a_device_is_measured(tmp_path: Path) -> None:
    folder = nic(tmp_path, "eth0")

    found = check(tmp_path, Ticker(folder / "statistics" / "tx_bytes", refresh_s=0.1))

    assert found["eth0"].refresh_s == pytest.approx(0.1, rel=0.02)
    assert found["eth0"].moved_bytes == pytest.approx(20e6, rel=0.1)


def test_without_traffic_no_refresh_interval_is_made_up(tmp_path: Path) -> None:
    nic(tmp_path, "eth0")

    assert check(tmp_path)["eth0"].refresh_s is None
    assert check(tmp_path)["eth0"].to_text_row()["refreshed"] == "no traffic seen"


def test_an_interface_of_an_rdma_device_is_called_blind(tmp_path: Path) -> None:
    folder = nic(tmp_path, "eth0")
    (folder / "device" / "infiniband" / "mlx5_0").mkdir(parents=True)

    (remark,) = check(tmp_path)["eth0"].remarks

    assert "RDMA does not pass the kernel" in remark
    assert "--device mlx5_0" in remark


def test_a_bond_and_its_members_are_never_to_be_added(tmp_path: Path) -> None:
    bond, member = nic(tmp_path, "bond0"), nic(tmp_path, "eth0")
    (bond / "bonding").mkdir()
    (bond / "lower_eth0").symlink_to("../eth0")
    (member / "master").symlink_to("../bond0")

    found = check(tmp_path)

    assert found["bond0"].remarks[0] == "eth0: counted there too; never add them up"
    assert found["eth0"].remarks[0] == "bond0: counted there too; never add them up"


def test_a_port_that_goes_away_is_told_of_it_alone_and_counters_are_listed_once(tmp_path: Path) -> None:
    nic(tmp_path, "eth1")
    gone = nic(tmp_path, "eth10") / "statistics" / "tx_bytes"

    class Breaker(Ticker):
        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            if self.now_ns - START_NS > 10**9:
                gone.write_text("")

    found = check(tmp_path, Breaker())

    assert found["eth1"].counters == ("tx_bytes", "rx_bytes", "tx_packets", "rx_packets")
    assert found["eth1"].remarks == ()
    (remark,) = found["eth10"].remarks
    assert f"{gone}: expected a whole number" in remark


def test_a_virtual_function_is_said_to_be_one(tmp_path: Path) -> None:
    port = rdma(tmp_path, "mlx5_2")
    (port.parent.parent / "device" / "physfn").mkdir(parents=True)

    assert "virtual function" in check(tmp_path)["mlx5_2:1"].remarks[0]


def test_a_host_without_rdma_is_said_to_have_none(tmp_path: Path) -> None:
    nic(tmp_path, "eth0")

    assert any("no RDMA device" in remark for remark in checkup(tmp_path).remarks)


def test_what_a_driver_counts_past_the_kernel_is_told_with_its_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    class Driver:
        def __init__(self, interface: str) -> None:
            if interface == "eth1":
                raise OSError(95, "Operation not supported")

        def get_statistics(self) -> list[tuple[str, int]]:
            return [("rx_bytes", 1), ("rx_bytes_phy", 2), ("tx_vport_rdma_unicast_bytes", 3)]

        def close(self) -> None:
            pass

    monkeypatch.setattr("pyroute2.ethtool.ioctl.IoctlEthtool", Driver)
    ports = [PortCheck(name=name, collector="nic", is_up=True) for name in ("eth0", "eth1")]

    (remark,) = driver_remarks(ports, Path("/sys"))

    assert remark.startswith(
        "statistics of drivers (--ethtool eth0): rx_bytes_phy, tx_vport_rdma_unicast_bytes; a read"
    )
    assert list(driver_remarks(ports, Path("/host/sys"))) == []


# Before a recording


def measured(root: Path, ticker: Ticker, *, interval_s: float = 0.001, duration_s: float | None = None) -> Refresh:
    return measure_refresh(find_sources(root), interval_s=interval_s, duration_s=duration_s, clock=ticker.clock())


def test_how_often_a_device_copies_its_counters_is_known_before_it_is_recorded(tmp_path: Path) -> None:
    ticker = Ticker(nic(tmp_path, "eth0") / "statistics" / "tx_bytes", refresh_s=0.1)

    found = measured(tmp_path, ticker)

    assert found.refresh_s == {"eth0": pytest.approx(0.1, rel=0.02)}
    (remark,) = found.remarks
    assert "eth0: its device copies its counters each 100 ms only" in remark
    assert "--interval 25ms serves as well" in remark


def test_an_interval_that_is_long_enough_needs_no_word(tmp_path: Path) -> None:
    ticker = Ticker(nic(tmp_path, "eth0") / "statistics" / "tx_bytes", refresh_s=0.1)

    found = measured(tmp_path, ticker, interval_s=0.03)

    assert (len(found.refresh_s), found.remarks) == (1, ())


@pytest.mark.parametrize(("duration_s", "watched_s"), [(None, 2.0), (60.0, 2.0), (5.0, 0.5), (1.0, 0.0)])
def test_it_takes_a_tenth_of_the_time_and_at_most_two_seconds(
    tmp_path: Path, duration_s: float | None, watched_s: float
) -> None:
    nic(tmp_path, "eth0")
    ticker = Ticker()

    assert measured(tmp_path, ticker, duration_s=duration_s) == Refresh()

    assert (ticker.now_ns - START_NS) / 1e9 == pytest.approx(watched_s, abs=0.002)
