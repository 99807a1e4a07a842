"""Traces on the command line: profiled, compared and ingested like any other source."""

from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING

import pytest

from pipeline.cli.main import main
from profiler.store import Lake
from tests.data import shared
from tests.profiler.dumps import put
from tests.profiler.programs import kineto_event

if TYPE_CHECKING:
    from pathlib import Path

STARTS_US = [i * 100_000.0 + start for i in range(5) for start in (0.0, 20_000.0, 50_000.0)]


def kineto(*, sized: bool = True) -> str:
    elements = [1000, 2000, 3000] if sized else [None, None, None]
    events = [kineto_event(1e15 + t, 5000.0, elements=elements[i % 3]) for i, t in enumerate(STARTS_US)]
    for i, event in enumerate(events):
        event["name"] = f"ncclDevKernel_{i % 3}"
    return json.dumps({"schemaVersion": 1, "distributedInfo": {"rank": 0}, "traceEvents": events})


def test_a_real_trace_is_profiled_into_the_documented_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", str(shared("kineto/hta_nccl_data.json.gz")), "--host", "node7", "--json"]) == 0

    (series,) = json.loads(capsys.readouterr().out)["series"]
    assert [series[name] for name in ("host", "device", "port", "layer", "status")] == [
        "node7",
        "rank0",
        "default_pg:0",
        "collective",
        "periodic",
    ]
    assert series["period_s"] == pytest.approx(0.22010, abs=5e-6)
    assert sum(phase["width_s"] for phase in series["phases"]) == pytest.approx(series["period_s"])


def test_a_folder_of_traces_and_tables_is_profiled_as_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path / "in" / "rank0.json", kineto())
    put(tmp_path / "in" / "sw.csv", "t_ns,eth0.rx_bytes\n" + "".join(f"{i * 10**9},{i}\n" for i in range(20)))

    assert main(["profile", str(tmp_path / "in"), "--json"]) == 0
    layers = [series["layer"] for series in json.loads(capsys.readouterr().out)["series"]]
    assert layers == ["netdev", "collective"]


def test_a_trace_without_an_iteration_ends_with_3(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", str(shared("kineto/hta_sampled_rank-0.json.gz")), "--json"]) == 3

    assert all(series["need_more_s"] > 0 for series in json.loads(capsys.readouterr().out)["series"])


def test_rates_that_are_not_known_are_dashes_and_nulls_and_cannot_be_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = put(tmp_path / "t.json.gz", kineto(sized=False))

    assert main(["profile", str(path)]) == 0
    assert "at -" in capsys.readouterr().out
    assert main(["profile", str(path), "--json"]) == 0
    (series,) = json.loads(capsys.readouterr().out)["series"]
    assert series["phases"][0]["rate_bps"] is None
    assert main(["compat", "--capacity", "1Gbps", "--job", f"A={path}", "--job", f"B={path}"]) in (1, 2)
    assert "rate" in capsys.readouterr().err


def test_a_table_shows_a_few_of_many_bursts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    starts_us = [i * 200_000.0 + j * 5000.0 for i in range(4) for j in range(24)]
    events = [kineto_event(1e15 + start, 1000.0) for start in starts_us]
    path = put(tmp_path / "t.json", json.dumps({"schemaVersion": 1, "traceEvents": events}))

    assert main(["profile", str(path)]) == 0
    shown = capsys.readouterr().out
    assert shown.count("Up 1 ms") == 6
    assert "18 more" in shown


def test_a_hostile_pickle_fails_and_runs_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = put(tmp_path / "dump_0.pickle", pickle.dumps({"entries": [print]}))

    assert main(["profile", str(path), "--json"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "nothing of it was opened" in captured.err


def test_an_ingested_trace_keeps_the_bytes_of_its_messages(tmp_path: Path) -> None:
    path = put(tmp_path / "t.json", kineto())

    assert main(["ingest", str(path), "--lake", str(tmp_path / "lake"), "--host", "node7"]) == 0
    lake = Lake.open(tmp_path / "lake")
    (row,) = lake.read("series").to_pylist()
    assert (row["layer"], row["kind"], row["device"], row["port"]) == ("collective", "delta", "rank0", "default_pg:0")
    counter = lake.counter(row["series_id"])
    assert int(counter.value.sum()) == 5 * 2 * (1000 + 2000 + 3000)
    assert (counter.value[1:6] == 400).all()
    assert counter.value[6:20].sum() == 0


def test_a_trace_without_sizes_is_ingested_as_nothing_and_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = put(tmp_path / "t.json", kineto(sized=False))

    main(["ingest", str(path), "--lake", str(tmp_path / "lake"), "--json"])
    (report,) = json.loads(capsys.readouterr().out)["inputs"]
    assert report["n_samples"] == 0
    assert (report["n_read"], report["n_kept"], report["left_out"]) == (15, 0, {"no size": 15})
    assert report["skipped"][-1]["why"].startswith("no collective of it has both a size and a duration")
