"""Results of lakes in buckets: in a folder of this machine, as of a lake there, and only what is new is computed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.batch import local
from pipeline.cli.main import main
from pipeline.scratch import with_results
from pipeline.sql import objects, open_lake
from profiler.errors import LakeError, UsageError
from profiler.store import Lake, attach, push
from tests.pipeline.fleets import add_host, fleet

if TYPE_CHECKING:
    from tests.pipeline.buckets import S3Server


pytestmark = pytest.mark.usefixtures("keys")


@pytest.fixture
def hosts(server: S3Server, tmp_path: Path) -> tuple[Lake, str]:
    """Return a lake of two hosts whose ports beat, and the address of its copy."""
    lake, address = fleet(tmp_path / "lake", n_hosts=2), server.address(f"hosts/{tmp_path.name}")
    push(lake, address)
    return lake, address


def _answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    capsys.readouterr()
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_results_are_those_of_the_folder_and_the_bucket_stays_as_it_is(
    server: S3Server, hosts: tuple[Lake, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(hosts[0].root, tmp_path / "near")
    results, keys = str(tmp_path / "results"), server.keys()
    near = _answer(capsys, "analyze", "--lake", str(tmp_path / "near"))
    far = _answer(capsys, "analyze", "--lake", hosts[1], "--results", results)
    for one in (near, far):
        one["plan"]["elapsed_s"] = 0
    assert far == near
    assert not list(Path(results).rglob("h?-*.parquet"))
    with open_lake(tmp_path / "near") as one, open_lake(results) as other:
        for table in ("profiles", "phases", "samples"):
            text = f"from {table} order by all"
            assert one.sql(text).equals(other.sql(text)), table
    assert server.keys() == keys


def test_results_follow_a_lake_that_grows_and_compute_only_what_is_new(
    server: S3Server,
    hosts: tuple[Lake, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(local, "HERE_SERIES", 0)  # by processes, which open the bucket themselves
    (lake, address), results = hosts, str(tmp_path / "results")
    assert _answer(capsys, "analyze", "--lake", address, "--results", results, "--workers", "1")["profiles"] == 4
    add_host(lake, "h9")
    push(lake, address)
    server.forget()
    assert _answer(capsys, "analyze", "--lake", results, "--workers", "1")["profiles"] == 6
    assert server.read_bytes("/h9-") > 0
    assert server.read_bytes("/h0-") == server.read_bytes("/h1-") == 0
    with open_lake(results) as database:
        assert database.sql("select count(*) as n from runs").to_pylist() == [{"n": 2}]


def test_a_file_that_is_gone_from_the_bucket_is_left_out_of_the_analysis_and_named(
    server: S3Server, hosts: tuple[Lake, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (key,) = (key for key in server.keys(f"hosts/{tmp_path.name}/samples/") if "/h1-" in key)
    server.delete(key)
    assert main(["analyze", "--lake", hosts[1], "--results", str(tmp_path / "results")]) == 1
    told = capsys.readouterr()
    assert key.rpartition("/")[2] in told.err
    assert "h0/eth0/transmit every 200 ms" in told.out


def test_objects_that_are_gone_or_changed_are_both_named(
    server: S3Server, hosts: tuple[Lake, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add_host(hosts[0], "h2")
    push(*hosts)
    gone, changed = (
        next(key for key in server.keys(f"hosts/{tmp_path.name}/samples/") if host in key) for host in ("/h1-", "/h2-")
    )
    whole = bytearray(server.get(changed))
    whole[len(whole) // 3] ^= 1
    server.delete(gone)
    server.put(changed, bytes(whole))
    assert main(["analyze", "--lake", hosts[1], "--results", str(tmp_path / "results")]) == 1
    told = capsys.readouterr()
    assert gone.rpartition("/")[2] in told.err
    assert f"{changed}: cannot be read (changed since it was sealed: its SHA-256 differs)" in told.err
    assert "h0/eth0/transmit every 200 ms" in told.out


def test_a_bucket_that_does_not_answer_is_asked_once_not_once_a_table(
    hosts: tuple[Lake, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = attach(tmp_path / "results", hosts[1]).root
    asked: list[Path] = []

    def silent(path: Path, _start: int, _n_bytes: int) -> bytes:
        asked.append(path)
        raise OSError(f"{path}: the server does not answer in time; check the network")

    monkeypatch.setattr(objects, "_read", silent)
    with pytest.raises(LakeError, match=r"the server does not answer in time; check the network$"):
        open_lake(results)
    assert len({path.parent for path in asked}) == 1


def test_a_folder_of_results_is_of_one_lake_and_takes_no_readings(
    server: S3Server, hosts: tuple[Lake, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = server.address("other")
    push(hosts[0], other)
    results = attach(tmp_path / "results", hosts[1])
    with pytest.raises(UsageError, match="holds the results of"):
        attach(tmp_path / "results", other)
    with pytest.raises(UsageError, match="a lake of its own"):
        attach(hosts[0].root, hosts[1])
    assert main(["ingest", "sample_data/shared.csv.gz", "--lake", str(results.root)]) in (1, 2)
    assert "whose readings stay there" in capsys.readouterr().err


def test_a_lake_in_a_bucket_has_a_folder_for_results_as_long_as_they_are_needed(hosts: tuple[Lake, str]) -> None:
    with with_results(hosts[1]) as folder:
        assert Lake.open(folder).read("series").equals(hosts[0].read("series"))
    assert not folder.exists()
    with with_results(hosts[0].root) as own:
        assert own == hosts[0].root
