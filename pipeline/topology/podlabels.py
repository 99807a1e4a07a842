"""What the labels, owners and annotations of a pod tell: its job, its place among the ranks, its devices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

from pipeline.topology.rails import natural

__all__ = ["devices_of", "job_of", "labels_of", "order_of", "why_no_rank"]

_JOB_LABELS: Final = (
    "training.kubeflow.org/job-name",
    "volcano.sh/job-name",
    "jobset.sigs.k8s.io/jobset-name",
    "leaderworkerset.sigs.k8s.io/name",
    "ray.io/cluster",
    "batch.kubernetes.io/job-name",
    "pytorch-job-name",
    "mpi-job-name",
    "mpi_job_name",
    "job-name",
)
"""Labels by which operators mark the pods of one job, the most telling first."""
_GROUP_LABEL: Final = "leaderworkerset.sigs.k8s.io/group-index"
"""Each group of a LeaderWorkerSet is a job of its own."""
_OUTER_LABELS: Final = (
    "jobset.sigs.k8s.io/job-global-index",
    "jobset.sigs.k8s.io/replicatedjob-name",
    "jobset.sigs.k8s.io/job-index",
    "volcano.sh/task-spec",
)
"""What orders the groups of a job's pods, in which indices begin anew."""
_RANK_LABELS: Final = (
    "training.kubeflow.org/replica-index",
    "volcano.sh/task-index",
    "leaderworkerset.sigs.k8s.io/worker-index",
    "batch.kubernetes.io/job-completion-index",
    "pytorch-replica-index",
)
_ROLE_LABELS: Final = (
    "training.kubeflow.org/job-role",
    "training.kubeflow.org/replica-type",
    "ray.io/node-type",
    "mpi-job-role",
    "mpi_role_type",
)
_FIRST_ROLES: Final = frozenset({"master", "chief", "head"})
_LAUNCHER: Final = "launcher"
_INDEX_ANNOTATION: Final = "batch.kubernetes.io/job-completion-index"
_NETWORK_ANNOTATIONS: Final = ("k8s.v1.cni.cncf.io/network-status", "k8s.v1.cni.cncf.io/networks-status")
_JOB_OWNERS: Final = frozenset(
    {"Job", "JobSet", "TrainJob", "PyTorchJob", "MPIJob", "TFJob", "JAXJob", "XGBoostJob", "PaddleJob", "RayCluster"}
)


def labels_of(metadata: Mapping[str, Any], *, key: str = "labels") -> dict[str, str]:
    """Return labels or annotations, whatever stands there; those that are no text are none."""
    given = metadata.get(key)
    items = given.items() if isinstance(given, Mapping) else ()
    return {str(name): value for name, value in items if isinstance(value, str)}


def job_of(metadata: Mapping[str, Any]) -> str | None:
    """Return the job of a pod, by its labels, else by what owns it; services and daemons are of none."""
    labels = labels_of(metadata)
    named = next((labels[label] for label in _JOB_LABELS if labels.get(label)), None)
    if named and labels.get(_GROUP_LABEL):
        return f"{named}-{labels[_GROUP_LABEL]}"
    return named or next((name for kind, name in _owners(metadata) if kind in _JOB_OWNERS), None)


def why_no_rank(metadata: Mapping[str, Any]) -> str:
    """Return why a pod of a job is none of its ranks, or of no job; empty if it may be one."""
    if job_of(metadata) is None:
        owner = next((f"{kind} {name}" for kind, name in _owners(metadata)), None)
        return "no label names its job" + (f", and {owner} is none" if owner else ", and nothing owns it")
    roles = {labels_of(metadata).get(label, "").lower() for label in _ROLE_LABELS}
    return "it launches the job and is none of its ranks" if _LAUNCHER in roles else ""


def order_of(metadata: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what sorts the pods of a job by rank: group, role, index, name."""
    labels, annotations = labels_of(metadata), labels_of(metadata, key="annotations")
    roles = {labels.get(label, "").lower() for label in _ROLE_LABELS}
    outer = tuple(natural(labels.get(label, "")) for label in _OUTER_LABELS)
    index = next((labels[label] for label in _RANK_LABELS if label in labels), annotations.get(_INDEX_ANNOTATION, ""))
    return outer, not roles & _FIRST_ROLES, natural(index), natural(str(metadata.get("name")))


def devices_of(metadata: Mapping[str, Any]) -> list[str]:
    """Return the RDMA devices that Multus says a pod was given.

    Raises
    ------
    ValueError
        If the annotation is not what it should be.

    References
    ----------
    Network Plumbing Working Group, "Device Information Specification", version 1.1.0: ``pci.rdma-device``.
    """
    annotations = labels_of(metadata, key="annotations")
    text = next((annotations[key] for key in _NETWORK_ANNOTATIONS if annotations.get(key)), "[]")
    networks = orjson.loads(text)
    return [device for network in networks for device in _rdma_devices(network)] if isinstance(networks, list) else []


def _rdma_devices(network: object) -> Iterator[str]:
    inner: object = network
    for key in ("device-info", "pci", "rdma-device"):
        inner = inner.get(key) if isinstance(inner, Mapping) else None
    if isinstance(inner, str):
        yield from (name for name in inner.split(",") if name)


def _owners(metadata: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    owners = metadata.get("ownerReferences")
    for owner in owners if isinstance(owners, list) else ():
        if isinstance(owner, Mapping) and owner.get("name"):
            yield str(owner.get("kind")), str(owner["name"])
