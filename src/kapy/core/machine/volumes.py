"""Wait until a workload cluster has detached the volumes of a drained Node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from kapy.api.names import Reason
from kapy.api.wording import shorten
from kapy.core.machine.drain import is_unreachable
from kapy.core.machine.evictions import planned_drain
from kapy.core.machine.node import watched_nodes
from kapy.core.machine.scope import MachineScope
from kapy.core.machine.temporary_watches import Snapshot
from kapy.engine.result import DONE, Result
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.names import Resource

VOLUME_ATTACHMENTS: Final = Resource(
    "storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment", namespaced=False
)
PERSISTENT_VOLUMES: Final = Resource(
    "", "v1", "persistentvolumes", "PersistentVolume", namespaced=False
)


class NoVolumeName(KapyError):
    """An attached VolumeAttachment names no PersistentVolume."""


@dataclass(frozen=True, slots=True)
class Attached:
    """The volumes that are still attached, each list sorted by name.

    claims: PersistentVolumeClaims (`namespace/name`). unclaimed: PersistentVolumes without one.
    node_volumes, volumes: names that belong to no PersistentVolume that exists.
    """

    claims: Sequence[str] = ()
    unclaimed: Sequence[str] = ()
    node_volumes: Sequence[str] = ()
    volumes: Sequence[str] = ()

    def __bool__(self) -> bool:
        return bool(self.claims or self.unclaimed or self.node_volumes or self.volumes)

    def message(self, started: str) -> str:
        """Return the message of the Machine's Deleting condition."""
        lines = [f"Waiting for Node volumes to be detached (started at {started})"]
        lines += [
            f"* {what}: {shorten(names, 5)}"
            for what, names in (
                ("PersistentVolumeClaims", self.claims),
                (
                    "PersistentVolumes without a .spec.claimRef to a PersistentVolumeClaim",
                    self.unclaimed,
                ),
                (
                    "Node with .status.volumesAttached entries not matching a PersistentVolume",
                    self.node_volumes,
                ),
                (
                    "VolumeAttachment with .spec.source.persistentVolumeName "
                    "not matching a PersistentVolume",
                    self.volumes,
                ),
            )
            if names
        ]
        return "\n".join(lines)


async def await_detachment(scope: MachineScope, node_name: str, started: str) -> Result | None:
    """Return None once no volume that must be waited for is attached.

    It watches the VolumeAttachments; the Node is watched anyway. Raises NotConnected, NoVolumeName,
    InvalidRule, and the workload cluster's errors.
    """
    node = watched_nodes(scope).raw(Key("", node_name))
    if node is None or is_unreachable(node):  # nothing could detach the volumes
        return None
    attachments = await _attachments(scope)
    on_node = names_on_node(node)
    attached = volumes_attached_to(node_name, attachments.items if attachments else ())
    if not on_node and not attached:
        return None
    planned = await planned_drain(scope, node_name, unreachable=False, hold=False)
    client = scope.dependencies.remote.client(scope.cluster_key)
    volumes = await client.list(PERSISTENT_VOLUMES)
    pending = still_attached(on_node, attached, volumes.items, claims_of(planned.skipped))
    if not pending:
        return None
    if attachments:
        attachments.watch()
    scope.set_deleting_condition(Reason.WAITING_FOR_VOLUME_DETACH, pending.message(started))
    return DONE


async def _attachments(scope: MachineScope) -> Snapshot | None:
    """Return the VolumeAttachments; None if they are not needed, or if the server has no storage
    API.
    """
    if not scope.dependencies.gates.machine_wait_for_volume_detach_consider_volume_attachments:
        return None
    try:
        return await scope.snapshot(VOLUME_ATTACHMENTS)
    except NotFound:
        return None


def names_on_node(node: Document) -> set[str]:
    """Return the volumes that the Node's status lists as attached."""
    attached = (node.get("status") or {}).get("volumesAttached") or []
    return {str(volume["name"]) for volume in attached}


def volumes_attached_to(node_name: str, attachments: Iterable[Document]) -> set[str]:
    """Return the PersistentVolumes that VolumeAttachments have attached to the Node. Raises
    NoVolumeName.
    """
    names = set()
    for attachment in attachments:
        spec = attachment.get("spec") or {}
        attached = (attachment.get("status") or {}).get("attached")
        if attached and spec.get("nodeName") == node_name:
            name = (spec.get("source") or {}).get("persistentVolumeName")
            if not name:
                raise NoVolumeName(
                    "spec.source.persistentVolumeName for VolumeAttachment "
                    f"{attachment['metadata']['name']} is not set"
                )
            names.add(str(name))
    return names


def claims_of(pods: Iterable[Document]) -> set[str]:
    """Return the PersistentVolumeClaims that Pods use."""
    return {
        str(Key(pod["metadata"].get("namespace", ""), volume["persistentVolumeClaim"]["claimName"]))
        for pod in pods
        for volume in (pod.get("spec") or {}).get("volumes") or []
        if volume.get("persistentVolumeClaim")
    }


def still_attached(
    on_node: set[str], attached: set[str], volumes: Iterable[Document], ignored: set[str]
) -> Attached:
    """Match attached volumes against the PersistentVolumes. ignored: claims not to wait for."""
    claims: set[str] = set()
    unclaimed: list[str] = []
    seen_on_node: set[str] = set()
    volume_names: set[str] = set()
    for volume in volumes:
        name, spec = volume["metadata"]["name"], volume.get("spec") or {}
        csi = spec.get("csi") or {}
        handle = f"kubernetes.io/csi/{csi.get('driver')}^{csi.get('volumeHandle')}"
        if csi and handle in on_node:
            seen_on_node.add(handle)
        elif name not in attached:
            continue
        if name in attached:
            volume_names.add(name)
        claim = spec.get("claimRef") or {}
        if claim.get("kind") == "PersistentVolumeClaim":
            claims.add(str(Key(claim.get("namespace", ""), claim["name"])))
        else:
            unclaimed.append(name)
    return Attached(
        sorted(claims - ignored),
        sorted(unclaimed),
        sorted(on_node - seen_on_node),
        sorted(attached - volume_names),
    )
