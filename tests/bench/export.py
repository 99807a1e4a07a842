"""Every single answer of a bench run as a table in a file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from pathlib import Path

    from tests.bench.ports import PortAnswer
    from tests.bench.scoring import Judged

__all__ = ["write_judged", "write_ports"]


def write_judged(judged: Iterable[Judged], path: Path) -> None:
    """Write one row a trace; the periods of several jobs are joined by ``+``."""
    _write([{"trace": str(one.key), **_flat(asdict(one), without="key")} for one in judged], path)


def write_ports(answers: Iterable[PortAnswer], path: Path) -> None:
    """Write one row a port and direction."""
    rows = [
        {
            **{f"truth_{name}" if name == "periods_s" else name: value for name, value in asdict(one.truth).items()},
            **_flat(asdict(one), without="truth"),
            "kind": one.kind,
            "is_false": one.is_false,
        }
        for one in answers
    ]
    _write([_flat(row, without="") for row in rows], path)


def _flat(row: dict[str, object], *, without: str) -> dict[str, object]:
    return {
        name: "+".join(f"{part:.6g}" for part in value) if isinstance(value, tuple) else value
        for name, value in row.items()
        if name != without
    }


def _write(rows: list[dict[str, object]], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows).to_csv(path, index=False)
