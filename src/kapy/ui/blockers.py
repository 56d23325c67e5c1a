"""Deliberate blockers of a cluster: hooks of extensions, and annotations of users. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from kapy.api.names import Annotation
from kapy.clusterctl.describe.tree import condition
from kapy.kube import Document
from kapy.ui.documents import annotations_of, name_of, worker_groups
from kapy.ui.hook_calls import HookCall
from kapy.ui.objects import ClusterObjects

UPGRADE_HOOK_PREFIX: Final = f"{Annotation.BEFORE_CLUSTER_UPGRADE_HOOK_PREFIX}/"
_MACHINE_HOOKS: Final = (
    f"{Annotation.PRE_DRAIN_HOOK_PREFIX}/",
    f"{Annotation.PRE_TERMINATE_HOOK_PREFIX}/",
)
_DEFERRALS: Final = (Annotation.TOPOLOGY_DEFER_UPGRADE, Annotation.TOPOLOGY_HOLD_UPGRADE_SEQUENCE)


@dataclass(frozen=True, slots=True)
class Blocker:
    """A hook or an annotation that blocks an operation on purpose.

    annotation: the name of the annotation, "" for a hook. retry: the time when the hook is called
    again, None if unknown.
    """

    subject: str
    what: str
    message: str
    since: str = ""
    annotation: str = ""
    retry: datetime | None = None
    seconds: float | None = None


def blockers_of(objects: ClusterObjects, calls: Sequence[HookCall]) -> list[Blocker]:
    """Return the blockers of the cluster and of its machines, in this order."""
    return [*_blocking_hooks(objects.cluster, calls), *_annotations(objects)]


def pending_hooks_of(cluster: Document) -> list[str]:
    """Return the hooks that must still be called after their operation."""
    listed = str(annotations_of(cluster).get(Annotation.PENDING_HOOKS) or "")
    return sorted(filter(None, listed.split(",")))


def _blocking_hooks(cluster: Document, calls: Sequence[HookCall]) -> Iterator[Blocker]:
    """Yield the hooks that answered that the operation must wait, else what the condition reports
    about hooks."""
    topology = condition(cluster, "TopologyReconciled") or {}
    if topology.get("status") == "True":
        return
    since = str(topology.get("lastTransitionTime") or "")
    lines = [line.strip("* ") for line in str(topology.get("message") or "").split("\n")]
    blocking = [line for line in lines if "hooks are blocking" in line]
    retried = [call for call in calls if call.retry is not None]
    if blocking:
        retried = [call for call in retried if any(call.hook in line for line in blocking)]
    for call in retried:
        name = f"{call.hook} ({call.handler})"
        yield Blocker("Cluster", name, call.message, since, "", call.retry, call.seconds)
    if not retried:
        yield from (Blocker("Cluster", "hook", line, since) for line in blocking)


def _annotations(objects: ClusterObjects) -> Iterator[Blocker]:
    for name in sorted(annotations_of(objects.cluster)):
        if name.startswith(UPGRADE_HOOK_PREFIX):
            yield Blocker("Cluster", "upgrade held by an annotation", name, annotation=name)
    for group in worker_groups(objects.cluster, "machineDeployments", "machinePools"):
        for name in deferrals_of(group):
            yield Blocker(f"workers {group.get('name')}", "upgrade deferred", name)
    for machine in objects.machines:
        if not machine["metadata"].get("deletionTimestamp"):
            continue
        for name in sorted(annotations_of(machine)):
            if name.startswith(_MACHINE_HOOKS):
                what = "deletion held by an annotation"
                yield Blocker(f"Machine {name_of(machine)}", what, name, annotation=name)


def deferrals_of(group: Document) -> list[str]:
    """Return the annotations that defer the upgrade of a worker group."""
    return [name for name in _DEFERRALS if name in annotations_of(group)]
