"""A write that fails halfway: what was made for it is taken back, and the rest stays."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from kapy._aio.clock import loop_clock
from kapy.api.cluster import Cluster
from kapy.api.crds import crds
from kapy.api.machine_deployment import MachineDeployment
from kapy.apiserver.server import Server
from kapy.client.client import Client
from kapy.core.topology.errors import CannotReconcile
from kapy.core.topology.planning import Effect, Parts, Plan, Planned, PlannedDeletion
from kapy.core.topology.writing import Writer
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError, NotFound, Unreachable
from kapy.kube.http import ADMIN, Reply, Request
from kapy.kube.meta import read
from kapy.kube.names import CRDS, SECRETS, Resource
from kapy.topology.state import ClusterState
from tests.core.environment import (
    CONFIG_TEMPLATES,
    CONTROL_PLANES,
    INFRA_CLUSTERS,
    INFRA_TEMPLATES,
    cluster,
    crd_of,
    default_namespace,
    deployment,
    of,
    templates,
)

KINDS = (INFRA_CLUSTERS, CONTROL_PLANES, INFRA_TEMPLATES, CONFIG_TEMPLATES)


class Refusing:
    """A transport that refuses writes of one resource; or does them and answers something else, by
    its code, nothing where that is 0."""

    over_network = False

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self.refused, self.code = "", 403

    async def __call__(self, request: Request) -> Reply:
        if not (self.refused and request.method == "PATCH" and f"/{self.refused}/" in request.path):
            return await self._transport(request)  # type: ignore[no-any-return]
        if self.code != 403:
            await self._transport(request)
        if not self.code:
            raise Unreachable("the answer was lost")
        status = {"kind": "Status", "status": "Failure", "message": "no", "code": self.code}
        return Reply(self.code, status)


class Told:
    """Takes events."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def normal(self, _about: object, _reason: str, message: str) -> None:
        self.messages.append(message)


@dataclass
class Desk:
    """The dependencies of the Writer that writes a plan in these tests."""

    client: Client
    wire: Refusing
    events: Told
    cluster: Cluster

    async def write(self, plan: Plan, **current: Any) -> None:
        state = ClusterState(cluster=self.cluster, **current)
        await Writer(self, state).write(plan)  # type: ignore[arg-type]

    async def there(self, resource: Resource, name: str) -> bool:
        try:
            await self.client.get(resource, Key("default", name))
        except NotFound:
            return False
        return True


@pytest_asyncio.fixture
async def desk() -> AsyncIterator[Desk]:
    server = Server.open(None, clock=loop_clock())
    wire = Refusing(server.transport(ADMIN))
    client = Client(wire, field_manager="person")
    async with asyncio.TaskGroup() as group:
        running = group.create_task(server.run())
        await default_namespace(client)
        for crd in (*crds(), *map(crd_of, KINDS)):
            await client.create(CRDS, crd)
        document = cluster()
        del document["spec"]["infrastructureRef"], document["spec"]["controlPlaneRef"]
        document["spec"] = {"paused": True}
        created = await client.create(Cluster.RESOURCE, document)
        yield Desk(client, wire, Told(), read(created, Cluster))
        running.cancel()
    server.close()


def new(resource: Resource, name: str, **parts: Any) -> Planned:
    return Planned(resource, of(resource, name, **parts), None, Effect.CREATION)


def plan(**more: Any) -> Plan:
    """A Cluster's first plan."""
    return Plan(
        infrastructure=new(INFRA_CLUSTERS, "c", spec={}),
        control_plane=Parts(
            dependencies=[new(INFRA_TEMPLATES, "c-cp", spec={})],
            object=new(CONTROL_PLANES, "c", spec={}),
        ),
        cluster={
            "spec": {
                "infrastructureRef": _ref(INFRA_CLUSTERS),
                "controlPlaneRef": _ref(CONTROL_PLANES),
            }
        },
        **more,
    )


def _ref(resource: Resource) -> Document:
    return {"apiGroup": resource.group, "kind": resource.kind, "name": "c"}


def workers() -> Parts:
    infrastructure, bootstrap = templates()
    return Parts(
        dependencies=[
            Planned(INFRA_TEMPLATES, infrastructure, None, Effect.CREATION),
            Planned(CONFIG_TEMPLATES, bootstrap, None, Effect.CREATION),
        ],
        object=Planned(
            MachineDeployment.RESOURCE,
            deployment(1, selector={"matchLabels": {"a": "b"}}),
            None,
            Effect.CREATION,
        ),
    )


async def test_the_shim_owns_the_objects_until_the_cluster_does(desk: Desk) -> None:
    await desk.write(plan())
    shim = await desk.client.get(SECRETS, Key("default", "c-shim"))
    assert [reference["kind"] for reference in shim["metadata"]["ownerReferences"]] == ["Cluster"]
    for resource in (INFRA_CLUSTERS, CONTROL_PLANES):
        (owner,) = (await desk.client.get(resource, Key("default", "c")))["metadata"][
            "ownerReferences"
        ]
        assert (owner["kind"], owner["uid"]) == ("Secret", shim["metadata"]["uid"])
    result = await desk.client.get(Cluster, Key("default", "c"))
    assert result.spec.control_plane_ref is not None


