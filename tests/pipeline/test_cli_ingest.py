"""``offbeat ingest``: exit codes, what goes to which stream, and figures that scripts can read."""

from __future__ import annotations

import csv
import gzip
import importlib
import io
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from pipeline.cli.ingest_table import readable_row
from pipeline.cli.main import main
from profiler.importers import IMPORTERS, Coverage, InputReport
from profiler.store import Lake
from tests.data import ROOT
from tests.profiler.frames import ethernet, ipv4, pcap, ports

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from profiler.importers import Options
    from profiler.importers.importer import Importer
    from profiler.importers.inputs import Input

ingest_module = importlib.import_module("profiler.importers.ingest")
TABLE = "t_ns,eth0.rx_bytes,note\n1000000000,1,x\n3000000000,3,y\n"
FRAME = ethernet(ipv4(ports(1000, 2000), ("10.0.0.1", "10.0.0.2"), proto=6), 0x0800)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    path.write_text(TABLE)
    return path


def test_packets_of_a_capture_that_is_followed_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.pcap").write_bytes(pcap([(1, 0, FRAME, 100)]))
    asked = ["ingest", str(tmp_path / "c.pcap"), "--lake", str(tmp_path / "lake"), "--follow"]

    assert main([*asked, "--packets", str(tmp_path / "pk")]) == 2
    assert "--packets: not with --follow" in capsys.readouterr().err
    assert not (tmp_path / "lake").exists()


