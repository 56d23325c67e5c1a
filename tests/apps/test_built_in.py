"""The embedded plane is a management cluster to clusterctl."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kapy._aio.clock import loop_clock
from kapy.apps.all_in_one import ManagementPlane, management_plane
from kapy.apps.settings import ControllerConfig, Settings
from kapy.clusterctl.components import CLUSTERCTL_LABEL
from kapy.clusterctl.inventory import PROVIDERS, Inventory
from kapy.clusterctl.waiting import has_condition, wait_until
from kapy.kube import Document, Key
from kapy.kube.names import CRDS, DEPLOYMENTS, NAMESPACES, Resource

BUILT_IN = {
    "cluster-api": "capi-system",
    "bootstrap-kubeadm": "capi-kubeadm-bootstrap-system",
    "control-plane-kubeadm": "capi-kubeadm-control-plane-system",
    "infrastructure-docker": "capd-system",
}
CORE = Key("capi-system", "capi-controller-manager")


async def test_built_in_providers_are_installed_and_running() -> None:
    async with management_plane(Settings(inventory=True), clock=loop_clock()) as plane:
        inventory = Inventory(plane.client)
        await inventory.check_contract()
        installations = await inventory.installed()
        for installed in installations:
            await _available(plane, installed.namespace)
        crds = (await plane.client.list(CRDS, labels=CLUSTERCTL_LABEL)).items
    assert {item.label: item.namespace for item in installations} == BUILT_IN
    assert all(item.built_in and item.version == "v1.14.0" for item in installations)
    assert {"clusters.cluster.x-k8s.io", "devmachines.infrastructure.cluster.x-k8s.io"} < {
        crd["metadata"]["name"] for crd in crds
    }


async def test_a_built_in_manager_that_runs_elsewhere_can_be_installed(tmp_path: Path) -> None:
    """And what is installed in its place is no part of the plane."""
    data = tmp_path / "data"
    async with management_plane(Settings(data=data, inventory=True), clock=loop_clock()):
        pass
    without = ControllerConfig(disabled_managers=frozenset(("core", "infrastructure-dev")))
    settings = Settings(data=data, inventory=True, controllers=without)
    for _ in range(2):
        async with management_plane(settings, clock=loop_clock()) as plane:
            installations = {
                installed.label: installed
                for installed in await Inventory(plane.client).installed()
            }
            names = {
                document["metadata"]["name"]
                for document in (await plane.client.list(DEPLOYMENTS)).items
            }
            own = {
                label: installed for label, installed in installations.items() if installed.built_in
            }
            assert own.keys() == {"bootstrap-kubeadm", "control-plane-kubeadm"}
            assert ("cluster-api" in installations) == ("capi-controller-manager" in names)
            if "cluster-api" not in installations:
                for resource in (PROVIDERS, DEPLOYMENTS):
                    await plane.client.create(resource, _core(resource))
    assert "cluster-api" in installations


def _core(resource: Resource) -> Document:
    """Somebody else's core provider."""
    name = "cluster-api" if resource is PROVIDERS else CORE.name
    labels = {CLUSTERCTL_LABEL: "", "app": "core"}
    document: Document = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name, "namespace": CORE.namespace, "labels": labels},
    }
    if resource is PROVIDERS:
        return document | {"providerName": name, "type": "CoreProvider", "version": "v1.14.0"}
    pod = {"containers": [{"name": "manager", "image": "core:1"}]}
    template = {"metadata": {"labels": {"app": "core"}}, "spec": pod}
    selector = {"matchLabels": {"app": "core"}}
    return document | {"spec": {"selector": selector, "template": template}}


async def test_a_built_in_manager_reports_that_it_cannot_be_scaled_down() -> None:
    async with management_plane(Settings(inventory=True), clock=loop_clock()) as plane:
        await plane.client.patch(DEPLOYMENTS, CORE, {"spec": {"replicas": 0}})
        wait = await wait_until(plane.client, DEPLOYMENTS, CORE, _is_observed, within=10)
    assert wait is not None
    assert wait["status"]["replicas"] == wait["status"]["availableReplicas"] == 1


async def test_a_second_start_writes_nothing_again(tmp_path: Path) -> None:
    async def versions() -> dict[str, str]:
        settings = Settings(data=tmp_path, inventory=True)
        async with management_plane(settings, clock=loop_clock()) as plane:
            await _available(plane, "capi-system")
            await asyncio.sleep(1)
            kinds = (CRDS, NAMESPACES, DEPLOYMENTS)
            results = [
                document for kind in kinds for document in (await plane.client.list(kind)).items
            ]
        return {
            str(Key.of(document)): document["metadata"]["resourceVersion"] for document in results
        }

    assert await versions() == await versions()


@pytest.mark.parametrize("lost", ["labels", "annotations"])
async def test_lost_labels_and_annotations_are_restored(lost: str, tmp_path: Path) -> None:
    name = Key("", "machines.cluster.x-k8s.io")
    settings = Settings(data=tmp_path)
    async with management_plane(settings, clock=loop_clock()) as plane:
        before = await plane.client.get(CRDS, name)
        await plane.client.patch(CRDS, name, {"metadata": {lost: None}})
    async with management_plane(settings, clock=loop_clock()) as plane:
        after = await plane.client.get(CRDS, name)
    assert _marks(after) == _marks(before)


def _marks(crd: Document) -> tuple[Document, Document]:
    return crd["metadata"]["labels"], crd["metadata"]["annotations"]


async def _available(plane: ManagementPlane, namespace: str) -> None:
    (document,) = (await plane.client.list(DEPLOYMENTS, namespace)).items
    await wait_until(plane.client, DEPLOYMENTS, Key.of(document), _is_available, within=10)


def _is_available(deployment: Document | None) -> bool:
    return deployment is not None and has_condition(deployment, "Available")


def _is_observed(deployment: Document | None) -> bool:
    assert deployment is not None
    observed = (deployment.get("status") or {}).get("observedGeneration")
    return bool(observed == deployment["metadata"]["generation"])
