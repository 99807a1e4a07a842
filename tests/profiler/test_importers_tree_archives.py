"""Archives of saved trees of ``/sys`` that are damaged, hostile or padded: named by member, the rest still read."""

from __future__ import annotations

import gzip
import io
import tarfile
from typing import TYPE_CHECKING

import numpy as np
import pytest

from profiler.errors import BadInput
from profiler.importers import ingest, read_counters
from tests.profiler.dumps import TABLE, statuses
from tests.profiler.tables import table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

T0_S = 1_700_000_000
PORT = "sys/class/infiniband/mlx5_0/ports/1"
SOUND = {f"{PORT}/state": b"4: ACTIVE\n", f"{PORT}/counters/port_xmit_data": b"5\n"}
"""A port that is up and has sent five words of 4 bytes."""


def tar(folder: Path, members: dict[str, bytes] = SOUND, *links: tarfile.TarInfo) -> Path:
    path = folder / f"n1-{T0_S}.tar"
    with tarfile.open(path, "w") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        for link in links:
            archive.addfile(link)
    return path


def ttar(folder: Path, members: dict[str, bytes] = SOUND, more: str = "") -> Path:
    entries = [
        f"# ttar - -\nPath: {name}\nLines: {len(content.splitlines())}\n{content.decode()}Mode: 644\n"
        for name, content in members.items()
    ]
    return table(folder, "".join(entries) + more, f"n1-{T0_S}.ttar")


def bytes_and_problems(path: Path) -> tuple[dict[str, int], list[str]]:
    """Return the bytes sent by device, and what was wrong; a port counts no bytes received, which is said each time."""
    counters, problems = read_counters(path)
    sent = {s.device: int(v[0]) for s, _, v, _ in counters if (s.metric, s.direction) == ("bytes", "transmit")}
    return sent, [problem for problem in problems if "does not count bytes received" not in problem]


def hard_link(name: str, to: str) -> tarfile.TarInfo:
    link = tarfile.TarInfo(name)
    link.type, link.linkname = tarfile.LNKTYPE, to
    return link


CLASHING = {f"{PORT}/gids": b"1\n", f"{PORT}/gids/0": b"2\n"}
LONG = {"sys/class/net/" + "x" * 300: b"1\n"}


@pytest.mark.parametrize("archive", [tar, ttar])
@pytest.mark.parametrize(
    ("members", "member"), [(CLASHING, f"{PORT}/gids/0"), (LONG, next(iter(LONG)))], ids=["clash", "long"]
)
def test_a_member_that_cannot_be_unpacked_is_named_and_the_rest_read(
    tmp_path: Path, archive: Callable[..., Path], members: dict[str, bytes], member: str
) -> None:
    path = archive(tmp_path, members | SOUND)

    sent, (problem,) = bytes_and_problems(path)

    assert sent == {"mlx5_0": 20}
    assert problem.startswith(f"{path}!{member}: ")
    assert "offbeat-" not in problem


def test_a_hard_link_to_nothing_is_named_and_the_rest_read(tmp_path: Path) -> None:
    path = tar(tmp_path, SOUND, hard_link(f"{PORT}/counters/port_rcv_data", "sys/gone"))

    sent, (problem,) = bytes_and_problems(path)

    assert sent == {"mlx5_0": 20}
    assert problem.startswith(f"{path}!{PORT}/counters/port_rcv_data: ")


def test_inputs_after_an_archive_that_cannot_be_unpacked_are_read(tmp_path: Path) -> None:
    report = ingest(tar(tmp_path, CLASHING), table(tmp_path, TABLE), lake=tmp_path / "lake")

    assert statuses(report)[-1] == "read"


def test_a_file_larger_than_any_of_sys_is_named_and_not_unpacked(tmp_path: Path) -> None:
    path = tar(tmp_path, {"sys/class/net/core": bytes(2 << 20)} | SOUND)

    sent, (problem,) = bytes_and_problems(path)

    assert sent == {"mlx5_0": 20}
    assert problem.startswith(f"{path}!sys/class/net/core: ")


