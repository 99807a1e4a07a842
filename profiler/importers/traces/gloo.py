"""Collectives of gloo in a trace of the PyTorch profiler: ranges on the host's threads, since there is no kernel."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from profiler.importers.traces.sizes import amount, message_bytes, tensor_elements
from profiler.importers.traces.texts import text_of

__all__ = ["GlooGroup", "gloo_bytes", "gloo_group", "is_gloo"]

_PREFIX: Final = "gloo:"
_SAME_SIZE: Final = frozenset(("all_reduce", "broadcast", "reduce", "send", "recv"))
"""What comes out is as large as what goes in; the trace tells what goes in."""
_TYPES: Final = {"long int": "long", "short int": "short", "signed char": "char", "unsigned char": "byte"}
"""C++ types to those of `ELEMENT_BYTES`."""


class GlooGroup(NamedTuple):
    """The group whose collectives a trace holds: its name, and its ranks; NaN where they are not known."""

    name: str
    n_ranks: float


def is_gloo(event: Mapping[str, Any]) -> bool:
    """Return whether an event is the range in which a collective of gloo ran."""
    name = event.get("name")
    return event.get("cat") == "user_annotation" and isinstance(name, str) and name.startswith(_PREFIX)


def gloo_group(header: Mapping[str, Any]) -> GlooGroup:
    """Return the group of a trace that has only one; events do not tell theirs."""
    info = header.get("distributedInfo")
    groups = info.get("pg_config") if isinstance(info, dict) else None
    if not isinstance(groups, list) or len(groups) != 1 or not isinstance(groups[0], dict):
        return GlooGroup("gloo", math.nan)
    about, name = text_of(groups[0].get("pg_desc")), text_of(groups[0].get("pg_name"))
    return GlooGroup(f"{about}:{name}", amount(groups[0].get("pg_size")))


def gloo_bytes(name: str, given: Mapping[str, Any], *, group: GlooGroup) -> float:
    """Return the size of a message; NaN where the trace does not tell it, as without ``record_shapes=True``."""
    operation = name.removeprefix(_PREFIX)
    times = 1.0 if operation in _SAME_SIZE else group.n_ranks if operation == "all_gather" else math.nan
    types = given.get("Input type")
    if not isinstance(types, list) or len(set(map(text_of, types))) != 1 or math.isnan(times):
        return math.nan
    dtype = text_of(types[0]).removeprefix("c10::")
    return message_bytes(tensor_elements(given.get("Input Dims")) * times, dtype=_TYPES.get(dtype, dtype))
