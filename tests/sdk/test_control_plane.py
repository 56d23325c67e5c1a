"""The guarantees of the SDK for a provider of control planes without Machines."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
import pytest_asyncio

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.names import Label
from kapy.engine.runtime import Runtime
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.names import EVENTS, SECRETS
from kapy.kube.pki import facts
from kapy.kube.yaml import load
from kapy.sdk import (
    ControlPlaneContext,
    ControlPlaneProvider,
    ControlPlaneProvisioned,
    Endpoint,
    Released,
    Waiting,
    add_control_plane,
)
from kapy.testing.fake_core import reference
from kapy.testing.faults import Faults
from kapy.testing.provider_bench import ProviderBench, key, provider_bench
from tests.sdk.paper_plane import PLANE, PaperControlPlane, PaperService
from tests.sdk.provider_faults import life, short_lives

FINALIZER = "paper.example.dev/plane"
RESOURCE = PaperControlPlane.RESOURCE
YEAR = timedelta(days=365).total_seconds()


@dataclass
class Setup:
    bench: ProviderBench
    service: PaperService

    async def plane(self) -> Document:
        return await self.bench.client.get(RESOURCE, key("blue"))


@pytest_asyncio.fixture
async def setup() -> AsyncIterator[Setup]:
    async with provider_bench([RESOURCE]) as bench:
        service = PaperService()
        add_control_plane(bench.runtime, PaperControlPlane, service, finalizer=FINALIZER)
        async with bench.running():
            yield Setup(bench, service)


async def begin(bench: ProviderBench, **spec: Any) -> None:
    """A Cluster whose infrastructure is there, and its control plane."""
    plane = {**PLANE, "metadata": {"name": "blue"}}
    cluster = await bench.cluster(
        "blue", provisioned=True, controlPlaneRef=reference(plane), **spec
    )
    await bench.create_owned(plane, cluster, {Label.CLUSTER_NAME: "blue"}, controller=True)


def is_initialized(plane: Document) -> bool:
    initialization = plane.get("status", {}).get("initialization", {})
    return bool(initialization.get("controlPlaneInitialized"))


def conditions(plane: Document) -> dict[str, tuple[str, str, str]]:
    return {
        condition["type"]: (condition["status"], condition["reason"], condition["message"])
        for condition in plane.get("status", {}).get("conditions", [])
    }


async def kubeconfig(bench: ProviderBench) -> Any:
    secret = await bench.client.get(SECRETS, key("blue-kubeconfig"))
    return load(b64decode(secret["data"]["value"]))


async def test_a_control_plane_reports_all_fields_of_the_contract(
    setup: Setup,
) -> None:
    bench = setup.bench
    await begin(bench)
    await asyncio.sleep(1)
    plane = await setup.plane()
    assert conditions(plane)["Available"] == ("False", "NotAvailable", "drawing it")
    assert plane["metadata"]["finalizers"] == [FINALIZER]
    plane = await bench.until(RESOURCE, "blue", is_initialized)
    assert plane["spec"]["controlPlaneEndpoint"] == {"host": "blue.paper", "port": 6443}
    status = plane["status"]
    old = status["deprecated"]["v1beta1"]["conditions"]
    assert {item["type"]: item["status"] for item in old} == {"Available": "True", "Ready": "True"}
    assert {item: status[item] for item in status if item not in ("conditions", "deprecated")} == {
        "initialization": {"controlPlaneInitialized": True},
        "externalManagedControlPlane": True,
        "selector": "cluster.x-k8s.io/cluster-name=blue,cluster.x-k8s.io/control-plane",
        "replicas": 3,
        "readyReplicas": 3,
        "availableReplicas": 3,
        "upToDateReplicas": 3,
        "version": "v1.34.1",
        "versions": [{"version": "v1.34.1", "replicas": 3}],
    }
    assert conditions(plane) == {
        "Available": ("True", "Available", ""),
        "Paused": ("False", "NotPaused", ""),
    }
    secret = await bench.client.get(SECRETS, key("blue-kubeconfig"))
    assert secret["type"] == "cluster.x-k8s.io/secret"
    assert secret["metadata"]["labels"] == {"cluster.x-k8s.io/cluster-name": "blue"}
    (owner,) = secret["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("PaperControlPlane", "blue")
    result = await kubeconfig(bench)
    assert result["clusters"][0]["cluster"]["server"] == "https://blue.paper:6443"


async def test_an_upgrade_continues_while_it_serves(setup: Setup) -> None:
    bench = setup.bench
    await begin(bench)
    await bench.until(RESOURCE, "blue", is_initialized)
    await bench.client.patch(RESOURCE, key("blue"), {"spec": {"version": "v1.35.0"}})
    plane = await bench.until(
        RESOURCE, "blue", lambda document: not document["status"]["upToDateReplicas"]
    )
    assert plane["status"]["versions"] == [{"version": "v1.34.1", "replicas": 3}]
    assert conditions(plane)["Available"][0] == "True"
    plane = await bench.until(
        RESOURCE, "blue", lambda document: document["status"]["upToDateReplicas"]
    )
    assert plane["status"]["versions"] == [{"version": "v1.35.0", "replicas": 3}]


async def test_the_kubeconfig_is_renewed_in_time_and_belongs_to_the_control_plane(
    setup: Setup,
) -> None:
    bench = setup.bench
    await begin(bench)
    await bench.until(RESOURCE, "blue", is_initialized)
    lost: Document = {"metadata": {"ownerReferences": None}}
    await bench.client.patch(SECRETS, key("blue-kubeconfig"), lost)
    owned = lambda value: value["metadata"].get("ownerReferences")  # noqa: E731
    await bench.until(SECRETS, "blue-kubeconfig", owned)
    first = (await kubeconfig(bench))["users"][0]["user"]["client-certificate-data"]
    rests = (await setup.plane())["metadata"]["resourceVersion"]
    await asyncio.sleep(YEAR / 2 + 60)
    second = (await kubeconfig(bench))["users"][0]["user"]["client-certificate-data"]
    assert facts(b64decode(second)).not_after > facts(b64decode(first)).not_after
    assert (await setup.plane())["metadata"]["resourceVersion"] == rests


async def test_a_users_kubeconfig_stays(setup: Setup) -> None:
    bench = setup.bench
    metadata = {"name": "blue-kubeconfig", "namespace": "default"}
    theirs = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
    await bench.client.create(SECRETS, {**theirs, "data": {"value": "aGk="}})
    await begin(bench)
    await bench.until(RESOURCE, "blue", is_initialized)
    await asyncio.sleep(60)
    secret = await bench.client.get(SECRETS, key("blue-kubeconfig"))
    assert secret["data"] == {"value": "aGk="}
    assert "ownerReferences" not in secret["metadata"]


async def test_deletion_waits_for_the_workers(setup: Setup) -> None:
    bench = setup.bench
    await begin(bench)
    await bench.until(RESOURCE, "blue", is_initialized)
    worker = {"apiVersion": "example.dev/v1", "kind": "Anything", "metadata": {"name": "w"}}
    spec = {"clusterName": "blue", "bootstrap": {}, "infrastructureRef": reference(worker)}
    metadata = {"name": "w", "namespace": "default", "labels": {Label.CLUSTER_NAME: "blue"}}
    document = {"apiVersion": Machine.RESOURCE.api_version, "kind": "Machine", "spec": spec}
    await bench.client.create(Machine.RESOURCE, {**document, "metadata": metadata})
    await bench.client.delete(RESOURCE, key("blue"))
    await asyncio.sleep(60)
    waits = ("False", "Deleting", "Waiting for workers to be gone: Machine w")
    assert conditions(await setup.plane())["Available"] == waits
    assert setup.service.looks
    await bench.client.delete(Machine.RESOURCE, key("w"))
    await bench.until_gone(RESOURCE, "blue", within=1)
    assert not setup.service.looks


@pytest.mark.parametrize("by", ["paused", "managed-by"])
async def test_a_paused_or_externally_managed_control_plane_is_left_alone(
    setup: Setup, by: str
) -> None:
    bench, name = setup.bench, f"cluster.x-k8s.io/{by}"
    await begin(bench, paused=True)
    await asyncio.sleep(1)
    await bench.client.patch(RESOURCE, key("blue"), {"metadata": {"annotations": {name: ""}}})
    await bench.client.patch(Cluster.RESOURCE, key("blue"), {"spec": {"paused": None}})
    await asyncio.sleep(60)
    assert not setup.service.looks
    await bench.client.patch(RESOURCE, key("blue"), {"metadata": {"annotations": {name: None}}})
    await bench.until(RESOURCE, "blue", is_initialized)


class Borrowing(PaperService):
    """Has no endpoint of its own, and credentials of its own making."""

    provides_endpoint = False
    external = False
    token = "first"

    async def reconcile_normal(
        self, context: ControlPlaneContext[PaperControlPlane]
    ) -> ControlPlaneProvisioned | Waiting:
        self.looks[context.key.name] = 1
        return ControlPlaneProvisioned(kubeconfig=f"token: {self.token}".encode())


async def test_without_an_endpoint_of_its_own_it_waits_for_the_clusters() -> None:
    async with provider_bench([RESOURCE]) as bench:
        service = Borrowing()
        add_control_plane(bench.runtime, PaperControlPlane, service, finalizer=FINALIZER)
        async with bench.running():
            await begin(bench)
            await asyncio.sleep(60)
            waits = "Waiting for Cluster spec.controlPlaneEndpoint to be set"
            plane = await bench.client.get(RESOURCE, key("blue"))
            assert conditions(plane)["Available"] == ("False", "NotAvailable", waits)
            assert not service.looks
            endpoint = {"spec": {"controlPlaneEndpoint": {"host": "10.0.0.1", "port": 6443}}}
            await bench.client.patch(Cluster.RESOURCE, key("blue"), endpoint)
            plane = await bench.until(RESOURCE, "blue", is_initialized, within=1)
            assert "controlPlaneEndpoint" not in plane["spec"]
            assert "externalManagedControlPlane" not in plane["status"]
            assert await kubeconfig(bench) == {"token": "first"}
            service.token = "second"
            await bench.client.patch(RESOURCE, key("blue"), {"spec": {"version": "v1.35.0"}})
            await asyncio.sleep(1)
            assert await kubeconfig(bench) == {"token": "second"}


class Nowhere(PaperService):
    async def reconcile_normal(
        self, context: ControlPlaneContext[PaperControlPlane]
    ) -> ControlPlaneProvisioned | Waiting:
        return ControlPlaneProvisioned()


class NoVersion(PaperService):
    async def reconcile_normal(
        self, context: ControlPlaneContext[PaperControlPlane]
    ) -> ControlPlaneProvisioned | Waiting:
        return ControlPlaneProvisioned(endpoint=Endpoint("h", 1), version="newest")


class Jammed(PaperService):
    async def reconcile_normal(
        self, context: ControlPlaneContext[PaperControlPlane]
    ) -> ControlPlaneProvisioned | Waiting:
        raise KapyError("the paper jammed")


class Secretive(PaperService):
    async def reconcile_normal(
        self, context: ControlPlaneContext[PaperControlPlane]
    ) -> ControlPlaneProvisioned | Waiting:
        raise RuntimeError("password: hunter2")


@pytest.mark.parametrize(
    ("provider", "says"),
    [
        (Nowhere, "has an endpoint: answer one, or set provides_endpoint = False"),
        (NoVersion, "must be a semantic version as v1.34.1 is: newest"),
        (Jammed, "KapyError: the paper jammed"),
        (Secretive, "Please check controller logs for errors"),
    ],
)
async def test_errors_of_a_provider_are_reported(provider: type[PaperService], says: str) -> None:
    async with provider_bench([RESOURCE]) as bench:
        add_control_plane(bench.runtime, PaperControlPlane, provider(), finalizer=FINALIZER)
        async with bench.running():
            await begin(bench)
            await asyncio.sleep(20)
            plane = await bench.client.get(RESOURCE, key("blue"))
            status, reason, message = conditions(plane)["Available"]
            assert (status, reason) == ("Unknown", "InternalError")
            assert says in message
            assert not is_initialized(plane)
            (event,) = (await bench.client.list(EVENTS, "default")).items
            assert "hunter2" not in event["message"]
            assert (event["type"], event["reason"]) == ("Warning", "FailedConverge")


def _add(runtime: Runtime, provider: ControlPlaneProvider[Any]) -> None:
    add_control_plane(runtime, PaperControlPlane, provider, finalizer=FINALIZER)


async def _consistent(bench: ProviderBench) -> None:
    """Check that an initialized control plane has an endpoint and a kubeconfig."""
    plane = await bench.get(RESOURCE, "blue")
    if plane is not None and is_initialized(plane):
        assert plane["spec"]["controlPlaneEndpoint"]
        assert await bench.get(SECRETS, "blue-kubeconfig") is not None


async def test_a_provider_that_dies_after_any_write_continues_where_it_was() -> None:
    for writes in range(1, 14):
        async with provider_bench([RESOURCE]) as bench:
            await begin(bench)
            remaining = await short_lives(bench, partial(_add, provider=PaperService()), writes)
            await _consistent(bench)
            ca = await bench.get(SECRETS, "blue-ca")
            async with life(bench, partial(_add, provider=PaperService())):
                await bench.until(RESOURCE, "blue", is_initialized)
                assert ca in (None, await bench.get(SECRETS, "blue-ca"))
                await bench.client.delete(RESOURCE, key("blue"))
                await bench.until_gone(RESOURCE, "blue")
        if remaining > 0:
            return
    raise AssertionError("it never came to rest")


@pytest.mark.parametrize("seed", range(3))
async def test_a_control_plane_is_created_and_deleted_despite_faults(seed: int) -> None:
    async with provider_bench([RESOURCE]) as bench:
        faults = Faults(bench.transport, seed=seed)
        async with life(bench, partial(_add, provider=PaperService()), faults):
            await begin(bench)
            for _ in range(300):
                await asyncio.sleep(0.1)
                await _consistent(bench)
            await bench.until(RESOURCE, "blue", is_initialized)
            await bench.client.delete(RESOURCE, key("blue"))
            await bench.until_gone(RESOURCE, "blue")
        assert faults.happened


class Deleting(PaperService):
    async def reconcile_delete(
        self, context: ControlPlaneContext[PaperControlPlane]
    ) -> Released | Waiting:
        raise KapyError("it does not let go")


async def test_a_deletion_that_fails_is_reported_and_continues() -> None:
    async with provider_bench([RESOURCE]) as bench:
        _add(bench.runtime, Deleting())
        async with bench.running():
            await begin(bench)
            await bench.until(RESOURCE, "blue", is_initialized)
            await bench.client.delete(RESOURCE, key("blue"))
            await asyncio.sleep(20)
            plane = await bench.client.get(RESOURCE, key("blue"))
            messages = ("Unknown", "InternalError", "KapyError: it does not let go")
            assert conditions(plane)["Available"] == messages
            assert plane["metadata"]["finalizers"] == [FINALIZER]
