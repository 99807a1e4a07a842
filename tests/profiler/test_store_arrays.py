"""Columns made without pandas are those that pyarrow makes."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiler.store.arrays import column_of_numbers, column_of_values
from tests.profiler.frames import ethernet, ipv4, pcap

if TYPE_CHECKING:
    from pathlib import Path


@given(st.lists(st.none() | st.text(max_size=5)))
def test_texts_are_those_of_pyarrow(values: list[str | None]) -> None:
    try:
        expected = pa.array(values, type=pa.string())
    except UnicodeEncodeError:
        with pytest.raises(UnicodeEncodeError):
            column_of_values(values, pa.string())
        return
    found = column_of_values(values, pa.string())
    found.validate(full=True)

    assert found.equals(expected)


@given(st.lists(st.none() | st.integers(0, 2**15 - 1)))
@pytest.mark.parametrize("kind", [pa.int16(), pa.int32(), pa.int64(), pa.uint64(), pa.float64()])
def test_numbers_are_those_of_pyarrow(kind: pa.DataType, values: list[Any]) -> None:
    found = column_of_values(values, kind)
    found.validate(full=True)

    assert found.equals(pa.array(values, type=kind))


def test_numbers_of_numpy_are_those_of_pyarrow_whatever_their_stride() -> None:
    numbers = np.arange(20, dtype=np.uint16)

    assert column_of_numbers(numbers[::3], pa.uint16()).equals(pa.array(numbers[::3]))


def test_a_capture_gets_into_a_lake_without_pandas_and_without_numba_once_compiled(tmp_path: Path) -> None:
    frame = ethernet(ipv4(b"", ("10.0.0.1", "10.0.0.2"), proto=6), 0x0800)
    (tmp_path / "c.pcap").write_bytes(pcap([(1, 0, frame, 60)]))
    script = (
        "import sys; from profiler.importers import ingest\n"
        f"assert ingest({str(tmp_path / 'c.pcap')!r}, lake=sys.argv[1]).is_complete\n"
        "print(*(name for name in ('pandas', 'numba', 'scapy') if name in sys.modules))"
    )
    for name in ("first", "second"):
        command = [sys.executable, "-c", script, str(tmp_path / name)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert done.stdout.split() == []
