"""Pickles that are no dump: refused at their place, whatever they are, in bounded memory and time."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from profiler.errors import BadInput
from profiler.importers.traces.plain_pickle import load_plain
from tests.profiler.test_events_recorders import dump

HEAD = b"\x80\x04"
MANY = 100_000


@pytest.mark.parametrize(
    "code",
    [
        *(b"\x82\x01", b"\x83\x01\0", b"\x84\x01\0\0\0"),  # extension codes
        *(b"P1\n", b"NQ"),  # persistent ids
        *(b"cos\nsystem\n", b'(S"x"\nios\nsystem\n', b"\x8c\x02os\x8c\x06system\x93"),  # imports
        *(b"N)R", b"N)\x81", b"N))\x92", b"N}b", b"(oN"),  # calls
        *(b"\x97", b"\x98", b"\x8f", b"(\x91", b"\x96" + bytes(8)),  # buffers, sets, bytearrays
    ],
)
@pytest.mark.parametrize("wrap", [b"%b.", b"](%be.", b"}\x8c\x07entries](%bes."])
def test_every_instruction_that_is_not_plain_is_refused_by_name_wherever_it_stands(wrap: bytes, code: bytes) -> None:
    with pytest.raises(BadInput, match=r"^d: byte \d+: the pickle wants to run code \([A-Z0-9_]+"):
        load_plain(HEAD + wrap.replace(b"%b", code), name="d")


@pytest.mark.parametrize(
    "body",
    [b"N", b"]", b"(", b"N2", b"N\x94", b"h\0", b"N0", b"\x95" + bytes(8), b"]]a", b"))\x86", b"(l", b"(d"],
    ids=repr,
)
def test_a_pickle_of_endless_instructions_is_left_before_it_fills_the_memory(
    monkeypatch: pytest.MonkeyPatch, body: bytes
) -> None:
    monkeypatch.setattr("profiler.importers.traces.pickle_shape.MAX_HELD", 10_000)
    monkeypatch.setattr("profiler.importers.traces.pickle_shape.MAX_INSTRUCTIONS", 50_000)
    with pytest.raises(BadInput, match=r"d: byte \d+: (more than|values nested)"):
        load_plain(HEAD + b"Nq\0" + body * MANY + b".", name="d")


@pytest.mark.parametrize(("code", "width"), [(b"X", 4), (b"\x8d", 8), (b"B", 4), (b"\x8e", 8), (b"T", 4), (b"\x8b", 4)])
def test_a_length_that_the_file_has_not_is_damage(code: bytes, width: int) -> None:
    for length in (2 ** (8 * width - 1) - 1, 2 ** (8 * width) - 1, 4):
        with pytest.raises(BadInput, match="damaged pickle"):
            load_plain(HEAD + code + length.to_bytes(width, "little") + b"ab.", name="d")


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_dump_cut_anywhere_is_refused(protocol: int) -> None:
    data = pickle.dumps(dump(1), protocol=protocol)
    whole: Any = load_plain(data, name="d")

    assert len(whole["entries"]) == 3
    for n_bytes in range(len(data)):
        with pytest.raises(BadInput, match=r"^d: "):
            load_plain(data[:n_bytes], name="d")
