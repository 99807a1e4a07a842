"""Jobs and their nodes from Kubernetes: ``kubectl get pods --all-namespaces -o json``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from pipeline.topology.cluster import Omission
from pipeline.topology.facts import Facts, KnownJob, Seat
from pipeline.topology.podlabels import devices_of, job_of, order_of, why_no_rank

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["is_pods", "read_pods"]

_POD: Final = "Pod"
_MAX_WORDS: Final = 160
"""Characters of what the scheduler says of a pod that waits."""


def is_pods(document: object) -> bool:
    """Return whether a JSON document is a pod, or a list with pods."""
    if not isinstance(document, Mapping):
        return False
    items = document.get("items")
    if not isinstance(items, list):
        return document.get("kind") == _POD
    return document.get("kind") in ("List", "PodList") or any(_is_pod(item) for item in items)


def read_pods(document: Mapping[str, Any], *, path: Path) -> Facts:
    """Return the jobs whose pods run, each with the nodes of its pods in order of their rank."""
    jobs: dict[str, list[Mapping[str, Any]]] = {}
    omissions = []
    items = document["items"] if isinstance(document.get("items"), list) else [document]
    for i, item in enumerate(items, start=1):
        what = f"pod {_name(item)}" if _is_pod(item) else f"item {i} of {path}"
        if why := _why_not(item):
            omissions.append(Omission(what=what, why=why))
            continue
        metadata = item["metadata"]
        jobs.setdefault(f"{_namespace(metadata)}/{job_of(metadata)}", []).append(item)
    if not jobs and not omissions:
        omissions.append(Omission(what=str(path), why="it lists no pods"))
    known = tuple(_job(job, pods, path, omissions) for job, pods in jobs.items())
    return Facts(source=str(path), jobs=known, omissions=tuple(omissions))


def _job(job_id: str, pods: list[Mapping[str, Any]], path: Path, omissions: list[Omission]) -> KnownJob:
    pods.sort(key=lambda pod: order_of(pod["metadata"]))
    seats = dict.fromkeys(seat for pod in pods for seat in _seats(pod, omissions))
    return KnownJob(job_id=job_id, seats=tuple(seats), known="hosts", place=f"{path}: pod {_name(pods[0])}")


def _seats(pod: Mapping[str, Any], omissions: list[Omission]) -> Iterator[Seat]:
    host = pod["spec"]["nodeName"]
    try:
        devices = devices_of(pod["metadata"])
    except ValueError as error:
        why = f"its network-status is damaged ({error}); all adapters of its node are taken for its"
        omissions.append(Omission(what=f"devices of pod {_name(pod)}", why=why))
        devices = []
    yield from (Seat(host=host, device=device) for device in devices)
    if not devices:
        yield Seat(host=host)


def _is_pod(item: object) -> bool:
    if not isinstance(item, Mapping) or item.get("kind", _POD) != _POD:
        return False
    return isinstance(item.get("spec"), Mapping) and isinstance(item.get("metadata"), Mapping)


def _why_not(item: object) -> str:
    """Return why an item is no rank of a job that runs; empty if it may be one."""
    if not isinstance(item, Mapping) or not _is_pod(item):
        return "it is no pod"
    status = item.get("status")
    phase = status.get("phase") if isinstance(status, Mapping) else None
    if phase != "Running":
        return f"its phase is {phase or 'not told'}{_waits(status)}"
    node = item["spec"].get("nodeName")
    return why_no_rank(item["metadata"]) if isinstance(node, str) and node else "it is on no node"


def _waits(status: object) -> str:
    """Return what the scheduler says of a pod that is on no node yet."""
    conditions = status.get("conditions") if isinstance(status, Mapping) else None
    for condition in conditions if isinstance(conditions, list) else ():
        if isinstance(condition, Mapping) and condition.get("status") == "False" and condition.get("message"):
            return f": {str(condition['message'])[:_MAX_WORDS]}"
    return ""


def _namespace(metadata: Mapping[str, Any]) -> str:
    return str(metadata.get("namespace", "default"))


def _name(pod: Mapping[str, Any]) -> str:
    metadata = pod["metadata"]
    return f"{_namespace(metadata)}/{metadata.get('name', '?')}"
