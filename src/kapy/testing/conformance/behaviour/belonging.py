"""Everything of the provider hangs below a Cluster, as `move` finds it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.clusterctl.move.discovery import discovered
from kapy.clusterctl.move.graph import Graph, Node
from kapy.clusterctl.move.kinds import CLUSTER, MOVE, MOVE_HIERARCHY
from kapy.clusterctl.move.plan import left_behind, planned
from kapy.kube import Document
from kapy.kube.names import CRDS, SECRETS
from kapy.testing.conformance.behaviour import stage
from kapy.testing.conformance.errors import NotApplicable
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.scene import Scene
from kapy.testing.played_core import owned_by

NO_PART: Final = "no kind of the provider has a part in a Cluster; claims belong to who makes them"


async def owners(scene: Scene) -> AsyncIterator[Finding]:
    """Every object reaches a Cluster through its owners, or is labelled for move."""
    if scene.kind.role not in stage.PARTS:
        raise NotApplicable(NO_PART)
    await everything(scene)
    await scene.quiet()
    graph = await discovered(scene.client, scene.namespace)
    why = {one.ref: one.why for one in left_behind(graph, planned(graph))}
    for node in _of_provider(scene, graph):
        if not any(root.ref.group_kind == CLUSTER for root in node.roots) and not node.moves:
            yield scene.fault(
                "metadata.ownerReferences",
                f"it does not reach the Cluster: {why.get(node.ref, 'nothing owns it')}",
                f"make an object that reaches the Cluster its owner; what several Clusters share "
                f"gets the label {MOVE} or {MOVE_HIERARCHY}",
                node.ref.name,
                node.ref.kind,
            )


def _of_provider(scene: Scene, graph: Graph) -> list[Node]:
    """The objects of its kinds, and what else it has written, in this namespace."""
    subject = scene.world.subject
    kinds = {(one.resource.group, one.resource.kind) for one in subject.kinds}
    for crd in subject.definitions:
        if crd["kind"] == CRDS.kind:
            kinds.add((crd["spec"]["group"], crd["spec"]["names"]["kind"]))
    written = {(one.group, one.key.name) for one in scene.writes() if one.created}
    return [
        node
        for node in graph.found()
        if node.ref.namespace == scene.namespace
        and (tuple(node.ref.group_kind) in kinds or (node.ref.group, node.ref.name) in written)
    ]


async def everything(scene: Scene) -> dict[str, Scene]:
    """A Cluster with an object of each kind that hangs below one, all done.

    Returns scenes of the kinds by the names of their objects. Raises CannotRun.
    """
    cluster = await stage.cluster(scene)
    found = of_kinds(scene)
    for name, inner in found.items():
        if stage.part(inner).around:
            await stage.owned(inner, name)
            await _below(inner, name, cluster)
            await stage.done(inner, name)
            await stage.take_over(inner, name)
    return found


def of_kinds(scene: Scene) -> dict[str, Scene]:
    """A scene in the same namespace for each kind, by the name of its object there."""
    kinds = [one for one in scene.world.subject.kinds if one.role in stage.PARTS]
    clusters = scene.world.subject.of("infra-cluster")[:1]
    return {
        scene.cluster if kind in clusters else kind.resource.plural: Scene(
            scene.world, kind, scene.namespace, scene.cluster
        )
        for kind in kinds
        if kind in clusters or stage.PARTS[kind.role].around
    }


async def _below(scene: Scene, name: str, cluster: Document) -> None:
    """The Cluster owns the object's owner, and its bootstrap data."""
    for resource in (Machine.RESOURCE, MachinePool.RESOURCE, SECRETS):
        if await scene.read(name, resource) is not None:
            await scene.patch(
                {"metadata": {"ownerReferences": [owned_by(cluster)]}}, name, resource
            )
