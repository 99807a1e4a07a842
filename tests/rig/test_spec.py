"""Descriptions of rigs: what is read, and what is refused in which words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from profiler.errors import BadInput
from tests.rig.spec import TWO_VGG19, JobSpec, Pace, Step, read_spec

if TYPE_CHECKING:
    from pathlib import Path

TOML = """
[network]
trunk = "200Mbps"
host_over_trunk = 3

[[job]]
name = "gpt"
steps = [{compute = "80ms", allreduce_bytes = 1_000_000}, {compute = "40ms", allreduce_bytes = 2_000_000}]
jitter_frac = 0.05
offset = "20ms"
seed = 7
pace = {period = "266ms", shift = "133ms"}
"""


def test_a_description_gives_rates_steps_and_pace_in_si_units(tmp_path: Path) -> None:
    path = tmp_path / "rig.toml"
    path.write_text(TOML, encoding="utf-8")
    spec = read_spec(path)
    assert (spec.network.trunk_bps, spec.network.host_bps) == (200e6, 600e6)
    assert spec.jobs == (
        JobSpec(
            name="gpt",
            steps=(Step(compute_s=0.08, allreduce_bytes=1_000_000), Step(compute_s=0.04, allreduce_bytes=2_000_000)),
            jitter_frac=0.05,
            offset_s=0.02,
            seed=7,
            pace=Pace(period_s=0.266, shift_s=0.133),
        ),
    )


def test_json_and_toml_say_the_same(tmp_path: Path) -> None:
    document = {
        "job": [{"name": "A", "steps": [{"compute": "141ms", "allreduce_bytes": 4}], "pace": {"plan": "p.json"}}]
    }
    as_json, as_toml = tmp_path / "rig.json", tmp_path / "rig.toml"
    as_json.write_text(json.dumps(document), encoding="utf-8")
    as_toml.write_text(
        '[[job]]\nname = "A"\nsteps = [{compute = "141ms", allreduce_bytes = 4}]\npace = {plan = "p.json"}\n',
        encoding="utf-8",
    )
    assert read_spec(as_json) == read_spec(as_toml)
    assert read_spec(as_json).jobs[0].pace == Pace(plan=str(tmp_path / "p.json"))


def test_a_job_survives_the_way_to_its_ranks() -> None:
    job = JobSpec(name="A", steps=(Step(compute_s=0.1, allreduce_bytes=400),), pace=Pace(period_s=0.3))
    assert JobSpec.from_dict(json.loads(json.dumps(job.to_dict()))) == job


def test_the_shipped_rig_is_two_equal_jobs_of_255_ms() -> None:
    spec = read_spec(TWO_VGG19)
    for job in spec.jobs:
        (step,) = job.steps
        up_s = step.allreduce_bytes * 8 / spec.network.trunk_bps
        assert step.compute_s + up_s == pytest.approx(0.255, rel=0.02)
    assert spec.network.host_bps == 2 * spec.network.trunk_bps


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[job]\n", "TOMLDecodeError"),
        ("", "KeyError: 'job'"),
        ("job = []", "need at least one"),
        ('[[job]]\nname = "A"\nsteps = []', "job A: has no steps"),
        ('[[job]]\nname = "a-b"\nsteps = [{compute = "1ms", allreduce_bytes = 4}]', "job name 'a-b'"),
        ('[[job]]\nname = "A"\nsteps = [{compute = "1 lightyear", allreduce_bytes = 4}]', "duration '1 lightyear'"),
        ('[[job]]\nname = "A"\nsteps = [{compute = "1ms", allreduce_bytes = 1}]', "allreduce_bytes at least 4"),
        (
            '[[job]]\nname = "A"\nsteps = [{compute = "1ms", allreduce_bytes = 4}]\npace = {shift = "1ms"}',
            "either a plan",
        ),
        ('[network]\ntrunk = "fast"\n[[job]]\nname = "A"', "rate 'fast'"),
    ],
)
def test_a_wrong_description_is_refused_with_its_file_and_fault(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "rig.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=message) as caught:
        read_spec(path)
    assert str(path) in str(caught.value)