def test_members_before_the_cut_of_an_archive_are_read_and_the_cut_one_is_not(tmp_path: Path) -> None:
    whole = tar(tmp_path, SOUND | {f"{PORT}/counters/port_rcv_data": b"9" * 900 + b"\n"})
    i_cut = whole.read_bytes().index(b"999") + 1
    whole.write_bytes(whole.read_bytes()[:i_cut])

    sent, (problem,) = bytes_and_problems(whole)

    assert sent == {"mlx5_0": 20}
    assert "damaged" in problem


def test_members_before_the_cut_of_a_compressed_archive_are_read(tmp_path: Path) -> None:
    noise = np.random.default_rng(1).bytes(1 << 16)
    path = tar(tmp_path, SOUND | {"sys/class/net/noise": noise})
    path.write_bytes(gzip.compress(path.read_bytes())[:-20_000])

    sent, (problem,) = bytes_and_problems(path)

    assert sent == {"mlx5_0": 20}
    assert "end early" in problem


def test_files_that_tar_padded_with_nul_bytes_are_read(tmp_path: Path) -> None:
    nic = "sys/class/net/eth0"
    files = SOUND | {
        f"{nic}/flags": b"0x1003\n",
        f"{nic}/operstate": b"up\n",
        f"{nic}/statistics/tx_bytes": b"7\n",
        f"{nic}/statistics/rx_bytes": b"8\n",
    }

    sent, problems = bytes_and_problems(tar(tmp_path, {name: text.ljust(4096, b"\0") for name, text in files.items()}))

    assert (sent, problems) == ({"mlx5_0": 20, "eth0": 7}, [])


def test_what_cannot_be_read_in_an_archive_is_named_by_the_archive(tmp_path: Path) -> None:
    path = tar(tmp_path, SOUND | {f"{PORT}/counters/port_rcv_data": b"many\n"})

    counters, problems = read_counters(path)

    assert len(counters) == 1
    assert [problem.split(": ")[0] for problem in problems] == [f"{path}!{PORT}/counters/port_rcv_data"]


@pytest.mark.parametrize("n_lines", ["900000000000", "9" * 5000])
def test_a_member_of_a_ttar_that_says_more_lines_than_there_are_is_named_and_the_rest_read(
    tmp_path: Path, n_lines: str
) -> None:
    path = ttar(tmp_path, more=f"Path: {PORT}/counters/port_rcv_data\nLines: {n_lines}\n7\nMode: 644\n")

    sent, (problem,) = bytes_and_problems(path)

    assert sent == {"mlx5_0": 20}
    assert problem.startswith(f"{path}!{PORT}/counters/port_rcv_data: ")


def test_a_count_that_the_end_of_a_ttar_may_have_cut_is_not_taken(tmp_path: Path) -> None:
    path = ttar(tmp_path, more=f"Path: {PORT}/counters/port_rcv_data\nLines: 1\n12")

    counters, problems = read_counters(path)

    assert {s.direction for s, _, _, _ in counters} == {"transmit"}
    assert any(problem.startswith(f"{path}!{PORT}/counters/port_rcv_data: ") for problem in problems)


def test_a_count_without_an_end_of_line_is_read_as_ttar_marks_it(tmp_path: Path) -> None:
    sent, problems = bytes_and_problems(
        ttar(tmp_path, {f"{PORT}/state": b"4: ACTIVEEOF\n"} | {f"{PORT}/counters/port_xmit_data": b"5EOF\n"})
    )

    assert (sent, problems) == ({"mlx5_0": 20}, [])


def test_links_of_a_ttar_are_left_out_and_counted(tmp_path: Path) -> None:
    report = ingest(ttar(tmp_path, more="Path: sys/class/net/eth0\nSymlinkTo: ../x\n"), lake=tmp_path / "lake")

    (coverage,) = [found.coverage for found in report.inputs if found.coverage]
    assert [item.what for item in coverage.skipped if "link" in item.what] == ["links (1)"]


def test_a_ttar_that_would_write_elsewhere_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="outside of the archive"):
        read_counters(ttar(tmp_path, {"../../escape": b"1\n"}))
