"""The labels, annotations and taints that a Machine syncs to its Node (pure functions).

Cluster API manages a few label domains and its own annotations; everything else on the Node is left
unchanged. Synced names are listed in two annotations of the Node, so that names which disappear
from the Machine disappear from the Node. The uninitialized taint is removed once the labels are
set: workloads must not be scheduled by missing labels.

Taints of the Machine (`spec.taints`) with the propagation Always are listed in an annotation of the
Node, too. Taints with the propagation OnInitialization are added once, before that annotation
exists, and belong to the Node from then on. A taint is identified by key and effect; its value
follows the Machine's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kapy.api.embedded import MachineTaint
from kapy.api.machine import Machine
from kapy.api.names import Annotation, Label
from kapy.kube import Document
from kapy.kube.meta import controller_of
from kapy.kube.patch.merge_patch import difference
from kapy.kube.regexp import Regexp

_OWN_ANNOTATIONS: Final = (
    Annotation.CLUSTER_NAME,
    Annotation.CLUSTER_NAMESPACE,
    Annotation.MACHINE,
    Annotation.OWNER_KIND,
    Annotation.OWNER_NAME,
)
UNINITIALIZED: Final[Document] = {
    "key": "node.cluster.x-k8s.io/uninitialized",
    "effect": "NoSchedule",
}
OUTDATED: Final[Document] = {
    "key": "node.cluster.x-k8s.io/outdated-revision",
    "effect": "PreferNoSchedule",
}
_ALWAYS: Final = "Always"


@dataclass(frozen=True, slots=True)
class SyncedMetadata:
    """Names of additional labels and annotations that are synced to Nodes
    (`--additional-sync-machine-labels`, `--additional-sync-machine-annotations`).
    """

    labels: Sequence[Regexp] = ()
    annotations: Sequence[Regexp] = ()


DEFAULT_SYNC: Final = SyncedMetadata()


@dataclass(frozen=True, slots=True)
class NodeMetadataInput:
    """Further inputs for a Node's metadata besides its Machine.

    interruptible: the infrastructure may terminate the machine at any time. outdated: the Machine
    belongs to an old revision of its MachineDeployment. taints: the Machine's taints are propagated
    (feature gate MachineTaintPropagation).
    """

    interruptible: bool = False
    outdated: bool = False
    taints: bool = False
    synced: SyncedMetadata = DEFAULT_SYNC


def node_patch(node: Document, machine: Machine, inputs: NodeMetadataInput) -> Document:
    """Return the merge patch that syncs the Node with its Machine; {} if nothing changes.

    The patch carries the resourceVersion from which it was computed, since taints have other
    writers.
    """
    before = node["metadata"]
    labels = _managed_labels(machine.metadata.labels, inputs.synced.labels)
    if inputs.interruptible:
        labels[Label.INTERRUPTIBLE] = ""
    annotations = _managed_annotations(machine, inputs.synced.annotations)
    was_labels = before.get("labels") or {}
    was_annotations = before.get("annotations") or {}
    now_labels = _replace_managed(
        was_labels, _tracked_names(was_annotations, Annotation.LABELS_FROM_MACHINE), labels
    )
    previous = {
        *_tracked_names(was_annotations, Annotation.ANNOTATIONS_FROM_MACHINE),
        *_OWN_ANNOTATIONS,
    }
    now_annotations = _replace_managed(was_annotations, previous, annotations)
    now_annotations[Annotation.LABELS_FROM_MACHINE] = ",".join(sorted(labels))
    own = sorted(name for name in annotations if name not in _OWN_ANNOTATIONS)
    now_annotations[Annotation.ANNOTATIONS_FROM_MACHINE] = ",".join(own)
    was_taints = (node.get("spec") or {}).get("taints") or []
    now_taints = [taint for taint in was_taints if not _same_taint(taint, UNINITIALIZED)]
    if inputs.taints:
        now_taints, owned = _propagate_taints(now_taints, was_annotations, machine.spec.taints)
        now_annotations[Annotation.TAINTS_FROM_MACHINE] = owned
    now_taints = _mark_outdated(now_taints, outdated=inputs.outdated)

    metadata: Document = {}
    if now_labels != was_labels or now_annotations != was_annotations:
        metadata = difference(
            {"labels": was_labels, "annotations": was_annotations},
            {"labels": now_labels, "annotations": now_annotations},
        )
    patch: Document = {"metadata": metadata} if metadata else {}
    if now_taints != was_taints:
        patch["spec"] = {"taints": now_taints or None}
    if patch:
        patch["metadata"] = {**metadata, "resourceVersion": before["resourceVersion"]}
    return patch


def _managed_labels(labels: dict[str, str], patterns: Sequence[Regexp] = ()) -> dict[str, str]:
    """Return the labels of a Machine that are synced: three domains, and additional names."""
    return {
        name: value
        for name, value in labels.items()
        if name.partition("/")[0] == Label.NODE_ROLE_PREFIX
        or _within(name, Label.NODE_RESTRICTION_DOMAIN)
        or _within(name, Label.MANAGED_NODE_DOMAIN)
        or any(pattern.matches(name) for pattern in patterns)
    }


def _managed_annotations(machine: Machine, patterns: Sequence[Regexp] = ()) -> dict[str, str]:
    """Return the annotations for a Machine's Node: its owner, one domain, and additional names."""
    annotations = {
        Annotation.CLUSTER_NAME: machine.spec.cluster_name,
        Annotation.CLUSTER_NAMESPACE: machine.metadata.namespace,
        Annotation.MACHINE: machine.metadata.name,
    }
    owner = controller_of(machine)
    if owner is not None:
        annotations |= {Annotation.OWNER_KIND: owner.kind, Annotation.OWNER_NAME: owner.name}
    own = machine.metadata.annotations.items()
    return annotations | {
        name: value
        for name, value in own
        if _within(name, Label.MANAGED_NODE_DOMAIN)
        or any(pattern.matches(name) for pattern in patterns)
    }


