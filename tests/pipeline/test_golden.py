"""One whole answer a command, on the sample data, as a reader gets it: ``tests/golden/<name>.txt``.

These files hold what was printed, not what is true (other tests do that): they show a reviewer what a change does to
the answers. After a change that is meant, write them anew and read the difference::

    OFFBEAT_GOLDEN=write pytest tests/pipeline/test_golden.py
"""

from __future__ import annotations

import io
import os
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Final

import pytest

from pipeline.cli.main import COMMANDS, main
from pipeline.demo import SAMPLE_DATA

GOLDEN: Final = Path(__file__).parents[1] / "golden"
TOLERANCE_FRAC: Final = 0.02
"""Last digits differ between processors and versions of numerical libraries."""

ANSWERS: Final = {
    "demo": ["demo", "--out", "{out}"],
    "ingest": ["ingest", "{data}/shared.csv.gz", "--lake", "{lake}", "--host", "sw1"],
    "profile": ["profile", "{lake}"],
    "analyze": ["analyze", "--lake", "{lake}", "--cluster", "{data}/cluster.toml"],
    "discover": ["discover", "--lake", "{lake}"],
    "compat": ["compat", "--capacity", "400Mbps", "--job", "A={burst}", "--job", "B={burst}", "--json"],
    "simulate": ["simulate", "--capacity", "400Mbps", "--job", "A={burst}", "--job", "B={burst}", "--jitter", "0.03"],
    "rank": [
        *("rank", "{data}/candidates.json", "--cluster", "{data}/cluster.toml", "--by", "time"),
        *("--job", "A={burst}", "--job", "B={burst}"),
    ],
    "lake": ["lake", "{lake}", "--check"],
    "query": ["query", "jobs_by_link", "--lake", "{lake}", "--csv"],
    "sql": ["sql", "--lake", "{lake}", "select device, direction, unit, kind, layer from series order by all"],
    "report": ["report", "--lake", "{lake}", "-o", "{out}/again.html", "--force"],
}
"""In this order: ``demo`` makes the lake that the others read."""
LIVE: Final = {"doctor", "record"}
"""Commands whose answer is of the moment."""
BURST: Final = '{"period_s": 0.255, "phases": [{"start_s": 0, "width_s": 0.114, "rate_bps": 4e8}]}'

_NUMBER: Final = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.]*\.(?:gz|html|toml))")

_ELAPSED: Final = re.compile(r'("elapsed_s": )[-+.\de]+')
"""How long an answer took is of the moment."""

pytestmark = pytest.mark.skipif(not SAMPLE_DATA.is_dir(), reason=f"{SAMPLE_DATA} is not there: not a checkout")


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return what each command prints, with the folders of this run replaced by names."""
    out = tmp_path_factory.mktemp("golden") / "out"
    return {name: _answer(argv, out) for name, argv in ANSWERS.items()}


def _answer(argv: list[str], out: Path) -> str:
    places = {**_places(out), "burst": BURST}
    words = [re.sub(r"\{(\w+)\}", lambda match: places.get(match[1], match[0]), word) for word in argv]
    with redirect_stdout(io.StringIO()) as printed, pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "200")
        main(words)
    return _named(printed.getvalue(), _places(out))


def _places(out: Path) -> dict[str, str]:
    """Return the folders of this run, those within others first."""
    lake = next(out.glob("lake-*"), None)
    return {**({"lake": str(lake)} if lake else {}), "out": str(out), "data": str(SAMPLE_DATA)}


def _named(text: str, places: dict[str, str]) -> str:
    text = _ELAPSED.sub(r"\1null", text)
    for name, place in places.items():
        text = text.replace(place, f"<{name}>")
    return "\n".join(re.sub(r"(?<=\S) {2,}", "  ", line).rstrip() for line in text.splitlines()).strip() + "\n"


@pytest.mark.parametrize("name", ANSWERS)
def test_answer_is_the_golden_one_up_to_the_last_digits(name: str, answers: dict[str, str]) -> None:
    golden = GOLDEN / f"{name}.txt"
    if os.environ.get("OFFBEAT_GOLDEN") == "write":
        golden.write_text(answers[name], encoding="utf-8")
    expected = golden.read_text(encoding="utf-8")

    assert _NUMBER.sub("#", answers[name]) == _NUMBER.sub("#", expected)
    for found, wanted in zip(_NUMBER.findall(answers[name]), _NUMBER.findall(expected), strict=True):
        assert float(found) == pytest.approx(float(wanted), rel=TOLERANCE_FRAC, abs=_last_digit(wanted))


def _last_digit(number: str) -> float:
    """Return what one in the last place of a printed number is worth, such as 0.01 in -0.05."""
    mantissa, _, exponent = number.lower().partition("e")
    return float(f"1e{int(exponent or 0) - len(mantissa.partition('.')[2])}")


def test_numbers_of_an_answer_may_differ_by_their_last_digits_only() -> None:
    assert pytest.approx(0.1475, rel=TOLERANCE_FRAC, abs=_last_digit("0.1475")) != 0.1275
    assert pytest.approx(0.1275, rel=TOLERANCE_FRAC, abs=_last_digit("0.1275")) == 0.1274
    assert [_last_digit(number) for number in ("7", "-0.05", "1.5e-3")] == [1.0, 0.01, 1e-4]


def test_every_command_but_live_ones_has_a_golden_answer() -> None:
    assert set(ANSWERS) | LIVE == set(COMMANDS)
