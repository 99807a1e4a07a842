"""Functions of SQL: each gives what Python gives, and null where there is nothing to give."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.compat import solve
from pipeline.sql import Database, list_functions, open_lake
from profiler.errors import UsageError
from profiler.phases import TrafficProfile
from profiler.signals import RateSeries
from profiler.store import Lake
from tests.pipeline.lakes import T0_NS, make_lake, on_off_counter, port

if TYPE_CHECKING:
    from pathlib import Path

SECOND_NS = 1_000_000_000


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with open_lake(Lake.open(tmp_path_factory.mktemp("lakes") / "lake", create=True).root) as database:
        yield database


def value_of(database: Database, expression: str) -> Any:
    (row,) = database.sql(f"select {expression} as answer").to_pylist()
    return row["answer"]


def test_every_function_tells_what_it_needs_and_returns() -> None:
    functions = list_functions()
    assert [function.name for function in functions] == sorted(function.name for function in functions)
    for function in functions:
        assert function.purpose
        assert function.returns
        assert function.name in function.example


@pytest.mark.parametrize("function", list_functions(), ids=lambda function: function.name)
def test_parameters_are_those_of_the_header(function: Any, database: Database) -> None:
    declared = [parameter.name for parameter in function.params]
    if function.text:
        signature = re.search(rf"create macro {function.name}\(([^)]*)\)", function.text)
        assert signature is not None
        assert [part.split(":=")[0].strip() for part in signature[1].split(",")] == declared
        optional = [parameter for parameter in function.params if not parameter.is_needed]
        defaults = {one.name: "null" if one.default is None else f"{one.default:g}" for one in optional}
        assert dict(re.findall(r"(\w+) := (\w+)", signature[1])) == defaults
    known = database.sql(f"select count(*) as n from duckdb_functions() where function_name = '{function.name}'")  # noqa: S608
    assert known.to_pylist()[0]["n"] >= 1


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("counter_bytes(100, 225, 1000000000)", 125),
        ("counter_bytes(4294967196, 100, 1000000000, width_bits := 32)", 200),
        ("counter_bytes(4 * 4294967296 - 400, 400, 1000000000, width_bits := 32, scale := 4)", 800),
        ("counter_bytes(4294967196, 100, 1000000000)", 100),
        ("counter_bytes(1000, 900, 1000000000)", 0),
        ("counter_bytes(4294967196, 100, 1000000000, width_bits := null)", 100),
        ("counter_bytes(null, 100, 1000000000)", None),
        ("counter_bytes(100, null, 1000000000)", None),
        ("counter_bytes(100, 200, 0)", None),
        ("counter_bytes(100, 200, null)", None),
        ("counter_rate_bps(100, 225, 1000000000)", 1000.0),
        ("counter_rate_bps(4294967196, 100, 2000000000, width_bits := 32)", 800.0),
        ("counter_rate_bps(4294967196, 100, 1000000000)", None),
        ("counter_rate_bps(100, 225, null)", None),
        ("period_index(1250000000, 0.5)", 2),
        ("period_index(1000000000, 0.5)", 2),
        ("period_index(999999999, 0.5)", 1),
        ("period_index(-1, 0.5)", -1),
        ("period_index(1250000000, 0.5, anchor_ns := 1000000000)", 0),
        ("period_start_ns(1250000000, 0.5)", 1_000_000_000),
        ("period_start_ns(-1, 0.5)", -500_000_000),
        ("fold_s(1250000000, 0.5)", 0.25),
        ("fold_s(-1, 0.5)", 0.499999999),
        ("fold_s(1000000000, 0.5)", 0.0),
        ("fold_s(null, 0.5)", None),
        ("fold_s(1, null)", None),
        ("fold_s(1, 0)", None),
        ("period_index(1, -0.5)", None),
        ("period_start_ns(1, 0)", None),
    ],
)
def test_arithmetic(database: Database, call: str, expected: float | None) -> None:
    answer = value_of(database, call)
    assert answer == expected if expected is None or isinstance(expected, int) else answer == pytest.approx(expected)


@settings(max_examples=25, deadline=None)
@given(
    reads=st.lists(st.tuples(st.integers(1, 10**6), st.integers(0, 2**32 - 1)), min_size=2, max_size=30),
    scale=st.sampled_from([1, 4]),
)
def test_steps_of_a_counter_are_those_of_signals(database: Database, reads: list[tuple[int, int]], scale: int) -> None:
    t_ns = np.cumsum([gap_us * 1000 for gap_us, _ in reads])
    value = np.array([units * scale for _, units in reads])
    width_bits = 32 + (2 if scale == 4 else 0)
    truth = RateSeries.from_counter(t_ns, value, width_bits=width_bits)
    reads_sql = ", ".join(f"({t}, {v})" for t, v in zip(t_ns.tolist(), value.tolist(), strict=True))
    rows = database.sql(
        f"""select t_ns, counter_bytes(lag(v) over w, v, t_ns - lag(t_ns) over w, width_bits := 32, scale := {scale})
        as bytes from (values {reads_sql}) as reads (t_ns, v) window w as (order by t_ns) order by t_ns"""  # noqa: S608
    ).to_pylist()
    of_time = {row["t_ns"]: row["bytes"] for row in rows}
    # A bad read, which needs the one after it to be told, and reads that saw nothing new are left out there.
    if truth.n_glitches or truth.n_stale or truth.refresh_s is not None:
        return
    assert [of_time[t] for t in truth.edges_ns[1:].tolist()] == truth.delta_bytes.tolist()


@settings(max_examples=60, deadline=None)
@given(
    offset_ns=st.integers(-(10**15), 10**15),
    period_ns=st.integers(1000, 10**12),
    anchor_ns=st.integers(T0_NS - 10**9, T0_NS + 10**9),
)
def test_folding_is_the_remainder_and_buckets_begin_where_it_is_nought(
    database: Database, offset_ns: int, period_ns: int, anchor_ns: int
) -> None:
    t_ns, period_s = anchor_ns + offset_ns, period_ns / 1e9
    arguments = f"{t_ns}, {period_s!r}, anchor_ns := {anchor_ns}"
    (row,) = database.sql(
        f"""select fold_s({arguments}) as phase_s, period_index({arguments}) as i,
        period_start_ns({arguments}) as start_ns"""
    ).to_pylist()
    period_as_ns = period_s * 1e9
    assert row["phase_s"] == np.mod(float(offset_ns), period_as_ns) / 1e9
    assert 0 <= row["phase_s"] < period_s or row["phase_s"] == pytest.approx(period_s)
    assert abs(row["i"] * period_as_ns + row["phase_s"] * 1e9 - offset_ns) <= 2
    assert row["start_ns"] <= t_ns
    assert abs(t_ns - row["start_ns"] - row["phase_s"] * 1e9) <= 1


def test_rates_fold_to_the_shape_that_was_sent_and_lose_no_bytes(tmp_path: Path) -> None:
    reads = on_off_counter(period_ns=250_000_000, up_ns=100_000_000, rate_bps=300e6, step_ns=7_000_000)
    series = port("h", "eth0", "transmit")
    lake = make_lake(tmp_path / "lake", {series: reads})
    with open_lake(lake.root) as opened:
        rows = opened.sql(f"from folded_rates({series.series_id}, 0.25, n_bins := 10, begin_ns := {T0_NS})").to_pylist()
        none = opened.sql(f"from folded_rates({series.series_id}, null)").num_rows
    assert [row["i_bin"] for row in rows] == list(range(10))
    assert [row["phase_s"] for row in rows] == pytest.approx(np.arange(10) * 0.025)
    means = [row["mean_bps"] for row in rows]
    assert means[1:3] == pytest.approx([300e6, 300e6])
    assert means[5:9] == pytest.approx([0, 0, 0, 0], abs=1e4)
    total = sum(row["mean_bps"] * row["known_s"] for row in rows) / 8
    assert total == pytest.approx(int(reads[1][-1] - reads[1][0]), rel=1e-9)
    assert sum(row["known_s"] for row in rows) == pytest.approx((reads[0][-1] - reads[0][0]) / 1e9)
    assert none == 0


def test_folding_is_that_of_a_brute_force_sum(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    t_ns = T0_NS + np.cumsum(rng.integers(1_000_000, 20_000_000, 400))
    value = np.cumsum(rng.integers(0, 10**6, 400))
    series = port("h", "eth0", "transmit")
    period_ns, n_bins = 130_000_000, 13
    ends = t_ns - T0_NS
    bits, known_ns = np.zeros(n_bins), np.zeros(n_bins)
    for start, end, moved in zip(ends[:-1], ends[1:], np.diff(value), strict=True):
        for ms in range(int(start) // 10_000_000, int(end - 1) // 10_000_000 + 1):
            overlap = min(end, (ms + 1) * 10_000_000) - max(start, ms * 10_000_000)
            bits[ms % n_bins] += 8 * moved * overlap / (end - start)
            known_ns[ms % n_bins] += overlap
    with open_lake(make_lake(tmp_path / "lake", {series: (t_ns, value)}).root) as opened:
        rows = opened.sql(
            f"from folded_rates({series.series_id}, {period_ns / 1e9}, n_bins := {n_bins}, begin_ns := {T0_NS})"
        ).to_pylist()
    assert [row["mean_bps"] for row in rows] == pytest.approx((bits / known_ns * 1e9).tolist())


PAIRS = [
    ((0.255, [(0.0, 0.114, 400e6)]), (0.255, [(0.0, 0.114, 400e6)])),
    ((0.04, [(0.0, 0.01, 300e6)]), (0.06, [(0.0, 0.02, 300e6)])),
    ((0.25, [(0.0, 0.05, 350e6), (0.1, 0.05, 100e6)]), (0.125, [(0.0, 0.06, 200e6)])),
]


def written(profile: tuple[float, list[tuple[float, float, float]]]) -> str:
    period_s, phases = profile
    listed = ", ".join(f"{{'start_s': {s}, 'width_s': {w}, 'rate_bps': {r}}}" for s, w, r in phases)
    return f"profile_of({period_s}, [{listed}])"


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_compat_is_the_score_of_the_solver(database: Database, a: Any, b: Any) -> None:
    profiles = {
        name: TrafficProfile.from_phases(period_s=period_s, phases=phases)
        for name, (period_s, phases) in {"a": a, "b": b}.items()
    }
    solved = solve(profiles, capacity_bps=400e6)
    score = value_of(database, f"compat({written(a)}, {written(b)}, 400e6)")
    assert score["score_best"] == pytest.approx(solved.score_best, abs=1e-12)
    assert score["score_random"] == pytest.approx(solved.score_random, abs=1e-12)


def test_compat_of_two_jobs_that_fill_the_link_is_the_arithmetic_of_their_overlap(database: Database) -> None:
    score = value_of(database, f"compat({written(PAIRS[0][0])}, {written(PAIRS[0][1])}, 400e6)")
    duty = 0.114 / 0.255
    assert score == pytest.approx({"score_best": 1.0, "score_random": 1 - duty**2, "shift_s": 0.1275})


def test_compat_is_null_where_an_argument_is_and_rows_keep_their_places(database: Database) -> None:
    a = written(PAIRS[0][0])
    rows = database.sql(
        f"""select i, compat(case when i % 2 = 0 then {a} end, {a}, case when i % 3 > 0 then 100e6 * (i % 3) end)
        as score from range(6) t(i) order by i"""  # noqa: S608
    ).to_pylist()
    assert [row["score"] is None for row in rows] == [True, True, False, True, False, True]
    up_frac = 2 * 0.114 / 0.255
    bests = [row["score"]["score_best"] for row in rows if row["score"] is not None]
    assert bests == pytest.approx([1 - up_frac * 200 / 200, 1 - up_frac * 300 / 100])
    assert value_of(database, f"compat(profile_of(null, null), {a}, 1e9)") is None


def test_many_pairs_of_many_jobs_are_scored_as_one_by_one(database: Database) -> None:
    rng = np.random.default_rng(3)
    widths = rng.uniform(0.01, 0.1, 40).round(3).tolist()
    jobs = ", ".join(f"({i}, {written((0.25, [(0.0, width, 300e6)]))})" for i, width in enumerate(widths))
    rows = database.sql(
        f"""with jobs (i, p) as (values {jobs})
        select a.i as i, b.i as j, compat(a.p, b.p, 400e6).score_random as score from jobs as a, jobs as b"""  # noqa: S608
    ).to_pylist()
    assert len(rows) == 1600
    for row in rows:
        both_frac = widths[row["i"]] * widths[row["j"]] / 0.25**2
        assert row["score"] == pytest.approx(1 - both_frac * 200e6 / 400e6)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        ("compat(profile_of(0.2, [{'start_s': 0, 'width_s': 0.3, 'rate_bps': 1e8}]), null, 1e9)", None),
        ("compat({0}, {0}, -1e9)", "capacity_bps"),
        ("compat(profile_of(0.2, [{{'start_s': 0, 'width_s': 0.3, 'rate_bps': 1e8}}]), {0}, 1e9)", "compat"),
        ("compat(1, {0}, 1e9)", "compat"),
    ],
)
def test_a_profile_or_capacity_that_makes_no_sense_is_named(
    database: Database, call: str, complaint: str | None
) -> None:
    if complaint is None:
        assert value_of(database, call) is None
        return
    with pytest.raises(UsageError, match=complaint):
        value_of(database, call.format(written(PAIRS[0][0])))


def test_functions_work_on_columns_of_the_lake(tmp_path: Path) -> None:
    t_ns, value = on_off_counter(period_ns=250_000_000, up_ns=100_000_000, rate_bps=300e6, duration_s=5.0)
    lake = make_lake(tmp_path / "lake", {port("h", "eth0", "transmit"): (t_ns, value)})
    with open_lake(lake.root) as opened:
        rows = opened.sql(
            f"""select period_index(t_ns - window_ns, 0.25, anchor_ns := {T0_NS}) as i, sum(bytes)::bigint as bytes
            from rates group by i order by i"""  # noqa: S608
        )
    assert rows.equals(pa.table({"i": pa.array(range(20)), "bytes": pa.array([3_750_000] * 20)}))
