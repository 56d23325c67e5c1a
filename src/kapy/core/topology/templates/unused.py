"""Which templates are in use, and the end of those that are not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kapy.api.embedded import ContractVersionedObjectReference
from kapy.api.names import Annotation, Label
from kapy.client.client import Client
from kapy.contract.external import External
from kapy.contract.fleet import Fleet
from kapy.core.topology.errors import doing
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.model import decode
from kapy.kube.names import GroupKind


@dataclass(frozen=True, slots=True)
class Tools:
    """What both controllers use."""

    client: Client
    external: External
    fleet: Fleet


def sets_of(fleet: Fleet, cluster: Key, deployment: str) -> list[Document]:
    """The MachineSets of a MachineDeployment, by the label that names it."""
    return [
        one
        for one in fleet.machine_sets_of(cluster)
        if (one["metadata"].get("labels") or {}).get(Label.DEPLOYMENT_NAME) == deployment
    ]


async def delete_unused(tools: Tools, of: Document, users: Iterable[Document]) -> None:
    """Delete the templates that an object refers to, but for those of a user that stays.

    Raises CannotReconcile.
    """
    used = {
        (one.api_group, one.kind, one.name)
        for user in users
        if not is_deleting(user)
        for one in _templates(user)
    }
    namespace = of["metadata"]["namespace"]
    for ref in _templates(of):
        if (ref.api_group, ref.kind, ref.name) in used:
            continue
        key = Key(namespace, ref.name)
        with doing(f"failed to delete {ref.kind} {key} for {of['kind']} {Key.of(of)}"):
            where = await tools.external.resolve(GroupKind(ref.api_group, ref.kind))
            try:
                await tools.client.delete(where.resource, key)
            except NotFound:
                continue


def is_deleting(document: Document) -> bool:
    """Whether deletion was asked for."""
    return bool(document["metadata"].get("deletionTimestamp"))


def is_paused(document: Document, cluster: Document | None) -> bool:
    """Whether nothing may be done: it says so, or its Cluster."""
    paused = cluster is not None and bool(cluster["spec"].get("paused"))
    return paused or Annotation.PAUSED in (document["metadata"].get("annotations") or {})


def _templates(document: Document) -> Iterator[ContractVersionedObjectReference]:
    spec = document["spec"]["template"]["spec"]
    for ref in ((spec.get("bootstrap") or {}).get("configRef"), spec.get("infrastructureRef")):
        if ref:
            yield decode(ref, ContractVersionedObjectReference)
