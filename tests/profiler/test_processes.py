"""Which processes are a job, whose sockets are theirs, and what they are called."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.cli.live_sources import LiveSources
from profiler.collectors.ownership import LOOK_SOON_S, Lost, Ownership, Socket
from profiler.collectors.processes import ProcessTree, cgroup_processes, checked_rights, process_tree, socket_inodes
from profiler.collectors.sockets import SocketsProbe
from profiler.errors import NotHere
from profiler.record import opened
from tests.profiler.rights import rights_of_nobody
from tests.profiler.talkers import Talker, probe_of, talking

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def talker() -> Iterator[Talker]:
    with talking() as found:
        yield found


# Processes


def save_process(
    proc: Path, pid: int, *, parent: int, name: str = "python", started: int = 0, state: str = "S", n_threads: int = 1
) -> None:
    (proc / str(pid)).mkdir(exist_ok=True)
    between = " ".join(["0"] * 15)
    (proc / str(pid) / "stat").write_text(f"{pid} ({name}) {state} {parent} {between} {n_threads} 0 {started} 0 0")


def test_a_tree_of_processes_has_its_children(talker: Talker) -> None:
    assert talker.process.pid in process_tree(os.getpid())
    assert process_tree(talker.process.pid) == {talker.process.pid}
    assert process_tree(999_999_999) == set()
    assert len(socket_inodes({talker.process.pid})) >= 3


def test_a_child_whose_parent_has_ended_stays_in_the_tree_and_its_number_is_no_one_elses(tmp_path: Path) -> None:
    for pid, parent in ((1, 0), (2, 1), (3, 2)):
        save_process(tmp_path, pid, parent=parent, started=pid)
    tree = ProcessTree(2, proc=tmp_path)
    assert tree.processes() == {2, 3}

    (tmp_path / "2" / "stat").unlink()
    save_process(tmp_path, 3, parent=1, started=3)
    save_process(tmp_path, 4, parent=3, started=4)
    assert tree.processes() == {3, 4}
    save_process(tmp_path, 3, parent=1, started=99)
    assert tree.processes() == {4}, "another process has the number 3 now"


def test_names_with_brackets_and_spaces_do_not_hide_a_parent(tmp_path: Path) -> None:
    for pid, name, parent in ((1, "init", 0), (2, "a) b) c", 1), (3, "x y", 2)):
        save_process(tmp_path, pid, parent=parent, name=name)

    assert process_tree(2, proc=tmp_path) == {2, 3}


def test_members_of_a_control_group_are_those_of_its_folders(tmp_path: Path) -> None:
    (tmp_path / "job" / "child").mkdir(parents=True)
    (tmp_path / "job" / "cgroup.procs").write_text("1\n2\n")
    (tmp_path / "job" / "child" / "cgroup.procs").write_text("3\n")

    assert cgroup_processes(tmp_path / "job") == {1, 2, 3}
    with pytest.raises(NotHere, match="no control group"):
        SocketsProbe.of_cgroup(tmp_path, host="h1", interval_s=1.0)


def save_group(folder: Path, *members: int) -> Path:
    folder.mkdir(parents=True)
    (folder / "cgroup.procs").write_text("".join(f"{pid}\n" for pid in members))
    return folder


def device_of(probe: SocketsProbe) -> str:
    (device,) = {counter.series.device for counter in probe.counters()}
    probe.close()
    return device


def test_groups_of_one_name_are_two_series(talker: Talker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    probe_of(talker.process.pid).close()
    steps = [save_group(tmp_path / job / "step_0", talker.process.pid) for job in ("job_1", "job_2")]

    one, other = (device_of(SocketsProbe.of_cgroup(step, host="h1", interval_s=10.0)) for step in steps)

    assert one.endswith(f"{tmp_path.name}:job_1:step_0")
    assert other.endswith(f"{tmp_path.name}:job_2:step_0")
    assert "/" not in one, "a path that names a series has its parts between slashes"
    with pytest.raises(NotHere, match="empty: no process is in this control group"):
        SocketsProbe.of_cgroup(save_group(tmp_path / "empty"), host="h1", interval_s=10.0)
    monkeypatch.chdir(steps[0])
    for same in (Path(), Path("../step_0"), Path("..") / ".." / "job_1" / "step_0"):
        assert device_of(SocketsProbe.of_cgroup(same, host="h1", interval_s=10.0)) == one


def test_a_process_that_has_ended_and_that_no_parent_has_waited_for_is_over() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)

    found = process_tree(ended.pid)

    ended.wait()
    assert found == set()


def test_a_process_whose_first_thread_alone_has_ended_goes_on(tmp_path: Path) -> None:
    save_process(tmp_path, 7, parent=1, state="Z", n_threads=2)
    save_process(tmp_path, 8, parent=1, state="Z")

    assert process_tree(7, proc=tmp_path) == {7}
    assert process_tree(8, proc=tmp_path) == set()


def test_another_users_processes_are_refused_rather_than_counted_as_silent(tmp_path: Path) -> None:
    (tmp_path / "7" / "fd").mkdir(parents=True)
    (tmp_path / "7" / "fd").chmod(0)
    with rights_of_nobody(), pytest.raises(NotHere, match="process 7 is another user's"):
        checked_rights({7, 8}, proc=tmp_path)
    (tmp_path / "7" / "fd").chmod(0o755)


# What is named twice


def find(**asked: Any) -> list[Any]:
    return LiveSources(**asked).find(Path("/sys"), host="h1", interval_s=10.0)[0]


def test_what_is_named_twice_is_read_once(talker: Talker, tmp_path: Path) -> None:
    pid = talker.process.pid
    probe_of(pid).close()
    group = save_group(tmp_path / "job", pid)

    found = find(pids=[pid, pid], cgroups=[group, group / ".." / "job"])

    with opened(found, host="h1") as opening:
        assert [counter.source.name for counter in opening.counters][::2] == [f"pid{pid}", device_of(found[1])]


def test_probes_of_the_same_processes_are_never_to_be_added(talker: Talker) -> None:
    child = talker.process.pid
    probe_of(child).close()

    with opened(find(pids=[os.getpid(), child]), host="h1") as opening:
        doubles = [remark for remark in opening.remarks if "never add them up" in remark]

    assert doubles == [
        f"pid{os.getpid()}: its traffic is counted by pid{child} too; never add them up",
        f"pid{child}: its traffic is counted by pid{os.getpid()} too; never add them up",
    ]


# Whose sockets are whose


class Host:
    """A host with so many processes that to look them all up takes a while."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.inodes: dict[int, set[int]] = {7: set()}
        self.processes = {7}
        monkeypatch.setattr("profiler.collectors.ownership.socket_inodes", self._inodes_of)
        self.ownership = Ownership(self._pids, [])
        self.ownership.update([])

    def _pids(self) -> set[int]:
        time.sleep(0.05)  # for which they are looked up once a second
        return set(self.processes)

    def _inodes_of(self, pids: set[int]) -> set[int]:
        return {inode for pid in pids for inode in self.inodes[pid]}

    def after(self, seconds: float, *sockets: Socket) -> set[int]:
        time.sleep(seconds)
        self.ownership.update(sockets)
        return set(self.ownership.counted)


