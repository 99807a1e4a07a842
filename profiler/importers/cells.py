"""Cells of a table to integers, exactly: no number passes through a float that was not one in the file."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from profiler.errors import BadInput
from profiler.importers.mapping import TIME_UNITS, TimeColumn

__all__ = ["Cells", "counts", "times"]

LARGEST: Final = (1 << 63) - 1
_PLACES: Final = 9
_DECIMAL: Final = r"^\s*\+?(?P<whole>[0-9]{1,19})(?:\.(?P<part>[0-9]*))?\s*$"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cells:
    """A column as integers; arrays of shape (n_rows,).

    Parameters
    ----------
    value
        The integers; 0 where there is none.
    known
        Where there is one.
    bad
        Where the cell holds something that is not a number that can be stored.
    """

    value: NDArray[np.int64]
    known: NDArray[np.bool_]
    bad: NDArray[np.bool_]


def counts(column: pa.Array, scale: Fraction) -> Cells:
    """Return a column times ``scale``, rounded down to whole numbers that are not negative and fit 63 bits.

    Raises
    ------
    BadInput
        If the column's type is not one of numbers or text.
    """
    if pa.types.is_integer(column.type):
        return _of_integers(column, scale)
    if pa.types.is_floating(column.type):
        return _of_floats(column, scale)
    if pa.types.is_decimal(column.type) or pa.types.is_null(column.type):
        column = column.cast(pa.string())
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return _of_text(column, scale)
    raise BadInput(f"expected numbers, found {column.type}")


def times(column: pa.Array, time: TimeColumn) -> Cells:
    """Return a column of times as UTC epoch ns.

    Raises
    ------
    BadInput
        If the column's type is not one of times, numbers or text, or the format has no meaning.
    """
    if pa.types.is_timestamp(column.type) or time.format is not None:
        return _of_datetimes(column, time)
    return counts(column, Fraction(TIME_UNITS[time.unit]))


def _of_integers(column: pa.Array, scale: Fraction) -> Cells:
    known = _valid(column)
    raw = pc.fill_null(column, 0).to_numpy(zero_copy_only=False)
    fits = (raw >= 0) & (raw <= LARGEST // scale.numerator)
    value = np.where(fits, raw, 0).astype(np.int64)
    if scale != 1:
        value = value * scale.numerator // scale.denominator
    return Cells(value=value, known=known & fits, bad=known & ~fits)


def _of_floats(column: pa.Array, scale: Fraction) -> Cells:
    raw = pc.fill_null(column, float("nan")).to_numpy(zero_copy_only=False).astype(np.float64)
    absent = np.isnan(raw)
    fits = (raw >= 0) & (raw <= LARGEST // scale.numerator * 0.999999)
    safe = np.where(fits, raw, 0.0)
    whole = np.floor(safe)
    part = np.rint((safe - whole) * float(scale.numerator)).astype(np.int64)
    value = (whole.astype(np.int64) * scale.numerator + part) // scale.denominator
    return Cells(value=value, known=fits, bad=~fits & ~absent)


def _of_text(column: pa.Array, scale: Fraction) -> Cells:
    parts = pc.extract_regex(column, _DECIMAL)
    matched = _valid(parts)
    whole = pc.fill_null(pc.struct_field(parts, "whole"), "0").cast(pa.uint64()).to_numpy(zero_copy_only=False)
    places = pc.utf8_rpad(pc.fill_null(pc.struct_field(parts, "part"), ""), _PLACES, "0")
    part = pc.utf8_slice_codeunits(places, 0, _PLACES).cast(pa.int64()).to_numpy(zero_copy_only=False)
    fits = matched & (whole < LARGEST // scale.numerator)
    scaled = np.where(fits, whole, 0).astype(np.int64) * scale.numerator
    rest = scaled % scale.denominator * 10**_PLACES + part * scale.numerator
    value = np.where(fits, scaled // scale.denominator + rest // (scale.denominator * 10**_PLACES), 0)
    other = _valid(column) & ~fits
    for i in np.flatnonzero(other):
        number = _of_decimal(column[int(i)].as_py(), scale)
        if number is not None:
            value[i], fits[i] = number, True
    return Cells(value=value, known=fits, bad=_valid(column) & ~fits)


def _of_decimal(text: str, scale: Fraction) -> int | None:
    """Return a number in any notation times ``scale``, None where it is none or cannot be stored."""
    if "_" in text:  # which Python takes for digits
        return None
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    if not number.is_finite() or number < 0 or number.adjusted() > 19 or number.adjusted() < -40:
        return None
    value = int(Fraction(number) * scale)
    return value if value <= LARGEST else None


def _of_datetimes(column: pa.Array, time: TimeColumn) -> Cells:
    import pandas as pd

    known = _valid(column)
    spelling = "ISO8601" if time.format == "iso" else time.format
    try:
        stamps = pd.Series(pd.to_datetime(column.to_pandas(), format=spelling, errors="coerce"))
        if stamps.dt.tz is None:
            stamps = stamps.dt.tz_localize(time.timezone, ambiguous="NaT", nonexistent="NaT")
    except (ValueError, TypeError, AttributeError) as error:
        raise BadInput(f"cannot be read as times of format {time.format!r} ({error})") from error
    storable = stamps.between(pd.Timestamp(0, tz="UTC"), pd.Timestamp(LARGEST, tz="UTC"))
    value = stamps.where(storable).fillna(pd.Timestamp(0, tz="UTC")).dt.as_unit("ns").astype("int64").to_numpy()
    fits = storable.to_numpy(dtype=bool)
    return Cells(value=value, known=known & fits, bad=known & ~fits)


def _valid(column: pa.Array) -> NDArray[np.bool_]:
    valid: NDArray[np.bool_] = pc.is_valid(column).to_numpy(zero_copy_only=False)
    return valid