def test_table_of_what_was_read_is_on_stdout(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ingest", str(table), "--lake", str(tmp_path / "lake")]) == 0
    streams = capsys.readouterr()

    assert "read" in streams.out
    assert "columns note: not counters of the mapping" in streams.out
    assert streams.err == ""


def test_json_tells_rows_samples_range_and_what_was_left_out(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ingest", str(table), "--lake", str(tmp_path / "lake"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)

    assert (document["kind"], document["version"]) == ("ingest", 1)
    (found,) = document["inputs"]
    assert found == {
        "source": str(table),
        "format": "delimited",
        "status": "read",
        "n_rows": 2,
        "n_samples": 2,
        "n_read": 2,
        "n_kept": 2,
        "left_out": {},
        "t_first_ns": 10**9,
        "t_last_ns": 3 * 10**9,
        "late": 0,
        "message": "",
        "skipped": [{"what": "columns note", "why": "not counters of the mapping"}],
    }


def test_csv_has_one_row_an_input(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["ingest", str(table), "--lake", str(tmp_path / "lake"), "--csv"]
    assert [main(arguments), main(arguments)] == [0, 0]
    first, second = (list(csv.DictReader(io.StringIO(text))) for text in _halves(capsys.readouterr().out))

    assert [row["status"] for row in (*first, *second)] == ["read", "already there"]


def _halves(text: str) -> tuple[str, str]:
    head = text.splitlines()[0]
    _, first, second = text.split(head)
    return head + first, head + second


def test_failed_or_partial_file_ends_with_1_and_its_reason_on_stderr(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(pcap([(1, 0, FRAME, 60), (2, 0, FRAME, 60)])[:-1])
    page = tmp_path / "page.csv"
    page.write_text("<!doctype html>")

    assert main(["ingest", str(cut), str(page), str(table), "--lake", str(tmp_path / "lake"), "--json"]) == 1
    streams = capsys.readouterr()

    assert [found["status"] for found in json.loads(streams.out)["inputs"]] == ["partial", "failed", "read"]
    assert "cut.pcap: byte" in streams.err
    assert "page.csv: looks like HTML page" in streams.err

    assert main(["ingest", str(cut), "--lake", str(tmp_path / "lake")]) == 1
    streams = capsys.readouterr()
    assert "already there, partly" in streams.out
    assert "cut.pcap: byte" in streams.err


@pytest.mark.parametrize(
    "wrong",
    [
        ["--bin", "1"],
        ["--bin", "5s"],
        ["--by", "port"],
        ["--input-format", "pcap"],
        ["--mapping", "no-such"],
        ["--nope"],
    ],
)
def test_wrong_usage_ends_with_2_and_makes_no_recording(
    wrong: list[str], table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ingest", str(table), "--lake", str(tmp_path / "lake"), *wrong]) == 2
    streams = capsys.readouterr()

    assert streams.out == ""
    assert streams.err
    if (tmp_path / "lake").exists():
        assert Lake.open(tmp_path / "lake").read("recordings").num_rows == 0


def test_folder_that_is_no_lake_ends_with_1(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ingest", str(table), "--lake", str(tmp_path)]) == 1
    assert "not a lake, and not empty" in capsys.readouterr().err


def test_options_reach_the_importers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.pcap").write_bytes(pcap([(1, 0, FRAME, 60)]))
    (tmp_path / "words.toml").write_text(
        '[time]\ncolumn = "t"\nunit = "s"\n[[counter]]\ncolumn = "{device}"\ndirection = "in"\nunit = "words4"\n'
    )
    (tmp_path / "w.csv").write_text("t,mlx5_0\n1,100\n")
    lake = tmp_path / "lake"
    capture = [str(tmp_path / "c.pcap"), "--host", "leaf-1", "--by", "flow", "--bin", "10ms"]
    words = [str(tmp_path / "w.csv"), "--mapping", str(tmp_path / "words.toml"), "--input-format", "delimited"]

    assert [main(["ingest", "--lake", str(lake), *arguments]) for arguments in (capture, words)] == [0, 0]
    capsys.readouterr()

    series = {row["layer"]: row for row in Lake.open(lake).read("series").to_pylist()}
    assert (series["capture"]["port"], series["capture"]["device"]) == ("leaf-1", "10.0.0.2 tcp 1000>2000")
    assert Lake.open(lake).counter(series["capture"]["series_id"]).t_ns.tolist() == [10**9, 10**9 + 10**7]
    assert Lake.open(lake).counter(series["netdev"]["series_id"]).value.tolist() == [400]


def test_capture_can_be_piped_in(tmp_path: Path) -> None:
    code = "import sys; from pipeline.cli.main import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "ingest", "-", "--lake", str(tmp_path / "lake"), "--json"]
    done = subprocess.run(command, input=pcap([(1, 0, FRAME, 60)]), capture_output=True, check=True, cwd=ROOT)

    assert json.loads(done.stdout)["inputs"][0]["packets"] == 1


def test_row_for_people_says_when_and_for_how_long() -> None:
    coverage = Coverage(n_rows=5, n_samples=9, t_first_ns=0, t_last_ns=90 * 10**9)
    row = readable_row(InputReport(source="x", status="read", format="capture", coverage=coverage))

    assert (row["from (UTC)"], row["for"], row["left out, and why"]) == ("1970-01-01 00:00:00", "90 s", "-")
    assert readable_row(InputReport(source="x", status="failed"))["from (UTC)"] == "-"


def test_row_for_people_adds_up_and_folds_what_was_passed_over_for_one_reason() -> None:
    coverage = Coverage(n_rows=5, n_samples=9, n_read=12, t_first_ns=0, t_last_ns=90 * 10**9)
    coverage.leave_out("no size", 2)
    coverage.leave_out("written twice", 1)
    for port in range(5):
        coverage.skip(f"port {port}", "down")
    coverage.skip("columns note", "not counters")
    row = readable_row(InputReport(source="x", status="partial", format="kineto", coverage=coverage))

    assert (row["read"], row["kept"], row["samples"]) == ("12", "9", "9")
    assert row["left out, and why"] == (
        "no size (2); written twice (1); port 0, port 1 and 3 more: down; columns note: not counters"
    )


def test_several_inputs_end_with_how_many_became_what(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / ".hidden").write_text(TABLE)
    (folder / "notes.md").write_text("# Notes\n")
    (folder / "same.csv").write_text(TABLE)

    assert main(["ingest", str(table), str(folder), str(tmp_path / "none"), "--lake", str(tmp_path / "lake")]) == 1
    streams = capsys.readouterr()
    assert streams.err.splitlines()[-1] == "offbeat: 5 inputs: 1 read, 2 skipped, 1 already there, 1 failed"
    assert "hidden; name it to have it read" in streams.out
    assert "no importer is for it; it looks like text" in streams.out


def test_the_format_may_name_the_importer_or_how_to_print(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["ingest", str(table), "--lake", str(tmp_path / "lake"), "--format"]

    assert main([*asked, "delimited"]) == 0
    assert "columns note" in capsys.readouterr().out
    assert main([*asked, "json"]) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "ingest"
    assert main([*asked, "xml"]) == 2
    assert "--format xml: expected table, json, csv to print the answer, or one importer" in capsys.readouterr().err
    assert main([*asked, "metrics", "--input-format", "delimited"]) == 2


def test_the_help_names_every_importer(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ingest", "--help"]) == 0

    told = capsys.readouterr().out.partition("--input-format")[2].partition("--mapping")[0]
    assert set(IMPORTERS) <= set(told.replace(",", " ").replace(".", " ").split())


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_what_was_done_before_an_interrupt_is_said(
    table: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    flags: list[str],
) -> None:
    good, bad = table.rename(tmp_path / "a.csv"), tmp_path / "b.csv"
    bad.write_text("no,table\n")
    read: Callable[..., Importer | None] = ingest_module.importer_of

    def interrupted(source: Input, options: Options, *, forced: str | None = None) -> Importer | None:
        if source.name.endswith("c.csv"):
            raise KeyboardInterrupt
        return read(source, options, forced=forced)

    monkeypatch.setattr(ingest_module, "importer_of", interrupted)
    (tmp_path / "c.csv").write_text(TABLE)

    code = main(["ingest", str(good), str(bad), str(tmp_path / "c.csv"), "--lake", str(tmp_path / "lake"), *flags])

    streams = capsys.readouterr()
    assert code == 130
    assert "a.csv" in streams.out
    assert "b.csv" in streams.out
    assert "c.csv" not in streams.out
    assert "first column is 'no'" in streams.err
    assert streams.err.endswith("offbeat: 2 inputs: 1 read, 1 failed\noffbeat: interrupted\n")


def test_a_file_of_a_folder_that_could_be_read_once_changed_is_told_how(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "dumps"
    folder.mkdir()
    (folder / "a.csv").write_text(TABLE)
    (folder / "twice.gz").write_bytes(gzip.compress(gzip.compress(TABLE.encode())))
    (folder / "wide.csv").write_bytes(TABLE.encode("utf-16"))

    assert main(["ingest", str(folder), "--lake", str(tmp_path / "lake")]) == 0

    printed = capsys.readouterr().out
    assert "it is packed twice: unpack it once" in printed
    assert "iconv -f UTF-16" in printed
