"""Lakes in buckets, read from a server on this machine: the same answers as of a folder, and only what they need."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pipeline.cli.main import main
from pipeline.sql import open_lake
from profiler.errors import LakeError, UsageError
from profiler.sources import read_sources
from profiler.store import Lake, Recording, push
from profiler.store.lost import lost_files
from profiler.store.remote import filesystems
from tests.pipeline.buckets import gcs_server
from tests.pipeline.fleets import add_host, fleet
from tests.pipeline.lakes import analysed_lake, port

if TYPE_CHECKING:
    from tests.pipeline.buckets import S3Server

BIG_SAMPLES = 400_000
"""Readings of a port of which files are some megabytes: DuckDB fetches smaller ones in one go."""
FOOTER_BYTES = 1 << 14
"""What DuckDB reads of a file's end to find its row groups."""
QUERIES = ("contention_by_link", "coverage_by_host", "jobs_by_link", "shifts_by_job", "utilisation_by_link")
"""Of readings, of what an analysis found, and of both."""
_ROWS = "select series_id, t_ns, value from samples order by all"


pytestmark = pytest.mark.usefixtures("keys")


@pytest.fixture(scope="module")
def analysed(tmp_path_factory: pytest.TempPathFactory, server: S3Server) -> tuple[Lake, str]:
    """Return a lake of two jobs after an analysis, and the address of its copy."""
    lake = analysed_lake(tmp_path_factory.mktemp("analysed") / "lake")
    push(lake, server.address("analysed"))
    return lake, server.address("analysed")


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory, server: S3Server) -> tuple[Lake, str]:
    """Return a lake of three hosts whose ports beat, and the address of its copy."""
    lake = fleet(tmp_path_factory.mktemp("hosts") / "lake", n_hosts=3)
    push(lake, server.address("hosts"))
    return lake, server.address("hosts")


@pytest.fixture
def copied(server: S3Server, hosts: tuple[Lake, str], tmp_path: Path) -> str:
    """Return a folder of the bucket with a copy of its own to do harm to."""
    folder = f"copies/{tmp_path.name}"
    push(hosts[0], server.address(folder))
    return folder


def _sample_key(server: S3Server, folder: str, host: str) -> str:
    (key,) = (key for key in server.keys(f"{folder}/samples/") if f"/{host}-" in key)
    return key


