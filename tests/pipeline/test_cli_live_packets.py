"""``offbeat record --capture``, and ``tcpdump | offbeat ingest -``: what is said, and how they end."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from ctypes.util import find_library
from typing import IO, TYPE_CHECKING

import pytest

from pipeline.cli.main import main
from profiler.store import Lake
from tests.profiler.captures_verbs import SEND_ONLY, roce2, verb
from tests.profiler.namespaces import entered, namespace_of, pair_of_interfaces

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OFFBEAT = f"{sys.executable} -c 'import sys; from pipeline.cli.main import main; sys.exit(main(sys.argv[1:]))'"
TCPDUMP = "tcpdump --immediate-mode -U -s 512 -i w-b -w - udp port 4791"
FRAME = roce2(verb(SEND_ONLY, qp=1, psn=1, n_payload=100))

needs_libpcap = pytest.mark.skipif(find_library("pcap") is None, reason="packets are captured with libpcap")
needs_tcpdump = pytest.mark.skipif(shutil.which("tcpdump") is None, reason="tcpdump is not here")


@pytest.fixture
def cable() -> Iterator[None]:
    """Be where there are two interfaces, w-a and w-b, joined to each other; programs that are started are there too."""
    with namespace_of("cable") as name, entered(name):
        pair_of_interfaces(name, "w")
        yield


def send(n_frames: int) -> None:
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
        sender.bind(("w-a", 0))
        for _ in range(n_frames):
            sender.send(FRAME)


def started(command: str, *, ready: str, folder: Path) -> tuple[subprocess.Popen[str], str]:
    """Run a command in a shell of its own, and return it once it has said something, with all that it has said."""
    folder.joinpath("tmp").mkdir()
    program = subprocess.Popen(
        ["bash", "-o", "pipefail", "-c", f"trap : INT; {command}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(folder / "tmp")},
    )
    assert program.stderr is not None
    return program, read_until(program.stderr, ready)


def interrupted_after(command: str, *, n_frames: int, ready: str, folder: Path) -> tuple[int, str, str]:
    """Run a command, send packets once it is ready, and press Ctrl-C, which goes to all of it, once they came."""
    program, heard = started(command, ready=ready, folder=folder)
    send(n_frames)
    while not is_listening(folder, command) and program.poll() is None:
        time.sleep(0.02)
    time.sleep(0.2)
    os.killpg(program.pid, signal.SIGINT)
    out, err = program.communicate(timeout=120)
    return program.returncode, out, heard + err


def is_listening(folder: Path, command: str) -> bool:
    """Return whether signals are noted by now: what is read of a pipe to its end is copied first."""
    if "--follow" in command or "--capture" in command:
        return (folder / "lake").exists()
    return any(copy.stat().st_size for copy in (folder / "tmp").glob("offbeat-*"))


def read_until(stream: IO[str], words: str) -> str:
    heard = ""
    for line in stream:
        heard += line
        if words in line:
            return heard
    pytest.fail(f"{words!r} was never said: {heard}")


@needs_libpcap
@pytest.mark.usefixtures("cable")
def test_ctrl_c_ends_a_capture_with_all_that_came(tmp_path: Path) -> None:
    command = f"{OFFBEAT} record --lake {tmp_path}/lake --capture w-b --filter 'udp port 4791' --json"
    code, out, err = interrupted_after(command, n_frames=50, ready="capturing on w-b", folder=tmp_path)

    assert code == 0, err
    answer = json.loads(out)
    assert (answer["kind"], answer["packets"], answer["wire_bytes"]) == ("packets", 50, 50 * len(FRAME))
    assert "w-b: RDMA of this host passes by its network stack" in err
    assert Lake.open(tmp_path / "lake").read("flows")["packets"].to_pylist() == [50]


@needs_tcpdump
@pytest.mark.usefixtures("cable")
@pytest.mark.parametrize("option", ["", "--follow"])
def test_ctrl_c_ends_tcpdump_and_what_it_gave_is_in_the_lake(tmp_path: Path, option: str) -> None:
    command = f"{TCPDUMP} | {OFFBEAT} ingest - --lake {tmp_path}/lake --host h1 --json {option}"
    code, out, err = interrupted_after(command, n_frames=50, ready="listening on w-b", folder=tmp_path)

    assert code == 0, err
    (report,) = json.loads(out)["inputs"]
    assert (report["status"], report["packets"], report["wire_bytes"]) == ("read", 50, 50 * len(FRAME))
    assert "50 packets captured" in err
    assert "0 packets dropped by kernel" in err


@needs_tcpdump
@pytest.mark.usefixtures("cable")
def test_tail_that_tcpdump_could_not_write_is_told(tmp_path: Path) -> None:
    command = f"{TCPDUMP} | head -c 1000 | {OFFBEAT} ingest - --lake {tmp_path}/lake --host h1 --json"
    program, _ = started(command, ready="listening on w-b", folder=tmp_path)
    while program.poll() is None:  # tcpdump ends when it writes to a pipe that nobody reads
        send(10)
        time.sleep(0.05)
    out, err = program.communicate(timeout=120)

    assert program.returncode == 1, err
    (report,) = json.loads(out)["inputs"]
    n_whole = (1000 - 24) // (16 + len(FRAME))
    assert (report["status"], report["packets"]) == ("partial", n_whole)
    assert f"byte {24 + n_whole * (16 + len(FRAME))}: the file ends inside a packet" in report["message"]


@needs_libpcap
@pytest.mark.parametrize(
    ("options", "code", "complaint"),
    [
        (("--filter", "udp port 4791"), 2, "name an interface with --capture"),
        (("--bin", "1ms"), 2, "name an interface with --capture"),
        (("--capture", "lo", "--by", "host"), 2, "Invalid value for '--by': 'host' is not one of 'pair', 'flow'."),
        (("--capture", "lo", "--iface", "lo"), 2, "--capture records packets alone"),
        (("--capture", "lo", "--bin", "10s"), 2, "bin of 10.0 s"),
        (("--capture", "eth77"), 1, "eth77: no such interface; there are"),
        (("--capture", "lo", "--filter", "upd port 4791"), 2, "syntax error"),
    ],
)
def test_what_cannot_be_captured_is_told_before_anything_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], code: int, complaint: str
) -> None:
    if os.geteuid() != 0:
        pytest.skip("packets are captured by root")
    assert main(["record", "--lake", str(tmp_path / "lake"), *options]) == code
    assert complaint in capsys.readouterr().err
    assert not (tmp_path / "lake").exists()
