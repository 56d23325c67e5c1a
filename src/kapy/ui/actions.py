"""Actions on a cluster and its objects: what each one writes, and its command. Pure."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final

from kapy.api.names import Annotation
from kapy.api.times import stamp
from kapy.clusterctl.describe.source import CLUSTERS, MACHINE_DEPLOYMENTS, MACHINES
from kapy.kube import Document, Key
from kapy.kube.names import Resource
from kapy.kube.nested import value_at
from kapy.ui.blockers import UPGRADE_HOOK_PREFIX, deferrals_of
from kapy.ui.documents import annotations_of, name_of, part, worker_groups
from kapy.ui.objects import ClusterObjects
from kapy.ui.rights import Right

CONTROL_PLANES: Final = Resource(
    "controlplane.cluster.x-k8s.io", "v1beta2", "kubeadmcontrolplanes", "KubeadmControlPlane"
)
MOST_REPLICAS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Action:
    """An action that a page offers. id: its name in URLs. number: the current value of the number
    that it sets, None if it sets none. document: the object that it changes."""

    id: str
    title: str
    resource: Resource
    document: Document
    patch: Any = None
    number: int | None = None
    is_deletion: bool = False

    @property
    def key(self) -> Key:
        """The object that the action changes."""
        return Key.of(self.document)

    @property
    def right(self) -> Right:
        """The right that the action needs."""
        verb = "delete" if self.is_deletion else "patch"
        return Right(verb, self.resource, *self.key)

    def patch_for(self, number: int | None) -> Document:
        """Return the merge patch; a list that it changes is replaced as a whole."""
        patch: Document = self.patch(number) if callable(self.patch) else self.patch
        return patch

    def command(self, number: int | None, flags: str) -> str:
        """Return the kubectl command with the same effect."""
        key, kind = self.key, f"{self.resource.plural}.{self.resource.group}"
        place = [kind, key.name, "-n", key.namespace]
        if self.is_deletion:
            return f"{shlex.join(['kubectl', 'delete', *place, '--wait=false'])}{flags}"
        patch = json.dumps(self.patch_for(number), separators=(",", ":"))
        words = ["kubectl", "patch", *place, "--type", "merge", "-p", patch]
        return f"{shlex.join(words)}{flags}"


def actions_of(objects: ClusterObjects, now: datetime) -> list[Action]:
    """Return all actions that are possible in a cluster's state, regardless of the viewer's
    rights."""
    return [
        *_pausing(objects.cluster),
        *_approvals(objects.cluster),
        *_scaling(objects),
        *_rollouts(objects, now),
        *(action for machine in objects.machines for action in _machine(machine)),
    ]


def _pausing(cluster: Document) -> Iterator[Action]:
    is_paused = bool((cluster.get("spec") or {}).get("paused"))
    title, patch = ("Resume", None) if is_paused else ("Pause", True)
    yield Action(title.lower(), title, CLUSTERS, cluster, {"spec": {"paused": patch}})


def _approvals(cluster: Document) -> Iterator[Action]:
    """Yield actions that approve upgrades which annotations hold back."""
    for name in sorted(annotations_of(cluster)):
        if name.startswith(UPGRADE_HOOK_PREFIX):
            patch = {"metadata": {"annotations": {name: None}}}
            title = f"Approve the upgrade: remove {name}"
            yield Action(f"approve.{name}", title, CLUSTERS, cluster, patch)
    for index, group in enumerate(worker_groups(cluster, "machineDeployments")):
        if held := deferrals_of(group):
            annotations = annotations_of(group)
            remaining = {name: value for name, value in annotations.items() if name not in held}
            changed = {**group, "metadata": {**group["metadata"], "annotations": remaining}}
            title = f"Approve the upgrade of workers {group.get('name')}"
            patch = _with_group(cluster, index, changed)
            yield Action(f"approve-workers.{group.get('name')}", title, CLUSTERS, cluster, patch)


def _scaling(objects: ClusterObjects) -> Iterator[Action]:
    """Yield actions that scale. With a managed topology they change the topology: the topology
    controller would revert changes of its objects."""
    cluster = objects.cluster
    if (topology := (cluster.get("spec") or {}).get("topology")) is not None:
        if (replicas := part(topology, "controlPlane").get("replicas")) is not None:
            yield Action(
                "scale-control-plane", "Scale the control plane", CLUSTERS, cluster,
                lambda number: {"spec": {"topology": {"controlPlane": {"replicas": number}}}},
                replicas,
            )  # fmt: skip
        for index, group in enumerate(worker_groups(cluster, "machineDeployments")):
            if group.get("replicas") is not None:
                name, scale = group.get("name"), partial(_with_group_replicas, cluster, index)
                title = f"Scale workers {name}"
                yield Action(
                    f"scale-workers.{name}", title, CLUSTERS, cluster, scale, group["replicas"]
                )
        return
    for resource, document in _scalable_owners(objects):
        name = name_of(document)
        title = "Scale the control plane" if resource is CONTROL_PLANES else f"Scale {name}"
        replicas = value_at(document, ("spec", "replicas"))
        number = replicas if isinstance(replicas, int) else 1
        yield Action(f"scale.{name}", title, resource, document, _with_replicas, number)


def _with_replicas(number: int) -> Document:
    return {"spec": {"replicas": number}}


def _scalable_owners(objects: ClusterObjects) -> list[tuple[Resource, Document]]:
    """Return the owners of Machines: the control plane, if it is ours, and the
    MachineDeployments.
    """
    owners = [(MACHINE_DEPLOYMENTS, deployment) for deployment in objects.deployments]
    control_plane = objects.control_plane
    if control_plane is not None and control_plane["kind"] == CONTROL_PLANES.kind:
        owners.insert(0, (CONTROL_PLANES, control_plane))
    return owners


def _rollouts(objects: ClusterObjects, now: datetime) -> Iterator[Action]:
    patch = {"spec": {"rollout": {"after": stamp(now)}}}
    for resource, document in _scalable_owners(objects):
        name = name_of(document)
        yield Action(f"roll-out.{name}", f"Roll out {name} anew", resource, document, patch)


def _machine(machine: Document) -> Iterator[Action]:
    name = name_of(machine)
    if not machine["metadata"].get("deletionTimestamp"):
        title = f"Delete Machine {name}"
        yield Action(f"delete.{name}", title, MACHINES, machine, is_deletion=True)
    elif Annotation.EXCLUDE_NODE_DRAINING not in annotations_of(machine):
        patch = {"metadata": {"annotations": {Annotation.EXCLUDE_NODE_DRAINING: ""}}}
        title = f"Skip the drain of Machine {name}"
        yield Action(f"skip-drain.{name}", title, MACHINES, machine, patch)


def _with_group(cluster: Document, index: int, group: Document) -> Document:
    groups = worker_groups(cluster, "machineDeployments")
    groups[index] = group
    return {"spec": {"topology": {"workers": {"machineDeployments": groups}}}}


def _with_group_replicas(cluster: Document, index: int, number: int) -> Document:
    group = worker_groups(cluster, "machineDeployments")[index]
    return _with_group(cluster, index, {**group, "replicas": number})
