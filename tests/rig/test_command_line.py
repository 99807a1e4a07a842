"""The rig's command line: help, usage, what is missing, and a network that stands between two commands."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.rig import __main__ as command_line
from tests.rig.requirements import missing_for_jobs, missing_for_network

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS = ("up", "down", "status", "run", "capture", "sample-data", "claim")


def rig(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["rig", *arguments])
    return command_line.main()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_an_example(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rig(monkeypatch, command, "--help") == 0
    assert f"python -m tests.rig {command}" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["claim"], "give either --plan, or --period with --shift"),
        (["claim", "--period", "266ms", "--shift", "C=1ms"], "shift 'C=1ms': expected JOB=DURATION with a job of A, B"),
        (["claim", "--plan", "no_such_plan.json"], "no_such_plan.json"),
        (["run", "--spec", "no_such_rig.toml"], "no_such_rig.toml"),
    ],
)
def test_a_wrong_call_says_what_is_wrong_before_anything_is_built(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rig(monkeypatch, *arguments) in (1, 2)
    assert message in capsys.readouterr().err


def test_a_file_that_exists_is_kept_without_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "truth.json").write_text("{}", encoding="ascii")
    assert rig(monkeypatch, "run", "--truth", str(tmp_path / "truth.json")) == 2
    assert "truth.json: exists; give --force" in capsys.readouterr().err


def test_a_machine_without_root_tc_and_torch_is_told_each_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "tc" else f"/sbin/{name}")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert "root (this is user id 1000)" in missing_for_network()
    assert "command tc (package iproute2)" in missing_for_network()
    assert missing_for_jobs()[-1] == "Python package torch (pip install 'offbeat[rig]')"


@pytest.mark.rig
@pytest.mark.usefixtures("network_here")
def test_a_network_stands_between_up_and_down(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rig(monkeypatch, "up") == 0
    first = capsys.readouterr().out.splitlines()[0]
    prefix = first.split()[-1].removesuffix("a1")
    assert rig(monkeypatch, "status") == 0
    assert prefix in capsys.readouterr().out
    assert rig(monkeypatch, "down", prefix) == 0
    assert f"removed {prefix}" in capsys.readouterr().err
    assert rig(monkeypatch, "down", prefix) == 1
    assert f"no rig '{prefix}' stands here" in capsys.readouterr().err
