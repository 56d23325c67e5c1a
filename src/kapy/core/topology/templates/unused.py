"""Find unused templates and delete them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kapy._aio.clock import Clock
from kapy.api.embedded import ContractVersionedObjectReference
from kapy.api.names import Annotation, Label
from kapy.client.client import Client
from kapy.contract.cluster_objects import ClusterObjects
from kapy.contract.external import External
from kapy.core.topology.errors import name_failed_step
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.model import decode
from kapy.kube.names import GroupKind


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The dependencies of both controllers."""

    client: Client
    external: External
    fleet: ClusterObjects
    clock: Clock


def sets_of(objects: ClusterObjects, cluster: Key, deployment: str) -> list[Document]:
    """Return the MachineSets of a MachineDeployment, by label."""
    return [
        machine_set
        for machine_set in objects.machine_sets_of(cluster)
        if (machine_set["metadata"].get("labels") or {}).get(Label.DEPLOYMENT_NAME) == deployment
    ]


async def delete_unused_templates(
    dependencies: Dependencies, of: Document, users: Iterable[Document]
) -> None:
    """Delete the templates that an object refers to, except for those of remaining users.

    Raises CannotReconcile.
    """
    used = {
        (template.api_group, template.kind, template.name)
        for user in users
        if not is_deleting(user)
        for template in _templates(user)
    }
    namespace = of["metadata"]["namespace"]
    for ref in _templates(of):
        if (ref.api_group, ref.kind, ref.name) in used:
            continue
        key = Key(namespace, ref.name)
        with name_failed_step(f"failed to delete {ref.kind} {key} for {of['kind']} {Key.of(of)}"):
            where = await dependencies.external.resolve(GroupKind(ref.api_group, ref.kind))
            try:
                await dependencies.client.delete(where.resource, key)
            except NotFound:
                continue


def is_deleting(document: Document) -> bool:
    """Return whether the object is in deletion."""
    return bool(document["metadata"].get("deletionTimestamp"))


def is_paused(document: Document, cluster: Document | None) -> bool:
    """Return whether the object or its Cluster is paused."""
    paused = cluster is not None and bool(cluster["spec"].get("paused"))
    return paused or Annotation.PAUSED in (document["metadata"].get("annotations") or {})


def _templates(document: Document) -> Iterator[ContractVersionedObjectReference]:
    spec = document["spec"]["template"]["spec"]
    for ref in ((spec.get("bootstrap") or {}).get("configRef"), spec.get("infrastructureRef")):
        if ref:
            yield decode(ref, ContractVersionedObjectReference)