def test_a_short_connection_of_a_process_that_is_known_counts_however_many_processes_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = Host(monkeypatch)
    host.inodes[7].add(100)

    assert host.after(1.5 * LOOK_SOON_S, Socket(1, 100, (500, 0)), Socket(2, 200, (0, 500))) == {1}
    assert host.ownership.counted == {1: (0, 0)}
    assert host.after(0.0) == set()
    assert host.ownership.lost == Lost(1, 0, 500), "the other end may be that of a process just begun"


def test_what_ends_before_it_is_known_whose_it_was_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host(monkeypatch)
    host.processes.add(8)
    host.inodes[8] = {300}

    assert host.after(1.5 * LOOK_SOON_S, Socket(3, 300, (70, 30)), Socket(4, 400, (0, 0))) == set()
    assert host.after(0.0, Socket(3, 0, (80, 30))) == set()
    host.after(0.0)
    assert host.ownership.lost == Lost(1, 80, 30), "one that moved nothing is no loss"


def test_how_long_it_takes_until_a_new_socket_is_known_is_as_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    known_s, new_s = Host(monkeypatch).ownership.slowest_s
    assert known_s == LOOK_SOON_S
    assert new_s >= 1.0


def test_processes_that_enter_another_network_later_are_told_of(
    talker: Talker, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe = probe_of(talker.process.pid)
    assert probe.lost == []
    monkeypatch.setattr("profiler.collectors.ownership.LOOK_EVERY_S", 0.0)
    monkeypatch.setattr("profiler.collectors.ownership.LOOK_DUTY", 1e9)
    monkeypatch.setattr("profiler.collectors.sockets.network_namespace", lambda _pid: "net:[7]")
    probe.read()
    (told,) = probe.lost
    assert f"they were in other network namespaces meanwhile: processes {talker.process.pid}" in told
    probe.close()