def _answer(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    capsys.readouterr()
    assert main([*arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_named_queries_answer_as_they_do_of_the_folder(analysed: tuple[Lake, str]) -> None:
    lake, address = analysed
    with open_lake(lake.root) as near, open_lake(address) as far:
        for name in QUERIES:
            found = far.run(name)
            assert found.equals(near.run(name)), name
            assert found.num_rows > 0, name


def test_a_profile_of_the_bucket_is_that_of_the_folder(
    hosts: tuple[Lake, str], capsys: pytest.CaptureFixture[str]
) -> None:
    lake, address = hosts
    assert _answer(capsys, "profile", address) == _answer(capsys, "profile", str(lake.root))


def test_jobs_are_found_in_the_bucket_as_in_the_folder(
    hosts: tuple[Lake, str], capsys: pytest.CaptureFixture[str]
) -> None:
    lake, address = hosts
    assert _answer(capsys, "discover", "--lake", address) == _answer(capsys, "discover", "--lake", str(lake.root))


def test_jobs_of_the_bucket_fit_as_those_of_the_folder(
    hosts: tuple[Lake, str], capsys: pytest.CaptureFixture[str]
) -> None:
    near, far = (
        _answer(
            capsys,
            "compat",
            "--capacity",
            "400Mbps",
            "--job",
            f"A={lake}#h0/eth0",
            "--job",
            f"B={lake}#h1/eth0",
            code=3,
        )
        for lake in (hosts[0].root, hosts[1])
    )
    assert {**far, "elapsed_s": 0} == {**near, "elapsed_s": 0}


def test_one_series_is_fetched_without_the_others(server: S3Server, tmp_path: Path) -> None:
    address = _big_hosts(server, tmp_path)
    n_bytes = _size(server, "big0")
    server.forget()
    (rate,), events, problems = read_sources(
        address, chosen=lambda series: (series.host, series.device) == ("big0", "eth1")
    )
    assert (rate.host, rate.device, events, problems) == ("big0", "eth1", [], [])
    # Ids are hashes: this one may lie between those of the other host, and in a row group with both of these.
    assert server.read_bytes("/big1-") < n_bytes / 3
    assert n_bytes / 3 < server.read_bytes("/big0-") < n_bytes * 2 / 3


def _big_hosts(server: S3Server, tmp_path: Path) -> str:
    """Return the address of a lake of two hosts, of two ports each, whose files are too large to be read whole."""
    lake = Lake.open(tmp_path / "big", create=True)
    random = np.random.default_rng(1)
    for i in range(2):
        with lake.writer(Recording(recording_id=f"{i:064x}", source=f"big{i}", format="test")) as writer:
            for device in ("eth0", "eth1"):
                value = np.cumsum(random.integers(0, 1 << 40, BIG_SAMPLES))
                t_ns = 1_796_000_000_000_000_000 + np.arange(len(value)) * 1_000_000
                writer.write_samples(writer.add_series(port(f"big{i}", device, "transmit")), t_ns, value)
    address = server.address(f"big/{tmp_path.name}")
    push(lake, address)
    return address


def _size(server: S3Server, host: str) -> int:
    return max(len(server.get(key)) for key in server.keys("big/") if f"/{host}-" in key)


def test_a_query_of_one_host_fetches_next_to_nothing_of_the_others(server: S3Server, tmp_path: Path) -> None:
    address = _big_hosts(server, tmp_path)
    n_bytes = _size(server, "big0")
    assert n_bytes > 20 * FOOTER_BYTES
    server.forget()
    with open_lake(address) as database:
        one = database.sql(
            "select host, count(*) as n, max(value) as top from samples join series using (series_id) "
            "where host = 'big0' group by host"
        )
    assert one.to_pylist()[0]["n"] == 2 * BIG_SAMPLES
    assert server.read_bytes("/big1-") < n_bytes / 3
    assert n_bytes / 2 < server.read_bytes("/big0-") < n_bytes + 4 * FOOTER_BYTES


def test_a_query_fetches_only_the_columns_that_it_names(server: S3Server, tmp_path: Path) -> None:
    address = _big_hosts(server, tmp_path)
    server.forget()
    with open_lake(address) as database:
        assert database.sql("select max(t_ns) - min(t_ns) as span_ns from samples").to_pylist() == [
            {"span_ns": (BIG_SAMPLES - 1) * 1_000_000}
        ]
    assert server.read_bytes("/big") < _size(server, "big0") / 4


def test_a_lake_that_grows_is_read_as_it_is_when_it_is_opened(server: S3Server, tmp_path: Path) -> None:
    lake, address = fleet(tmp_path / "lake", n_hosts=1), server.address("grows")
    push(lake, address)
    with open_lake(address) as before:
        add_host(lake, "h9")
        pushed = push(lake, address)
        with open_lake(address) as after:
            hosts = [
                [row["host"] for row in one.sql("select distinct host from series order by all").to_pylist()]
                for one in (before, after)
            ]
            n_rows = [one.sql("select count(*) as n from samples").to_pylist()[0]["n"] for one in (before, after)]
    assert hosts == [["h0"], ["h0", "h9"]]
    assert n_rows == [8002, 16004]
    assert (pushed.n_files, pushed.n_kept) == (2, 2)


def test_a_missing_object_is_named_where_it_is_read_and_left_out_on_demand(
    server: S3Server, copied: str, capsys: pytest.CaptureFixture[str]
) -> None:
    key = _sample_key(server, copied, "h1")
    server.delete(key)
    lake = ["--lake", server.address(copied)]
    assert main(["sql", *lake, "select sum(value) from samples"]) == 1
    told = capsys.readouterr().err
    assert f"s3://bucket/{key}: missing" in told
    assert "Traceback" not in told
    assert main(["sql", *lake, "select count(*) from series"]) == 0
    rest = _answer(capsys, "sql", *lake, "select count(*) as n from samples", "--leave-out-lost", code=1)
    assert rest["rows"] == [{"n": 2 * 8002}]


def _wear(server: S3Server, key: str) -> None:
    """Turn over bytes of a page of an object, whose size and footer stay."""
    whole = server.get(key)
    server.put(key, whole[:200] + bytes(byte ^ 255 for byte in whole[200:2000]) + whole[2000:])


@pytest.mark.parametrize("has_tags", [True, False], ids=["copied by push", "copied by other means"])
def test_an_object_whose_bytes_changed_is_named_where_it_is_read_and_left_out_on_demand(
    server: S3Server, copied: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], *, has_tags: bool
) -> None:
    key = _sample_key(server, copied, "h1")
    _wear(server, key)
    if not has_tags:
        _edit_manifest(server, copied, tmp_path, "drop table tags")
    lake = ["--lake", server.address(copied)]
    for command in (["sql", *lake, "select count(*), sum(value) from samples"], ["query", "coverage_by_host", *lake]):
        assert main(command) == 1
        told = capsys.readouterr().err
        assert f"s3://bucket/{key}: changed since it was sealed" in told
        assert told.count("--leave-out-lost") == told.count("--push ADDRESS") == 1
        assert main([*command, "--leave-out-lost"]) == 1
        told = capsys.readouterr().err
        assert f"left out s3://bucket/{key}: changed since it was sealed" in told
        assert "--leave-out-lost" not in told
    rest = _answer(capsys, "sql", *lake, "select count(*) as n from samples", "--leave-out-lost", code=1)
    assert rest["rows"] == [{"n": 2 * 8002}]


def test_files_that_are_as_they_were_copied_are_not_read_to_be_checked(
    server: S3Server, hosts: tuple[Lake, str]
) -> None:
    server.forget()
    assert lost_files(Lake.open(hosts[1]), "samples") == {}
    assert server.read_bytes("hosts/samples/") == 0


def test_jobs_are_found_without_an_object_that_is_lost_and_the_exit_code_tells_it(
    server: S3Server, copied: str, capsys: pytest.CaptureFixture[str]
) -> None:
    key = _sample_key(server, copied, "h2")
    _wear(server, key)
    found = _answer(capsys, "discover", "--lake", server.address(copied), code=1)
    assert found["skipped"][0]["device"] == f"file {key.rpartition('/')[2]}"


def test_a_cut_object_is_named_by_check_and_by_what_reads_it(
    server: S3Server, copied: str, capsys: pytest.CaptureFixture[str]
) -> None:
    key = _sample_key(server, copied, "h2")
    server.put(key, server.get(key)[:-100])
    assert main(["sql", "--lake", server.address(copied), "select sum(value) from samples"]) == 1
    assert key in capsys.readouterr().err
    assert main(["lake", server.address(copied), "--check"]) == 3
    assert f"s3://bucket/{key}: " in capsys.readouterr().out


def test_a_lake_of_a_newer_version_is_refused(server: S3Server, copied: str, tmp_path: Path) -> None:
    _edit_manifest(server, copied, tmp_path, "pragma user_version = 999")
    with pytest.raises(LakeError, match="of a newer lake, with schema version 999"):
        Lake.open(server.address(copied))


def _edit_manifest(server: S3Server, folder: str, tmp_path: Path, statement: str) -> None:
    path = tmp_path / "edited.sqlite"
    path.write_bytes(server.get(f"{folder}/manifest.sqlite"))
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(statement)
    server.put(f"{folder}/manifest.sqlite", path.read_bytes())


def test_a_manifest_that_was_cut_or_is_none_is_refused(server: S3Server, copied: str) -> None:
    whole = server.get(f"{copied}/manifest.sqlite")
    for content in (whole[: len(whole) // 2], b"not a database" * 100, b""):
        server.put(f"{copied}/manifest.sqlite", content)
        with pytest.raises(LakeError, match=r"manifest\.sqlite: "):
            Lake.open(server.address(copied))


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("s3://bucket/nothing/here", "no such lake, there is no manifest.sqlite"),
        ("s3://bucket", "no such lake, there is no manifest.sqlite"),
        ("s3://no-such-bucket/lake", "there is no such bucket"),
    ],
)
def test_what_is_not_there_is_told_apart(
    server: S3Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], address: str, told: str
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.endpoint)
    filesystems.filesystem.cache_clear()
    assert main(["query", "jobs_by_link", "--lake", address]) == 1
    assert told in capsys.readouterr().err
    filesystems.filesystem.cache_clear()


@pytest.mark.parametrize("written", ["my lake/100%/a%2Bb", "my%20lake/100%25/a+b"])
def test_blanks_and_percent_signs_in_a_name_are_read(server: S3Server, hosts: tuple[Lake, str], written: str) -> None:
    push(hosts[0], server.address("my%20lake/100%25/a%2Bb"))
    assert "my lake/100%/a+b/manifest.sqlite" in server.keys("my lake/")
    with open_lake(server.address(written)) as far, open_lake(hosts[0].root) as near:
        assert far.sql(_ROWS).equals(near.sql(_ROWS))


def test_a_server_that_is_not_there_is_told_at_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(filesystems, "ATTEMPTS", 1)
    assert main(["query", "jobs_by_link", "--lake", "s3://bucket/lake?endpoint_override=http://127.0.0.1:9"]) == 1
    told = capsys.readouterr().err
    assert "the server cannot be reached" in told
    assert "Failed to connect to 127.0.0.1:9" in told


@pytest.mark.parametrize(
    "arguments",
    [
        ["record", "--lake", "{}", "--for", "1s", "--iface", "lo"],
        ["ingest", "sample_data/shared.csv.gz", "--lake", "{}"],
        ["lake", "{}", "--compact"],
        ["discover", "--lake", "{}", "--write"],
        ["sql", "--lake", "{}", "--export", "views.duckdb"],
        ["analyze", "--lake", "{}"],
        ["analyze", "--lake", "{}", "--shard", "1/2"],
    ],
)
def test_what_would_write_to_a_bucket_is_refused_with_what_to_do(
    hosts: tuple[Lake, str], capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert main([argument.format(hosts[1]) for argument in arguments]) == 2
    told = capsys.readouterr().err
    assert "--push" in told or "--results" in told or "--work" in told or "--out" in told
    assert not Path("views.duckdb").exists()
    assert not Path("s3:").exists()


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("s4://bucket/lake", "begin with s3:// and gs://"),
        ("https://host/lake", "begin with s3:// and gs://"),
        ("s3:///lake", "names no bucket"),
        ("s3://key:secret@bucket/lake", "keys in an address"),
        ("s3://bucket/lake?endpoint=x", "option 'endpoint' is not known"),
        ("s3://bucket/lake?anonymous=maybe", "expected true or false"),
    ],
)
def test_an_address_that_means_nothing_is_refused(address: str, told: str) -> None:
    with pytest.raises(UsageError, match=told) as caught:
        Lake.open(address)
    assert "secret" not in str(caught.value)


def test_google_buckets_are_read_too(hosts: tuple[Lake, str]) -> None:
    with gcs_server() as place:
        address = f"gs://bucket/my%20lake?anonymous=true&scheme=http&endpoint_override={place}"
        push(hosts[0], address)
        with open_lake(address) as far, open_lake(hosts[0].root) as near:
            assert far.sql(_ROWS).equals(near.sql(_ROWS))
