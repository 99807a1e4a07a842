"""`read_facts`: one file about a cluster, of whatever kind its content shows it to be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import orjson

from pipeline.topology.clusterfile import read_cluster_file
from pipeline.topology.fabric import is_fabric, read_fabric
from pipeline.topology.pods import is_pods, read_pods
from pipeline.topology.slurm import is_slurm, read_slurm
from pipeline.topology.slurmtext import is_slurm_text, read_slurm_text
from pipeline.topology.tables import is_table, read_table
from profiler.errors import BadInput
from profiler.importers.contents import inflated

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.topology.facts import Facts

__all__ = ["KINDS", "read_facts"]

KINDS: Final = (
    "a cluster file (TOML), output of ibnetdiscover, scontrol show job (also with --json), kubectl get pods -o json, "
    "or a table (CSV) of links, ports, jobs, placements or hosts"
)
MAX_BYTES: Final = 512 * 2**20
"""Of one file, unpacked: the pods of a cluster of 30,000 hosts; more is a mistake, or meant to fill memory."""


def read_facts(path: Path) -> Facts:
    """Return what a file knows; it may be compressed (gzip, zstd or xz).

    Raises
    ------
    BadInput
        If it cannot be read, is of no known kind, or is wrong.
    """
    text = _text(path)
    if (document := _document(text, path)) is not None:
        if is_slurm(document):
            return read_slurm(document, path=path)
        if is_pods(document):
            return read_pods(document, path=path)
        raise BadInput(f"{path}: JSON that is neither jobs of Slurm nor pods of Kubernetes; give {KINDS}")
    if is_slurm_text(text):
        return read_slurm_text(text, path=path)
    if is_fabric(text):
        return read_fabric(text, path=path)
    if is_table(text):
        return read_table(text, path=path)
    return read_cluster_file(text, path=path)


def _text(path: Path) -> str:
    if not path.exists():
        raise BadInput(f"{path}: No such file; give the path of {KINDS}")
    if path.is_dir():
        raise BadInput(f"{path}: Is a directory; give the path of {KINDS}")
    pieces: list[bytes] = []
    n_bytes = 0
    for piece in inflated(path):
        n_bytes += len(piece)
        if n_bytes > MAX_BYTES:
            raise BadInput(f"{path}: more than {MAX_BYTES // 2**20} MiB; give {KINDS}")
        pieces.append(piece)
    try:
        return b"".join(pieces).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: byte {error.start} is not UTF-8 text; give {KINDS}") from None


def _document(text: str, path: Path) -> Mapping[str, Any] | None:
    """Return a JSON object, or a bare list of pods or of jobs as one; None if the text is no JSON."""
    start = text.lstrip()[:1]
    if start not in ("{", "["):
        return None
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        if start == "[":  # TOML begins so too
            return None
        raise BadInput(f"{path}: JSON damaged or cut ({error}); fetch it again") from None
    if isinstance(document, list):
        return {"jobs": document} if is_slurm({"jobs": document}) else {"items": document}
    return dict(document)
