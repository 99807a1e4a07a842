"""Jobs and their nodes from Kubernetes: ``kubectl get pods --all-namespaces -o json``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from pipeline.topology.cluster import HostedJob, Knowledge, Omission

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["is_pods", "read_pods"]

_JOB_LABELS: Final = (
    "training.kubeflow.org/job-name",
    "volcano.sh/job-name",
    "jobset.sigs.k8s.io/jobset-name",
    "leaderworkerset.sigs.k8s.io/name",
    "ray.io/cluster",
    "batch.kubernetes.io/job-name",
    "job-name",
)
"""Labels by which operators mark the pods of one job, the most telling first."""
_RANK_LABELS: Final = (
    "training.kubeflow.org/replica-index",
    "volcano.sh/task-index",
    "leaderworkerset.sigs.k8s.io/worker-index",
    "batch.kubernetes.io/job-completion-index",
)


def is_pods(document: object) -> bool:
    """Return whether a JSON document is a list of pods."""
    items = document.get("items") if isinstance(document, Mapping) else None
    return isinstance(items, list) and all(
        isinstance(item, Mapping) and isinstance(item.get("spec"), Mapping) and item.get("kind", "Pod") == "Pod"
        for item in items
    )


def read_pods(document: Mapping[str, Any], *, path: Path) -> Knowledge:
    """Return the jobs whose pods run, each with the nodes of its pods in order of their index."""
    pods: dict[str, list[tuple[int, str, str]]] = {}
    omissions = []
    for item in document["items"]:
        metadata = item.get("metadata") or {}
        name = f"{metadata.get('namespace', 'default')}/{metadata.get('name', '?')}"
        job, why = _job(metadata), _why_not(item)
        if job is None:
            why = why or "no label names its job, and nothing owns it"
        if why or job is None:
            omissions.append(Omission(what=f"pod {name}", why=why))
            continue
        key = f"{metadata.get('namespace', 'default')}/{job}"
        pods.setdefault(key, []).append((_rank(metadata), name, item["spec"]["nodeName"]))
    hosted = [
        HostedJob(job_id=job, hosts=tuple(dict.fromkeys(node for _, _, node in sorted(members))), source=str(path))
        for job, members in pods.items()
    ]
    return Knowledge(hosted=tuple(hosted), omissions=tuple(omissions), source=str(path))


def _why_not(item: Mapping[str, Any]) -> str:
    """Return why a pod sends nothing; empty if it may."""
    phase = (item.get("status") or {}).get("phase")
    if phase != "Running":
        return f"its phase is {phase or 'not told'}"
    return "" if isinstance(item["spec"].get("nodeName"), str) else "it is on no node"


def _job(metadata: Mapping[str, Any]) -> str | None:
    """Return the job of a pod, by its labels, else by what owns it."""
    labels = metadata.get("labels") or {}
    owners = metadata.get("ownerReferences") or []
    named = (str(labels[label]) for label in _JOB_LABELS if labels.get(label))
    return next(named, None) or next(_owners(owners), None)


def _owners(owners: object) -> Iterator[str]:
    for owner in owners if isinstance(owners, list) else ():
        if isinstance(owner, Mapping) and owner.get("kind") not in ("DaemonSet", "Node") and owner.get("name"):
            yield str(owner["name"])


def _rank(metadata: Mapping[str, Any]) -> int:
    labels = metadata.get("labels") or {}
    return next((int(labels[label]) for label in _RANK_LABELS if str(labels.get(label, "")).isdigit()), 0)
