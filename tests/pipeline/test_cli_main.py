"""What the installed command does before any of its commands runs."""

from __future__ import annotations

import os

import pytest

from pipeline.cli import main


def test_memory_that_runs_out_is_one_line_and_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def exhausted(_arguments: object) -> None:
        raise MemoryError

    monkeypatch.setattr(main, "app", exhausted)
    assert main.main([]) == 1
    (told,) = capsys.readouterr().err.splitlines()
    assert told.startswith("offbeat: memory ran out; ")


def test_linear_algebra_has_one_thread_unless_the_user_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, str | None] = {}
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS")  # set before, so that the one that the command sets is taken back
    monkeypatch.setenv("MKL_NUM_THREADS", "3")
    monkeypatch.setattr(main, "main", lambda: seen.update(os.environ) or 3)
    with pytest.raises(SystemExit) as ended:
        main.run()
    assert ended.value.code == 3
    assert (seen["OPENBLAS_NUM_THREADS"], seen["MKL_NUM_THREADS"]) == ("1", "3")
