"""Check that `move` discovers every object of the provider through its owners."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.clusterctl.move.discovery import discover
from kapy.clusterctl.move.graph import Graph, Node
from kapy.clusterctl.move.kinds import CLUSTER, MOVE, MOVE_HIERARCHY
from kapy.clusterctl.move.plan import left_behind, plan_move
from kapy.kube import Document
from kapy.kube.names import CRDS, SECRETS
from kapy.testing.conformance.behaviour import setup
from kapy.testing.conformance.errors import NotApplicable
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.fixture import Fixture
from kapy.testing.fake_core import owned_by

NO_PART: Final = "no kind of the provider has a part in a Cluster; claims belong to who makes them"


async def owners(fixture: Fixture) -> AsyncIterator[Finding]:
    """Every object reaches a Cluster through its owners, or is labelled for move."""
    if fixture.kind.role not in setup.ROLE_SETUPS:
        raise NotApplicable(NO_PART)
    await create_all_kinds(fixture)
    await fixture.settle()
    graph = await discover(fixture.client, fixture.namespace)
    why = {item.ref: item.why for item in left_behind(graph, plan_move(graph))}
    for node in _of_provider(fixture, graph):
        if not any(root.ref.group_kind == CLUSTER for root in node.roots) and not node.moves:
            yield fixture.finding(
                "metadata.ownerReferences",
                f"it does not reach the Cluster: {why.get(node.ref, 'nothing owns it')}",
                f"make an object that reaches the Cluster its owner; what several Clusters share "
                f"gets the label {MOVE} or {MOVE_HIERARCHY}",
                node.ref.name,
                node.ref.kind,
            )


def _of_provider(fixture: Fixture, graph: Graph) -> list[Node]:
    """Return the objects of the provider's kinds, and all other objects that it created, in this
    namespace.
    """
    provider = fixture.session.provider
    kinds = {(kind.resource.group, kind.resource.kind) for kind in provider.kinds}
    for crd in provider.definitions:
        if crd["kind"] == CRDS.kind:
            kinds.add((crd["spec"]["group"], crd["spec"]["names"]["kind"]))
    written = {(write.group, write.key.name) for write in fixture.writes() if write.created}
    return [
        node
        for node in graph.existing_nodes()
        if node.ref.namespace == fixture.namespace
        and (tuple(node.ref.group_kind) in kinds or (node.ref.group, node.ref.name) in written)
    ]


async def create_all_kinds(fixture: Fixture) -> dict[str, Fixture]:
    """Create a Cluster with one object of each kind that belongs to a Cluster, and wait until all
    are done.

    Returns the fixtures of the kinds by object name. Raises CannotRun.
    """
    cluster = await setup.create_cluster(fixture)
    fixtures = fixtures_by_name(fixture)
    for name, inner in fixtures.items():
        if setup.role_setup(inner).needs_cluster:
            await setup.create_owned(inner, name)
            await _below(inner, name, cluster)
            await setup.wait_until_done(inner, name)
            await setup.set_bootstrap_secret_name(inner, name)
    return fixtures


def fixtures_by_name(fixture: Fixture) -> dict[str, Fixture]:
    """Return one fixture per provider kind in this namespace, keyed by object name."""
    kinds = [kind for kind in fixture.session.provider.kinds if kind.role in setup.ROLE_SETUPS]
    clusters = fixture.session.provider.kinds_of_role("infra-cluster")[:1]
    return {
        fixture.cluster if kind in clusters else kind.resource.plural: Fixture(
            fixture.session, kind, fixture.namespace, fixture.cluster
        )
        for kind in kinds
        if kind in clusters or setup.ROLE_SETUPS[kind.role].needs_cluster
    }


async def _below(fixture: Fixture, name: str, cluster: Document) -> None:
    """Make the Cluster an owner of the object's owner and of its bootstrap data."""
    for resource in (Machine.RESOURCE, MachinePool.RESOURCE, SECRETS):
        if await fixture.read(name, resource) is not None:
            await fixture.patch(
                {"metadata": {"ownerReferences": [owned_by(cluster)]}}, name, resource
            )
