"""`read_candidates`: a JSON file of placements to rank.

::

    {"candidates": [
      {"id": "same rack",  "jobs": {"C": ["h1", "h2"]}},
      {"id": "two racks",  "jobs": {"C": ["h1", {"host": "h9", "device": "eth0"}]}}
    ]}

``jobs`` holds the jobs that are new or would be moved, each with its hosts, one a rank in ring order; all others stay
where the cluster file has them. A bare list of candidates serves as well.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from pipeline.ranking.candidate import Candidate, check_candidates
from profiler.errors import BadInput

__all__ = ["read_candidates"]

MAX_BYTES: Final = 64 * 2**20
"""Ten thousand placements of fifty jobs on eight hosts each fit; what is larger is another file."""

MAX_SHOWN: Final = 40
"""A message shows so many characters of a wrong key."""


def read_candidates(path: str | Path) -> list[Candidate]:
    """Read a candidates file; see this module's own docstring.

    Parameters
    ----------
    path
        JSON file.

    Raises
    ------
    BadInput
        If the file is missing, too large, not JSON, holds no candidate, or one is not what it should be.
    """
    path = Path(path)
    document = _load(path)
    if isinstance(document, dict):
        unknown = sorted(document.keys() - {"candidates", "kind", "version"})
        if unknown:
            raise BadInput(f"{path}: unknown key {unknown[0][:MAX_SHOWN]!r}; expected candidates")
        document = document.get("candidates")
    if not isinstance(document, list):
        raise BadInput(f'{path}: no list of candidates; expected {{"candidates": [{{"id": …, "jobs": …}}]}}')
    return check_candidates(document, place=str(path))


def _load(path: Path) -> Any:  # noqa: ANN401 - whatever JSON has
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES + 1)
        if len(text) > MAX_BYTES:
            raise BadInput(f"{path}: more than the {MAX_BYTES} bytes that are read; split the file")
        return json.loads(text, object_pairs_hook=_once)
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}; give the path of a candidates file (JSON)") from None
    except RecursionError:
        raise BadInput(f"{path}: nested too deeply; a candidates file is {{candidates: [{{id, jobs}}]}}") from None
    except ValueError as error:
        raise BadInput(f"{path}: not JSON ({error}); a candidates file is JSON in UTF-8") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the keys and values of an object; a key given twice would hide a job or its hosts."""
    values: dict[str, Any] = {}
    for name, value in pairs:
        if name in values:
            raise ValueError(f"key {name[:MAX_SHOWN]!r} is given twice in one object")
        values[name] = value
    return values
