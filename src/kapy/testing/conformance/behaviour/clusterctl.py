"""Checks of the rules of clusterctl for running providers: owners of objects, and a `move` to
another management cluster.

These checks run in stage 2, when the provider is stopped. They start it on the first API server,
stop it, and start it on the second one after the move.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.client.client import Client
from kapy.clusterctl.errors import ClusterctlError
from kapy.clusterctl.move.checks import identity
from kapy.clusterctl.move.discovery import discover
from kapy.clusterctl.move.graph import Graph, Node
from kapy.clusterctl.move.journal import Mode, Place
from kapy.clusterctl.move.kinds import CLUSTER, MOVE, MOVE_HIERARCHY
from kapy.clusterctl.move.log import no_log
from kapy.clusterctl.move.operation import journal_of, move_start, operation
from kapy.clusterctl.move.plan import left_behind, plan_move
from kapy.kube import Document, Key
from kapy.kube.names import CRDS, SECRETS
from kapy.testing.conformance.behaviour import limits, setup
from kapy.testing.conformance.behaviour.check import Check
from kapy.testing.conformance.cleanup import delete_objects
from kapy.testing.conformance.errors import CannotRun, NotApplicable
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.fixture import Fixture, quote_writes
from kapy.testing.conformance.provider_under_test import Limits
from kapy.testing.conformance.write_log import Write
from kapy.testing.fake_core import owned_by

_NO_PART: Final = "no kind of the provider has a part in a Cluster; claims belong to who makes them"

_INITIALIZED: Final = {
    "type": "ControlPlaneInitialized",
    "status": "True",
    "reason": "Initialized",
    "message": "",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


async def _owners(fixture: Fixture) -> AsyncIterator[Finding]:
    """Every object reaches a Cluster through its owners, or is labelled for move."""
    if fixture.kind.role not in setup.ROLE_SETUPS:
        raise NotApplicable(_NO_PART)
    await _create_all_kinds(fixture)
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


async def _create_all_kinds(fixture: Fixture) -> dict[str, Fixture]:
    """Create a Cluster with one object of each kind that belongs to a Cluster, and wait until all
    are done.

    Returns the fixtures of the kinds by object name. Raises CannotRun.
    """
    cluster = await setup.create_cluster(fixture)
    fixtures = _fixtures_by_name(fixture)
    for name, inner in fixtures.items():
        if setup.role_setup(inner).needs_cluster:
            await setup.create_owned(inner, name)
            await _below(inner, name, cluster)
            await setup.wait_until_done(inner, name)
            await setup.set_bootstrap_secret_name(inner, name)
    return fixtures


def _fixtures_by_name(fixture: Fixture) -> dict[str, Fixture]:
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


@dataclass(frozen=True)
class MoveResult:
    """The result of moving a Cluster to another management cluster.

    while_paused: the provider's writes while the Cluster was paused. before, after: the objects in
    the source, and the objects in the target whose flag was set again, by name. fixtures: the
    fixtures of the moved objects, by name. refused: the reason for which the move was not possible.
    """

    while_paused: Sequence[Write] = ()
    before: Mapping[str, Document] = field(default_factory=dict)
    after: Mapping[str, Document] = field(default_factory=dict)
    fixtures: Mapping[str, Fixture] = field(default_factory=dict)
    refused: str = ""


async def move(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that a paused Cluster is left unchanged, and that all objects work in the target."""
    move_result = await _shared_move(fixture)
    if move_result.refused:
        yield fixture.finding("", move_result.refused, "see to owners and labels of objects")
        return
    if move_result.while_paused:
        evidence = f"the Cluster is paused, and yet: {quote_writes(list(move_result.while_paused))}"
        yield fixture.finding("spec.paused", evidence, "do nothing while the Cluster is paused")
    for name, (was, became) in _changed_ids(move_result).items():
        evidence = f"it was {was} before the move, and is {became} after it"
        remedy = "find what is there by what the object's names and spec tell"
        yield fixture.finding("spec.providerID", evidence, remedy, name)


