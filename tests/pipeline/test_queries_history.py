"""Query of history: what periods jobs had, and when they changed."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from pipeline.sql import find_query, open_lake
from pipeline.state import PERIOD_FRAC, Beat
from tests.pipeline.lakes import T0_NS, add_advice, date_profiles, two_job_lake

if TYPE_CHECKING:
    from pathlib import Path

    from profiler.store import Lake


DAY_NS = 86_400 * 10**9


def add_history(lake: Lake, device: str, rows: list[dict[str, Any]]) -> None:
    ids = {row["device"]: row["series_id"] for row in lake.read("series").to_pylist()}
    columns = [
        {
            "series_id": ids[device],
            "from_ns": T0_NS - (len(rows) - i) * DAY_NS,
            "to_ns": T0_NS - (len(rows) - i - 1) * DAY_NS,
            "analysed_ns": T0_NS,
            **row,
        }
        for i, row in enumerate(rows)
    ]
    known = lake.read("profile_history")
    rows_now = pa.Table.from_pylist(columns, schema=known.schema)
    lake.append("profile_history", rows_now)


def around(period_s: float, *, half_s: float = 1e-4) -> dict[str, Any]:
    low_s, high_s = period_s - half_s, period_s + half_s
    return {"status": "periodic", "period_s": period_s, "period_low_s": low_s, "period_high_s": high_s}


def test_history_tells_when_a_job_changed_its_period(tmp_path: Path) -> None:
    root = tmp_path / "lake"
    lake = two_job_lake(root, b_start_ns=50_000_000)
    add_advice(root, lake)
    date_profiles(lake)
    lost = {"status": "idle"}
    days = [around(0.2), around(0.2001), around(0.25), lost, lost, around(0.25)]
    add_history(lake, "p1", days)
    with open_lake(root) as opened:
        rows = opened.run("history_by_job", job_id="A").to_pylist()
        changes = opened.run("history_by_job", job_id="A", changed=1).to_pylist()
        other = opened.run("history_by_job", job_id="B").to_pylist()
    assert [row["is_changed"] for row in rows] == [None, False, True, True, False, True, False]
    assert [row["is_present"] for row in rows] == [False] * 6 + [True]
    assert rows[2]["change_frac"] == pytest.approx(0.25 / 0.2001 - 1)
    assert [row["from_ns"] for row in changes] == [rows[i]["from_ns"] for i in (2, 3, 5)]
    assert [(row["period_s"], row["is_changed"], row["is_present"]) for row in other] == [(0.25, None, True)]


def test_history_and_what_analyze_tells_each_time_agree_on_what_a_change_is(tmp_path: Path) -> None:
    root = tmp_path / "lake"
    lake = two_job_lake(root, b_start_ns=50_000_000, duration_s=2.0)
    add_advice(root, lake)
    days = [
        around(0.25),
        around(0.2515),  # 0.6 %, and known to a tenth of that
        around(0.2545),  # 1.2 %
        around(0.2577, half_s=0.01),  # 1.3 %, but not for sure
        {"status": "idle"},
        {"status": "no_data"},
        {"status": "no_data"},
        around(0.25),
    ]
    add_history(lake, "p1", days)
    with open_lake(root) as opened:
        rows = opened.run("history_by_job", job_id="A").to_pylist()
        strict = opened.run("history_by_job", job_id="A", period_frac=0).to_pylist()
    beats = [
        Beat(
            status=day["status"],
            period_s=day.get("period_s"),
            low_s=day.get("period_low_s"),
            high_s=day.get("period_high_s"),
        )
        for day in days
    ]
    told = [after.differs_from(before) for before, after in pairwise(beats)]
    assert told == [False, True, False, True, True, False, True]
    past = [row["is_changed"] for row in rows if not row["is_present"]]
    assert past == [None, *told]
    assert [row["is_changed"] for row in strict][1]
    (tolerance,) = (one.default for one in find_query("history_by_job").params if one.name == "period_frac")
    assert tolerance == PERIOD_FRAC


def test_a_wide_present_is_compared_with_the_range_that_had_ended_when_it_began(tmp_path: Path) -> None:
    root = tmp_path / "lake"
    lake = two_job_lake(root, duration_s=2.0)
    add_advice(root, lake)
    add_history(lake, "p1", [around(0.2), around(0.25)])
    present = lake.read("profiles").to_pylist()
    rows = [{**row, "from_ns": T0_NS - DAY_NS, "to_ns": T0_NS + DAY_NS} for row in present]
    lake.replace_all({"profiles": pa.Table.from_pylist(rows, schema=lake.read("profiles").schema)})
    with open_lake(root) as opened:
        told = opened.run("history_by_job", job_id="A").to_pylist()
    assert [(row["is_present"], row["before_period_s"], row["is_changed"]) for row in told] == [
        (False, None, None),
        (False, 0.2, True),
        (True, 0.2, True),
    ]