async def test_a_control_plane_that_is_refused_leaves_the_cluster_with_its_infrastructure(
    desk: Desk,
) -> None:
    desk.wire.refused = "fakecontrolplanes"
    with pytest.raises(CannotReconcile, match=r"failed to create FakeControlPlane\.controlplane"):
        await desk.write(plan())
    result = await desk.client.get(Cluster, Key("default", "c"))
    assert result.spec.infrastructure_ref is not None
    assert result.spec.control_plane_ref is None
    assert not await desk.there(INFRA_TEMPLATES, "c-cp")
    assert await desk.there(INFRA_CLUSTERS, "c")


@pytest.mark.parametrize("code", [0, 500])
async def test_templates_of_possibly_created_workers_stay(code: int, desk: Desk) -> None:
    desk.wire.refused, desk.wire.code = "machinedeployments", code
    with pytest.raises(KapyError):
        await desk.write(plan(deployments={"md": workers()}))
    for resource in (MachineDeployment.RESOURCE, INFRA_TEMPLATES, CONFIG_TEMPLATES):
        assert await desk.there(resource, "md")


@pytest.mark.parametrize("refused", ["machinedeployments", "fakeconfigtemplates"])
async def test_templates_of_refused_workers_are_deleted(refused: str, desk: Desk) -> None:
    desk.wire.refused = refused
    with pytest.raises(CannotReconcile, match="failed to create"):
        await desk.write(plan(deployments={"md": workers()}))
    assert not await desk.there(INFRA_TEMPLATES, "md")
    assert not await desk.there(CONFIG_TEMPLATES, "md")
    assert await desk.there(CONTROL_PLANES, "c")
    desk.wire.refused = ""
    await desk.write(plan(deployments={"md": workers()}))
    assert await desk.there(MachineDeployment.RESOURCE, "md")


async def test_planned_deletions_are_done_once_without_an_error(desk: Desk) -> None:
    await desk.write(plan(deployments={"md": workers()}))
    there = await desk.client.get(MachineDeployment.RESOURCE, Key("default", "md"))
    doomed = [Parts(object=PlannedDeletion(MachineDeployment.RESOURCE, there))]
    await desk.write(plan(deletions=doomed))
    assert not await desk.there(MachineDeployment.RESOURCE, "md")
    await desk.write(plan(deletions=doomed))
    assert 'Deleted MachineDeployment "default/md"' in desk.events.messages


async def test_a_replaced_template_of_the_control_plane_is_deleted_with_an_event(
    desk: Desk,
) -> None:
    await desk.write(plan())
    before = await desk.client.get(INFRA_TEMPLATES, Key("default", "c-cp"))
    control_plane = await desk.client.get(CONTROL_PLANES, Key("default", "c"))
    spec = {"version": "v1.35.0"}
    metadata = {"name": "c", "namespace": "default", "uid": control_plane["metadata"]["uid"]}
    following = plan()
    following.infrastructure.effect = Effect.NOTHING
    following.control_plane = Parts(
        dependencies=[
            Planned(
                INFRA_TEMPLATES,
                of(INFRA_TEMPLATES, "c-next", spec={"a": 1}),
                None,
                Effect.CREATION,
                replaces=before,
            )
        ],
        object=Planned(
            CONTROL_PLANES,
            {**of(CONTROL_PLANES, "c", spec=spec), "metadata": metadata},
            {**control_plane, "spec": {"version": "v1.34.0"}},
            Effect.SPEC,
        ),
    )
    await desk.write(following)
    assert not await desk.there(INFRA_TEMPLATES, "c-cp")
    assert (
        'Created FakeMachineTemplate "default/c-next" as a replacement for "c-cp" '
        "(template rotation)"
    ) in desk.events.messages
    assert (
        'Updated FakeControlPlane "default/c" with version change from v1.34.0 to v1.35.0'
        in desk.events.messages
    )


async def test_an_object_that_was_deleted_meanwhile_is_not_made_again(desk: Desk) -> None:
    await desk.write(plan())
    control_plane = await desk.client.get(CONTROL_PLANES, Key("default", "c"))
    await desk.client.delete(CONTROL_PLANES, Key("default", "c"))
    metadata = {"name": "c", "namespace": "default", "uid": control_plane["metadata"]["uid"]}
    intent = {**of(CONTROL_PLANES, "c", spec={"a": 1}), "metadata": metadata}
    following = plan()
    following.infrastructure.effect = Effect.NOTHING
    following.control_plane = Parts(
        object=Planned(CONTROL_PLANES, intent, control_plane, Effect.SPEC)
    )
    with pytest.raises(CannotReconcile, match="failed to patch FakeControlPlane default/c"):
        await desk.write(following)
    assert not await desk.there(CONTROL_PLANES, "c")