async def status(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that status, which a move drops, is rebuilt from the infrastructure."""
    move_result = await _shared_move(fixture)
    if move_result.refused:
        raise CannotRun(f"there was no move: {move_result.refused}")
    for name, inner in move_result.fixtures.items():
        if name not in move_result.after:
            yield inner.finding(
                setup.flag(inner),
                "it was set before the move, which leaves status behind, and was not set again in "
                f"{fixture.timeouts.within:g} seconds",
                "find out what is there from the infrastructure, not from status",
                name,
            )


async def _shared_move(fixture: Fixture) -> MoveResult:
    """Run the move once for both rules and return the shared result."""
    if fixture.kind.role not in setup.ROLE_SETUPS:
        raise NotApplicable(_NO_PART)
    session = fixture.session
    async with session.lock:
        if session.move_result is None:
            session.move_result = await _move(fixture)
    assert isinstance(session.move_result, MoveResult)
    return session.move_result


async def _move(fixture: Fixture) -> MoveResult:
    session, provider = fixture.session, fixture.session.provider
    async with provider.launcher.running(session.environment, Limits()):
        fixtures = await _create_all_kinds(fixture)
        before = {name: await value.read(name) or {} for name, value in fixtures.items()}
        await fixture.settle()
        await _pause(fixture, paused=True)
        await fixture.settle()
        since = fixture.write_position()
        await fixture.settle()
        while_paused = setup.without_inventory(fixture, fixture.writes(since))
        await _pause(fixture, paused=False)
    await _make_ready(fixture.client, fixture)
    async with session.second_session() as target:
        try:
            await _run_move(fixture.client, target.client, fixture.namespace)
        except ClusterctlError as error:
            return MoveResult(refused=str(error))
        there = await target.fixture(fixture.kind, fixture.namespace, fixture.cluster)
        await _make_ready(target.client, there)
        async with provider.launcher.running(target.environment, Limits()):
            after = await _objects_done_again(there)
            await delete_objects(target, (there.namespace,))
    return MoveResult(while_paused, before, after, fixtures)


async def _pause(fixture: Fixture, *, paused: bool) -> None:
    patch: Document = {"spec": {"paused": paused or None}}
    await fixture.patch(patch, fixture.cluster, Cluster.RESOURCE)


async def _make_ready(client: Client, fixture: Fixture) -> None:
    """Set the status that core would set and that `move` requires."""
    ready = {
        "initialization": {"infrastructureProvisioned": True, "controlPlaneInitialized": True},
        "conditions": [_INITIALIZED],
    }
    cluster = fixture.key(fixture.cluster)
    await client.patch(Cluster.RESOURCE, cluster, {"status": ready}, subresource="status")
    for machine in (await client.list(Machine.RESOURCE, fixture.namespace)).items:
        node = {"status": {"nodeRef": {"name": machine["metadata"]["name"]}}}
        await client.patch(Machine.RESOURCE, Key.of(machine), node, subresource="status")


async def _run_move(source: Client, target: Client, namespace: str) -> None:
    """Move the Cluster as `kapy move` does. Raises ClusterctlError."""
    places = [Place(identity=await identity(client)) for client in (source, target)]
    going = move_start(Mode.CLUSTERS, namespace, *places)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "move.jsonl"
        journal = await journal_of(going, source, target, path, no_log)
        await operation(journal, source, target, no_log).run()


async def _objects_done_again(fixture: Fixture) -> dict[str, Document]:
    """Return the objects whose flag is set again, by name."""
    after: dict[str, Document] = {}
    for name, inner in _fixtures_by_name(fixture).items():
        document = await inner.wait_for(partial(setup.is_done, inner), name)
        if document is not None:
            after[name] = document
    return after


def _changed_ids(move_result: MoveResult) -> dict[str, tuple[Any, Any]]:
    changed = {}
    for name, after in move_result.after.items():
        was, became = (
            (item.get("spec") or {}).get("providerID") for item in (move_result.before[name], after)
        )
        if was != became:
            changed[name] = (was, became)
    return changed


CHECKS: Final = (
    Check("clusterctl/namespace-flag", limits.namespace_flag, stage=1),
    Check("clusterctl/owners", _owners),
    Check("clusterctl/move", move, stage=2),
    Check("clusterctl/status", status, stage=2),
)
