"""Reading provider objects by reference, from a server that has them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from kapy._aio.clock import loop_clock
from kapy.api.embedded import ContractVersionedObjectReference
from kapy.api.machine import Machine
from kapy.apiserver.server import Server
from kapy.contract import (
    Absent,
    External,
    Found,
    InfraMachine,
    NoContract,
    NotPermitted,
    NotServed,
    Unreadable,
    owner_keys,
)
from kapy.engine.cache import Change
from kapy.engine.controller import Controller
from kapy.engine.result import DONE, Result
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import Forbidden
from kapy.kube.http import ADMIN, Reply, Request
from kapy.kube.names import CRDS, GroupKind, Resource

GROUP = "infrastructure.cluster.x-k8s.io"
FOOS = Resource(GROUP, "v1beta2", "foomachines", "FooMachine")
REF = ContractVersionedObjectReference(api_group=GROUP, kind="FooMachine", name="one")


def crd(labels: dict[str, str]) -> Document:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1beta2", "served": True, "storage": True}
    return {
        "apiVersion": CRDS.api_version,
        "kind": CRDS.kind,
        "metadata": {"name": FOOS.group_resource, "labels": labels},
        "spec": {
            "group": GROUP,
            "names": {"plural": FOOS.plural, "singular": "foomachine", "kind": FOOS.kind},
            "scope": "Namespaced",
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    }


CONTRACT = {"cluster.x-k8s.io/v1beta2": "v1beta2"}


def a_machine(owner: str = "m") -> Document:
    ref = {"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "name": owner, "uid": "u"}
    return {
        "apiVersion": FOOS.api_version,
        "kind": FOOS.kind,
        "metadata": {"name": "one", "namespace": "default", "ownerReferences": [ref]},
        "spec": {"providerID": "foo://1"},
    }


class Denying:
    """A transport that refuses to show FooMachines while `denied` is set. asked: for what."""

    def __init__(self, server: Server) -> None:
        self._ask = server.transport(ADMIN)
        self.denied = False
        self.asked: list[str] = []

    async def __call__(self, request: Request) -> Reply:
        self.asked.append(request.path)
        if self.denied and FOOS.plural in request.path:
            raise Forbidden("not for you")
        return await self._ask(request)


@dataclass
class Stand:
    """A program on a server."""

    runtime: Runtime
    transport: Denying
    external: External
    group: asyncio.TaskGroup

    def start(self) -> asyncio.Task[None]:
        return self.group.create_task(self.runtime.run())


@asynccontextmanager
async def stand(labels: dict[str, str] | None) -> AsyncIterator[Stand]:
    """A server (with the CRD when labels are given) and a program that can be started on it."""
    server = Server.open(None, clock=loop_clock())
    transport = Denying(server)
    runtime = Runtime.on(transport, clock=loop_clock())
    try:
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(server.run())
            await asyncio.sleep(0)
            if labels is not None:
                await runtime.client.create(CRDS, crd(labels))
            external = External(runtime.client, runtime.cache)
            yield Stand(runtime, transport, external, group)
            serving.cancel()
    finally:
        server.close()


async def settled() -> None:
    await asyncio.sleep(1)


async def test_an_object_is_found_before_and_after_its_kind_is_cached() -> None:
    async with stand(CONTRACT) as at:
        await at.runtime.client.create(FOOS, a_machine())
        first = await at.external.get(REF, "default", InfraMachine)
        running = at.start()
        await settled()
        second = await at.external.get(REF, "default", InfraMachine)
        running.cancel()
    for observed in (first, second):
        assert isinstance(observed, Found)
        assert observed.view.provider_id == "foo://1"


@pytest.mark.parametrize("denied", [False, True])
async def test_all_first_readers_of_a_kind_wait_for_one_list_or_its_error(
    denied: bool,
) -> None:
    async with stand(CONTRACT) as here:
        await here.runtime.client.create(FOOS, a_machine())
        running = here.start()
        await here.runtime.working.wait()
        here.transport.denied, here.transport.asked = denied, []
        reads = [here.external.get(REF, "default", InfraMachine) for _ in range(100)]
        results = await asyncio.gather(*reads)
        assert {type(item) for item in results} == {Unreadable if denied else Found}
        one_by_one = [path for path in here.transport.asked if path.endswith("/one")]
        assert bool(one_by_one) == denied
        running.cancel()


async def test_objects_missing_on_the_server_are_absent() -> None:
    async with stand(CONTRACT) as at:
        assert await at.external.get(REF, "default", InfraMachine) == Absent()
        running = at.start()
        await settled()
        assert await at.external.get(REF, "default", InfraMachine) == Absent()
        running.cancel()


@pytest.mark.parametrize(
    ("labels", "reason"), [(None, NotServed), ({}, NoContract)], ids=["no CRD", "no contract"]
)
async def test_a_kind_that_cannot_be_resolved_is_unreadable(
    labels: dict[str, str] | None, reason: type[Exception]
) -> None:
    async with stand(labels) as at:
        observed = await at.external.get(REF, "default", InfraMachine)
    assert isinstance(observed, Unreadable)
    assert isinstance(observed.error, reason)


async def test_a_failed_read_is_not_absence() -> None:
    async with stand(CONTRACT) as at:
        at.transport.denied = True
        observed = await at.external.get(REF, "default", InfraMachine)
    assert isinstance(observed, Unreadable)
    assert isinstance(observed.error, NotPermitted)
    assert str(observed.error) == (
        "FooMachine.infrastructure.cluster.x-k8s.io may not be read by core: not for you. A "
        "provider with an API group of its own grants it with a ClusterRole that has the label "
        'cluster.x-k8s.io/aggregate-to-manager: "true"'
    )


async def test_a_crd_that_changes_is_read_anew() -> None:
    async with stand({}) as at:
        running = at.start()
        await settled()
        assert isinstance(await at.external.get(REF, "default", InfraMachine), Unreadable)
        patch = {"metadata": {"labels": CONTRACT}}
        await at.runtime.client.patch(CRDS, Key("", FOOS.group_resource), patch)
        assert await at.external.get(REF, "default", InfraMachine) == Absent()
        running.cancel()


@pytest.mark.parametrize(
    "labels", [None, {}, {"cluster.x-k8s.io/v1beta2": "v3"}], ids=["no CRD", "no label", "no v3"]
)
async def test_readers_of_an_unreadable_kind_are_woken_when_its_crd_is_corrected(
    labels: dict[str, str] | None,
) -> None:
    async with stand(labels) as at:
        keys: list[Key] = []
        controller = at.runtime.add(watcher(keys))
        at.external.wake(controller, names)
        running = at.start()
        await settled()
        assert isinstance(await at.external.get(REF, "default", InfraMachine), Unreadable)
        assert keys == []
        if labels is None:
            await at.runtime.client.create(CRDS, crd(CONTRACT))
        else:
            patch = {"metadata": {"labels": CONTRACT}}
            await at.runtime.client.patch(CRDS, Key("", FOOS.group_resource), patch)
        await settled()
        running.cancel()
    assert keys == [Key("default", "one")]


async def test_objects_are_read_in_the_version_that_the_crd_names_now() -> None:
    async with stand(CONTRACT) as at:
        keys: list[Key] = []
        controller = at.runtime.add(watcher(keys))
        at.external.wake(controller, names)
        running = at.start()
        await settled()
        await at.runtime.client.create(FOOS, a_machine())
        assert isinstance(await at.external.get(REF, "default", InfraMachine), Found)
        await settled()
        keys.clear()
        newer = crd({"cluster.x-k8s.io/v1beta2": "v1beta2_v1"})
        (only,) = newer["spec"]["versions"]
        patch = {
            "metadata": {"labels": newer["metadata"]["labels"]},
            "spec": {"versions": [only, {**only, "name": "v1", "storage": False}]},
        }
        await at.runtime.client.patch(CRDS, Key("", FOOS.group_resource), patch)
        await settled()
        assert keys == [Key("default", "one")]
        observed = await at.external.get(REF, "default", InfraMachine)
        running.cancel()
    assert isinstance(observed, Found)
    assert observed.view.document["apiVersion"] == f"{GROUP}/v1"


def watcher(keys: list[Key]) -> Controller:
    async def reconcile(key: Key) -> Result:
        keys.append(key)
        return DONE

    return Controller("machine", reconcile)


def names(change: Change) -> Iterable[Key]:
    """Stands for owners that have the name of what they own."""
    return (Key.of(change.document),)


async def test_readers_of_a_kind_are_woken_by_its_changes() -> None:
    keys: list[Key] = []
    async with stand(CONTRACT) as at:
        controller = at.runtime.add(watcher(keys))
        at.external.wake(controller, owner_keys(Machine.RESOURCE.group_kind))
        running = at.start()
        await settled()
        assert await at.external.get(REF, "default", InfraMachine) == Absent()
        await settled()
        await at.runtime.client.create(FOOS, a_machine(owner="mine"))
        await settled()
        running.cancel()
    assert keys == [Key("default", "mine")]


async def test_the_resource_of_a_document_has_its_own_version() -> None:
    async with stand(CONTRACT) as at:
        old = {**a_machine(), "apiVersion": f"{GROUP}/v1alpha1"}
        assert (await at.external.resource_of(a_machine())) == FOOS
        assert (await at.external.resource_of(old)).version == "v1alpha1"


def test_owners_are_found_in_any_version() -> None:
    change = Change(None, a_machine(owner="mine"))
    assert list(owner_keys(Machine.RESOURCE.group_kind)(change)) == [Key("default", "mine")]
    assert list(owner_keys(GroupKind("example.com", "Machine"))(change)) == []
    assert owner_keys(GroupKind("g", "k")) is owner_keys(GroupKind("g", "k"))
