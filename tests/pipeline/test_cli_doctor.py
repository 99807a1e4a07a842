"""``offbeat doctor``: what is printed of a tree, and how it ends."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pipeline.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def save_interface(root: Path) -> None:
    folder = root / "class" / "net" / "eth0" / "statistics"
    folder.mkdir(parents=True)
    for counter in ("tx_bytes", "rx_bytes", "tx_packets", "rx_packets"):
        (folder / counter).write_text("1000\n")


def test_the_command_shows_it_and_ends_with_3_where_nothing_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_interface(tmp_path / "one")
    (tmp_path / "none").mkdir()

    assert main(["doctor", "--sys-root", str(tmp_path / "one"), "--for", "20ms", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["kind"] == "checkup"
    assert [port["name"] for port in found["ports"]] == ["eth0"]
    assert main(["doctor", "--sys-root", str(tmp_path / "none"), "--for", "20ms"]) == 3
    assert "nothing can be recorded" in capsys.readouterr().out
