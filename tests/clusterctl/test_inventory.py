"""Tests of the inventory of providers, and of the checks that commands make of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kapy.client.client import Client
from kapy.client.intercept import Interceptor
from kapy.clusterctl.errors import InventoryError
from kapy.clusterctl.inventory import (
    DEFINITION,
    PROVIDERS,
    Installed,
    Inventory,
    check_single_instances,
    core_of,
    default_name,
    installed_of,
)
from kapy.clusterctl.provider import ProviderType
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError, Unreachable
from kapy.kube.http import Reply, Request
from kapy.kube.names import CRDS, NAMESPACES
from tests.clusterctl.releases import crd, management_cluster

AWS = Installed("aws", ProviderType.INFRASTRUCTURE, "v2.11.0", "capa-system")
VSPHERE = Installed("vsphere", ProviderType.INFRASTRUCTURE, "v1.17.0", "capv-system")
CORE = Installed("cluster-api", ProviderType.CORE, "v1.14.0", "capi-system")


@pytest.mark.parametrize(
    ("installed", "name"),
    [([], ""), ([AWS], "aws"), ([AWS, VSPHERE], ""), ([AWS, AWS], "aws"), ([CORE], "")],
)
def test_the_only_provider_of_a_type_is_the_default(
    installed: Sequence[Installed], name: str
) -> None:
    assert default_name(installed, ProviderType.INFRASTRUCTURE) == name


def test_there_has_to_be_one_core_provider() -> None:
    assert core_of([AWS, CORE]) is CORE
    for wrong in ([AWS], [CORE, CORE]):
        with pytest.raises(InventoryError, match="there must be one core provider, found"):
            core_of(wrong)


def test_a_second_instance_is_reported_with_both_names() -> None:
    other = Installed("aws", ProviderType.INFRASTRUCTURE, "v2.10.0", "other")
    check_single_instances([AWS, VSPHERE, CORE])
    with pytest.raises(InventoryError) as error:
        check_single_instances([AWS, other])
    assert "[capa-system/infrastructure-aws other/infrastructure-aws]" in str(error.value)


def test_an_unknown_type_is_reported_with_the_known_ones() -> None:
    document = {"metadata": {"name": "x", "namespace": "y"}, "type": "Infra"}
    with pytest.raises(InventoryError, match='Provider y/x: "Infra" is no type of provider'):
        installed_of(document)


async def test_the_inventory_is_defined_once_and_read_back() -> None:
    provider: Document = {
        "apiVersion": PROVIDERS.api_version,
        "kind": PROVIDERS.kind,
        "metadata": {"name": "infrastructure-aws", "namespace": "default"},
        "providerName": "aws",
        "type": "InfrastructureProvider",
        "version": "v2.11.0",
    }
    async with management_cluster() as client:
        inventory = Inventory(client)
        assert await inventory.installed() == []
        await inventory.ensure()
        await inventory.ensure()
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
        await client.create(NAMESPACES, namespace)
        await inventory.record(provider)
        await inventory.record({**provider, "version": "v2.12.0"})
        (installed,) = await inventory.installed()
    assert (installed.label, installed.version) == ("infrastructure-aws", "v2.12.0")
    assert installed.instance == "default/infrastructure-aws"


async def test_the_definition_of_another_clusterctl_is_refused() -> None:
    other = crd(PROVIDERS.group, PROVIDERS.kind, versions=("v1alpha9",))
    async with management_cluster() as client:
        await client.create(CRDS, other)
        with pytest.raises(InventoryError, match="does not defines the v1alpha3 version"):
            await Inventory(client).ensure()
        assert Key.of(other) == Key.of(DEFINITION)


@pytest.mark.parametrize(
    ("stored", "how", "sentence"),
    [
        (None, {}, "failed to check Cluster API version"),
        (None, {"not_installed": True}, ""),
        ("v1beta2", {}, ""),
        ("v1beta1", {}, '"v1beta1" detected'),
        ("v1beta1", {"also": ("v1beta1",)}, ""),
        ("v1alpha4", {"also": ("v1beta1",)}, '"v1alpha4" detected'),
    ],
)
async def test_clusters_of_other_contracts_are_refused(
    stored: str | None, how: dict[str, Any], sentence: str
) -> None:
    async with management_cluster() as client:
        if stored:
            await client.create(CRDS, crd("cluster.x-k8s.io", "Cluster", versions=(stored,)))
        if not sentence:
            await Inventory(client).check_contract(**how)
            return
        with pytest.raises(InventoryError, match=sentence):
            await Inventory(client).check_contract(**how)


class Away(Interceptor):
    """A server that cannot be reached, or not after its first answer."""

    __slots__ = ("asked", "lost")

    def __init__(self, transport: Any, lost: int) -> None:
        super().__init__(transport)
        self.asked, self.lost = 0, lost

    async def __call__(self, request: Request) -> Reply:
        self.asked += 1
        if self.asked > self.lost:
            raise Unreachable("cannot reach example: no answer in time")
        return await self.transport(request)


@pytest.mark.parametrize(("lost", "tries"), [(0, 1), (1, 9)])
async def test_only_a_server_that_has_answered_once_is_retried(lost: int, tries: int) -> None:
    async with management_cluster() as client:
        away = Away(client.transport, lost)
        with pytest.raises(KapyError, match="cannot reach"):
            await Inventory(Client(away)).ensure()
        assert away.asked == tries


async def test_a_kubernetes_that_is_too_old_is_refused() -> None:
    class Old(Interceptor):
        async def __call__(self, request: Request) -> Reply:
            if request.path == "/version":
                return Reply(200, {"gitVersion": "v1.19.3"})
            return await self.transport(request)

    async with management_cluster() as client:
        with pytest.raises(InventoryError, match=r"minimum required version is v1\.20\.0"):
            await Inventory(Client(Old(client.transport))).ensure()
