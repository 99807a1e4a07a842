"""Mutated captures: nothing crashes, nothing is read beyond the end, nothing is counted that cannot be there.

``python -m tests.bench.fuzz_captures --minutes 10`` does the same for longer.
"""

from __future__ import annotations

import contextlib
import gzip
import signal
import subprocess
import sys
from typing import Literal

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from profiler.errors import BadInput
from profiler.importers import Options
from profiler.importers.capture import CAPTURE
from profiler.importers.inputs import Input
from profiler.importers.sink import MemorySink
from tests.data import ROOT
from tests.profiler.captures_mutants import CORPUS, mutant
from tests.profiler.captures_soundness import PIECES, check_any_capture
from tests.profiler.captures_traps import TRAPS
from tests.profiler.captures_twin import framing_of

BEYOND = """
import ctypes
from tests.profiler.captures_guard import guarded
with guarded(bytes(5000), against="{against}") as window:
    start = window.data.ctypes.data
    ctypes.string_at(start, 5000)
    print("inside", flush=True)
    ctypes.string_at(start {step}, 1)
"""
SIDES: tuple[Literal["start", "end"], ...] = ("start", "end")
N_MUTANTS = 150


@pytest.mark.parametrize(("against", "step"), [("end", "+ 5000"), ("start", "- 1")])
def test_one_byte_beyond_a_guarded_capture_kills(against: str, step: str) -> None:
    script = BEYOND.format(against=against, step=step)
    run = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)

    assert (run.stdout, run.returncode) == ("inside\n", -signal.SIGSEGV)


@settings(max_examples=N_MUTANTS, deadline=None)
@given(seed=st.integers(0, 2**63), against=st.sampled_from(SIDES), piece_bytes=st.sampled_from(PIECES))
def test_mutated_capture_is_read_within_its_bytes_and_counted_once(
    seed: int, against: Literal["start", "end"], piece_bytes: int
) -> None:
    check_any_capture(mutant(np.random.default_rng(seed)), against=against, piece_bytes=piece_bytes)


def test_every_trap_cut_at_its_middle_is_read_within_its_bytes() -> None:
    for i, data in enumerate(CORPUS):
        check_any_capture(data[: len(data) // 2], against=SIDES[i % 2])


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**63), packed=st.sampled_from([gzip.compress, zstandard.compress]), n_cut=st.integers(0, 30)
)
def test_mutated_compression_is_told_or_read(
    tmp_path_factory: pytest.TempPathFactory, seed: int, packed: object, n_cut: int
) -> None:
    assert callable(packed)
    rng = np.random.default_rng(seed)
    data = bytearray(packed(mutant(rng)))
    data[int(rng.integers(len(data)))] ^= int(rng.integers(256))
    path = tmp_path_factory.getbasetemp() / "mutant"
    path.write_bytes(data[: len(data) - n_cut])
    sink = MemorySink()
    with contextlib.suppress(BadInput):
        coverage = CAPTURE.read(Input(name="mutant", path=path), sink, Options())
        assert sum(sum(table["packets"].to_pylist()) for table in sink.flows) == coverage.totals["packets"]


@pytest.mark.parametrize("name", [name for name in TRAPS if name.endswith((".pcap", ".pcapng"))])
def test_slow_twin_finds_in_the_traps_what_was_written(name: str) -> None:
    trap = TRAPS[name]
    framing = framing_of(trap.data)
    if framing is None:
        assert name == "gzip-without-saying-so.pcap"
        return

    written_bytes = sum(packet.written_bytes for packet in trap.packets)
    assert (framing.n_packets, framing.wire_bytes) == (len(trap.packets), written_bytes)
    assert (framing.first_ns, framing.last_ns, framing.stops_at) == (*trap.span_ns, trap.stops_at)