def _within(name: str, domain: str) -> bool:
    result = name.partition("/")[0]
    return result == domain or result.endswith("." + domain)


def _tracked_names(annotations: dict[str, str], name: str) -> set[str]:
    return {part for part in annotations.get(name, "").split(",") if part}


def _replace_managed(was: dict[str, str], desired: set[str], now: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in was.items() if name not in desired} | now


def _mark_outdated(taints: list[Document], *, outdated: bool) -> list[Document]:
    if not outdated:
        return [taint for taint in taints if not _same_taint(taint, OUTDATED)]
    return taints if any(_same_taint(taint, OUTDATED) for taint in taints) else [*taints, OUTDATED]


def _propagate_taints(
    taints: Sequence[Document], annotations: Mapping[str, str], desired: Sequence[MachineTaint]
) -> tuple[list[Document], str]:
    """Return the taints of the Node, and the annotation that lists the Machine's taints.

    taints, annotations: the Node's current ones.
    """
    listed = annotations.get(Annotation.TAINTS_FROM_MACHINE)
    owned = {_taint_name(item) for item in desired if item.propagation == _ALWAYS}
    desired_names = {_taint_name(item) for item in desired}
    parts = {part for part in (listed or "").split(",") if part} - desired_names
    now = [taint for taint in taints if f"{taint.get('key')}:{taint.get('effect')}" not in parts]
    for machine_taint in desired:
        if machine_taint.propagation == _ALWAYS or listed is None:
            now = _add_taints(now, machine_taint)
    return now, ",".join(sorted(owned))


def _same_taint(taint: Document, other: Document) -> bool:
    """Return whether two taints have the same key and effect."""
    return (taint.get("key"), taint.get("effect")) == (other["key"], other["effect"])


def _add_taints(taints: Iterable[Document], desired: MachineTaint) -> list[Document]:
    result: Document = {"key": desired.key, "effect": desired.effect}
    if desired.value:
        result["value"] = desired.value
    now, value = [], False
    for taint in taints:
        if _same_taint(taint, result):
            value = True
            taint = taint if taint.get("value", "") == desired.value else result
        now.append(taint)
    return now if value else [*now, result]


def _taint_name(taint: MachineTaint) -> str:
    return f"{taint.key}:{taint.effect}"
