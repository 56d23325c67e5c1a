"""Tests of the Machines and Nodes that belong to a MachinePool."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Final, cast

from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.contract.observed import Absent
from kapy.core.machinepool.machines import read_machines
from kapy.core.machinepool.reconcile import reconcile_delete
from kapy.core.machinepool.scope import MachinePoolScope
from kapy.kube import Document, Key
from kapy.kube.meta import read
from kapy.kube.names import NODES
from kapy.remote.nodes import NodeDeletions
from tests.core.environment import INFRA_MACHINES, Environment, node_of
from tests.core.machinepool.cloud import cloud, found, nodes, pool

NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)


def machine(name: str, *, controller: str = "", owner: str = "") -> Document:
    """A Machine with the pool's labels. controller, owner: uids."""
    owners = [{"uid": controller, "controller": True}] if controller else []
    owners += [{"uid": owner}] if owner else []
    return {"metadata": {"name": name, "namespace": "default", "ownerReferences": owners}}


async def test_machines_of_another_controller_are_left_out() -> None:
    document = pool(metadata={"uid": "mine"})
    machines = [
        machine("made", controller="mine"),
        machine("nobodys", owner="other"),
        machine("anothers", controller="other"),
    ]
    informer = SimpleNamespace(list_by_index=lambda *_: machines)
    scope = SimpleNamespace(
        pool=read(document, MachinePool),
        namespace="default",
        machines=(),
        dependencies=SimpleNamespace(fleet=SimpleNamespace(machines=informer)),
    )
    await read_machines(cast(MachinePoolScope, scope))
    assert [item["metadata"]["name"] for item in scope.machines] == ["made", "nobodys"]


async def test_an_infrastructure_machine_in_deletion_gets_no_machine(plane: Environment) -> None:
    result = await cloud(plane, 2, machines=True)
    await result.have("a")
    await plane.stop()
    await result.make_object("b")
    hold = {"metadata": {"finalizers": ["cloud.example.com/busy"]}}
    await plane.client.patch(INFRA_MACHINES, Key("default", "b"), hold)
    await plane.client.delete(INFRA_MACHINES, Key("default", "b"))
    plane.start()
    await plane.settle(20)
    assert [item.metadata.name for item in await plane.story.all(Machine)] == ["a"]


async def test_a_node_that_has_no_provider_id_yet_stays(plane: Environment) -> None:
    """It registered anew; its cloud provider has yet to say which machine it is."""
    result = await cloud(plane, 2)
    await result.have("a", "b")
    assert len((await found(plane)).status.node_refs) == 2
    await plane.stop()
    await plane.workload.delete(NODES, Key("", "a"))
    node = node_of("a")
    del node["spec"]["providerID"]
    await plane.workload.create(NODES, node)
    plane.start()
    await plane.settle()
    assert sorted(document["metadata"]["name"] for document in await nodes(plane)) == ["a", "b"]


async def test_a_foreign_node_of_the_same_name_survives_the_pool() -> None:
    deleted: list[str] = []

    async def delete(_: object, key: Key, *, uid: str) -> None:
        assert uid
        deleted.append(key.name)

    async def nothing(*_: object) -> Absent:
        return Absent()

    there = {"kept": "of-now", "gone": "of-then"}
    document = pool(metadata={"uid": "mine", "deletionTimestamp": "2026-01-01T00:00:00Z"})
    document["status"] = {"nodeRefs": [{"name": name, "uid": "of-then"} for name in there]}

    def raw(key: Key) -> Document:
        return {"metadata": {"name": key.name, "uid": there[key.name]}}

    remote = SimpleNamespace(client=lambda _: SimpleNamespace(delete=delete))
    scope = SimpleNamespace(
        pool=read(document, MachinePool),
        namespace="default",
        now=NOW,
        nodes=SimpleNamespace(raw=raw),
        cluster=SimpleNamespace(deleting=False, key=Key("default", "c")),
        dependencies=SimpleNamespace(
            external=SimpleNamespace(get=nothing),
            remote=remote,
            node_deletions=NodeDeletions(),
            synced={},
        ),
    )
    await reconcile_delete(cast(MachinePoolScope, scope))
    assert deleted == ["gone"]
