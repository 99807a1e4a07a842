"""Networks come and go without a trace, also when their owner is killed; nothing else is ever touched."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.rig.errors import RigError
from tests.rig.network import run_command
from tests.rig.observers import CHECKOUT, exec_prefix
from tests.rig.registry import build, entries, is_orphan, remove, stray_namespaces, sweep
from tests.rig.spec import NetworkSpec

if TYPE_CHECKING:
    from tests.rig.registry import Entry

pytestmark = [pytest.mark.rig, pytest.mark.usefixtures("network_here")]

OWNER = """
import time
from tests.rig.rig import Rig
from tests.rig.spec import TWO_VGG19, read_spec
with Rig(read_spec(TWO_VGG19)) as rig:
    rig.start()
    print(rig.network.prefix, flush=True)
    time.sleep(60)
"""

KNOCK = """
import socket, sys
knocker = socket.socket()
knocker.settimeout(3)
sys.exit(knocker.connect_ex((sys.argv[1], 9)))
"""


def namespaces() -> set[str]:
    return {line.split()[0] for line in run_command(["ip", "netns", "list"]).splitlines()}


def own_links() -> set[str]:
    return {link["ifname"] for link in json.loads(run_command(["ip", "-json", "link", "show"]))}


def processes_in(entry: Entry) -> list[str]:
    standing = namespaces()
    inside = [entry.network.namespace(node) for node in entry.network.nodes]
    return [pid for name in inside if name in standing for pid in run_command(["ip", "netns", "pids", name]).split()]


@pytest.fixture
def standing() -> Iterator[Entry]:
    entry = build(("A",), NetworkSpec(), owner_pid=os.getpid())
    yield entry
    remove(entry)


@pytest.fixture
def foreign() -> Iterator[str]:
    name = "obffff-foreign"
    run_command(["ip", "netns", "add", name])
    yield name
    run_command(["ip", "netns", "delete", name])


def test_a_network_stands_and_falls_without_a_trace() -> None:
    links = own_links()
    entry = build(("A", "B"), NetworkSpec(), owner_pid=None)
    made = {entry.network.namespace(node) for node in entry.network.nodes}
    assert made <= namespaces()
    assert own_links() == links
    knock = [*exec_prefix(entry.network, "b1"), sys.executable, "-c", KNOCK, entry.network.address("B", rank=1)]
    answer = subprocess.run(knock, check=False).returncode
    remove(entry)
    assert answer == errno.ECONNREFUSED
    assert not made & namespaces()
    assert not entry.path.exists()
    assert own_links() == links


def test_a_rig_at_work_is_no_orphan_and_survives_a_sweep(standing: Entry) -> None:
    assert not is_orphan(standing)
    assert standing.network.prefix not in sweep(is_orphan)
    assert standing.network.namespace("sw1") in namespaces()


def test_a_namespace_that_no_rig_made_is_never_touched(foreign: str) -> None:
    assert foreign not in stray_namespaces()
    sweep(is_orphan)
    assert foreign in namespaces()


def test_namespaces_of_a_rig_whose_state_file_is_lost_are_found_by_their_mark(standing: Entry) -> None:
    standing.path.unlink()
    made = {standing.network.namespace(node) for node in standing.network.nodes}
    assert made <= set(stray_namespaces())
    assert made <= set(sweep(is_orphan))
    assert not made & namespaces()


def test_a_build_that_fails_removes_what_it_made() -> None:
    before = namespaces(), entries()
    with pytest.raises(RigError, match=r"tc -n .* exit 1: "):
        build(("A",), NetworkSpec(trunk_bps=1e300), owner_pid=os.getpid())
    assert (namespaces(), entries()) == before


@pytest.mark.usefixtures("jobs_here")
def test_an_owner_that_is_killed_leaves_no_process_and_nothing_that_a_sweep_does_not_remove() -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True, cwd=CHECKOUT)
    assert owner.stdout is not None
    prefix = owner.stdout.readline().strip()
    entry = next(entry for entry in entries() if entry.network.prefix == prefix)
    assert len(processes_in(entry)) == 4
    owner.send_signal(signal.SIGKILL)
    owner.communicate()
    deadline_s = time.monotonic() + 5
    while processes_in(entry) and time.monotonic() < deadline_s:
        time.sleep(0.05)
    assert processes_in(entry) == []
    assert is_orphan(entry)
    assert prefix in sweep(is_orphan)
    assert not [name for name in namespaces() if name.startswith(prefix)]
    assert prefix not in {entry.network.prefix for entry in entries()}
    assert not entry.folder.exists()
