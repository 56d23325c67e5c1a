"""init, list-images and delete: what they leave in a management cluster."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from kapy._aio.clock import loop_clock
from kapy.apps.all_in_one import management_plane
from kapy.apps.settings import Settings
from kapy.client.client import Client
from kapy.clusterctl import install
from kapy.clusterctl.applying import ObjectApplier
from kapy.clusterctl.components import CLUSTERCTL_LABEL, PROVIDER_LABEL
from kapy.clusterctl.delete import Deletion, delete
from kapy.clusterctl.errors import ClusterctlError
from kapy.clusterctl.install import InstallOptions
from kapy.clusterctl.install.queue import list_images
from kapy.clusterctl.install.requested_providers import RequestedProviders
from kapy.clusterctl.inventory import PROVIDERS, Inventory
from kapy.clusterctl.labelled import labelled_objects
from kapy.clusterctl.progress import line, no_progress
from kapy.clusterctl.provider import ProviderType
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.http import Reply, Request
from kapy.kube.names import CRDS, DEPLOYMENTS, NAMESPACES, SECRETS, SERVICES
from tests.clusterctl.releases import (
    ACME,
    ACME_THINGS,
    Releases,
    components,
    crd,
    management_cluster,
)

INFRASTRUCTURE = ProviderType.INFRASTRUCTURE
USUAL = {"bootstrap-kubeadm", "cluster-api", "control-plane-kubeadm"}


@pytest.fixture
def releases(tmp_path: Path) -> Releases:
    return Releases(tmp_path)


def acme(version: str = "") -> RequestedProviders:
    return RequestedProviders({INFRASTRUCTURE: [f"acme:{version}" if version else "acme"]})


async def init(
    client: Client, releases: Releases, providers: RequestedProviders, **how: Any
) -> list[str]:
    """Run `init` and return its messages."""
    messages: list[str] = []

    def say(text: str, /, **values: str | Document) -> None:
        messages.append(line(text, values))

    await install.init(
        client,
        releases.config(),
        providers,
        options=InstallOptions(**how),
        clock=loop_clock(),
        progress=say,
    )
    return messages


async def labels(client: Client) -> set[str]:
    return {installed.label for installed in await Inventory(client).installed()}


async def test_a_first_init_installs_the_usual_providers_too(releases: Releases) -> None:
    async with management_cluster() as client:
        messages = await init(client, releases, acme())
        assert await labels(client) == {*USUAL, "infrastructure-acme"}
        again = await init(client, releases, acme())
    assert [text for text in messages if text.startswith("Installing")] == [
        f'Installing provider="{label}" version="v1.0.0" targetNamespace="{label}-system"'
        for label in (
            "cluster-api",
            "bootstrap-kubeadm",
            "control-plane-kubeadm",
            "infrastructure-acme",
        )
    ]
    assert again == ["Fetching providers"]


async def test_a_second_instance_is_refused_and_the_first_one_named(releases: Releases) -> None:
    releases.add(*ACME, "v1.0.1")
    async with management_cluster() as client:
        await init(client, releases, acme("v1.0.0"))
        for providers in (
            acme("v1.0.1"),
            RequestedProviders(acme("v1.0.0").names, target_namespace="other"),
        ):
            with pytest.raises(ClusterctlError, match="already an instance") as refused:
                await init(client, releases, providers)
            assert '"infrastructure-acme-system" namespace (v1.0.0)' in str(refused.value)


@pytest.mark.parametrize(
    ("requested", "sentence"),
    [
        (
            RequestedProviders({ProviderType.CORE: ["-"]}),
            "the '-' value can not be used for the core provider",
        ),
        (RequestedProviders({INFRASTRUCTURE: ["acme:v9.9.9"]}), "v9.9.9"),
        (RequestedProviders({INFRASTRUCTURE: ["akme"]}), "nearest names are acme"),
        (RequestedProviders({INFRASTRUCTURE: ["Bad_Name"]}), 'invalid provider name "Bad_Name"'),
    ],
)
async def test_unavailable_providers_are_reported_before_anything_is_written(
    requested: RequestedProviders, sentence: str, releases: Releases
) -> None:
    async with management_cluster() as client:
        with pytest.raises(ClusterctlError, match=re.escape(sentence)):
            await init(client, releases, requested)
        assert (await client.list(NAMESPACES, labels=CLUSTERCTL_LABEL)).items == []


async def test_a_provider_of_another_contract_is_refused(releases: Releases) -> None:
    releases.add(*ACME, "v2.0.0", series={"2.0": "v1beta3"})
    async with management_cluster() as client:
        with pytest.raises(ClusterctlError, match="detected contract version v1beta3"):
            await init(client, releases, acme("v2.0.0"))
        await init(client, releases, acme("v2.0.0"), validate=False)
        assert "infrastructure-acme" in await labels(client)


async def test_a_crd_with_a_wrong_name_is_refused_unless_it_says_that_it_may(
    releases: Releases,
) -> None:
    wrong = {**crd("infrastructure.cluster.x-k8s.io", "Odd")}
    wrong["metadata"] = {"name": "oddities.infrastructure.cluster.x-k8s.io"}
    wrong["spec"]["names"]["plural"] = "oddities"
    own = [*components(*ACME, "v1.0.1"), wrong]
    releases.add(*ACME, "v1.0.1", objects=own)
    async with management_cluster() as client:
        with pytest.raises(ClusterctlError, match=r"it should be \"odds.infrastructure"):
            await init(client, releases, acme("v1.0.1"))


async def test_objects_applied_by_kubectl_are_adopted_unchanged(releases: Releases) -> None:
    """Objects keep their identity, and everything is labelled."""
    async with management_cluster() as client:
        applied = components(*ACME, "v1.0.0")
        namespace, definition, account = applied[:3]
        await client.create(NAMESPACES, namespace)
        await client.create(CRDS, definition)
        before = await client.get(CRDS, Key.of(definition))
        await init(client, releases, acme())
        after = await client.get(CRDS, Key.of(definition))
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["metadata"]["labels"][PROVIDER_LABEL] == "infrastructure-acme"
    assert account["metadata"]["name"] == "infrastructure-acme-manager"


async def test_waiting_ends_when_the_managers_are_available(releases: Releases) -> None:
    async with management_cluster() as client, asyncio.TaskGroup() as group:
        work = group.create_task(init(client, releases, acme(), wait=60.0))
        await asyncio.sleep(20)
        assert not work.done()
        for document in (await client.list(DEPLOYMENTS)).items:
            available = {"type": "Available", "status": "True"}
            status = {"status": {"conditions": [available]}}
            await client.patch(DEPLOYMENTS, Key.of(document), status, subresource="status")
        await asyncio.sleep(1)
        assert work.done()


async def test_waiting_in_vain_names_the_deployment(releases: Releases) -> None:
    async with management_cluster() as client:
        with pytest.raises(ClusterctlError, match=r"-manager\" is not ready after 60 s"):
            await init(client, releases, acme(), wait=60.0)


async def test_images_are_listed_without_writing_anything(releases: Releases) -> None:
    async with management_cluster() as client:
        images = await list_images(client, releases.config(), acme())
        assert await labels(client) == set()
    assert images == [
        f"registry.example/{name}:v1.0.0" for name in ("acme", "cluster-api", "kubeadm")
    ]


async def test_the_providers_of_a_plane_are_there_already(releases: Releases) -> None:
    """Only what is not built in is installed; the plane's own CRDs stay as they are."""
    async with management_plane(Settings(inventory=True), clock=loop_clock()) as plane:
        client = plane.client
        before = await client.get(CRDS, Key("", "clusters.cluster.x-k8s.io"))
        providers = RequestedProviders(
            {INFRASTRUCTURE: ["acme"], ProviderType.CORE: ["cluster-api"]}
        )
        messages = await init(client, releases, providers)
        assert "infrastructure-acme" in await labels(client)
        assert await client.get(CRDS, Key("", "clusters.cluster.x-k8s.io")) == before
        with pytest.raises(ClusterctlError, match="is a part of this management plane"):
            await init(
                client, releases, RequestedProviders({ProviderType.CORE: ["cluster-api:v1.15.0"]})
            )
        names = {ProviderType.CORE: ["cluster-api"]}
        with pytest.raises(ClusterctlError, match="cannot be deleted"):
            await delete(client, Deletion(names), progress=no_progress)
        await delete(client, Deletion(everything=True), progress=no_progress)
        assert len(await labels(client)) == 4
    assert "Skipping cluster-api v1.14.0: it is a part of this management plane" in messages
    assert messages[-1].startswith("This management plane runs no Pods: run the managers of infra")


async def test_a_token_secret_is_written_after_its_account() -> None:
    """A server deletes one whose account does not exist, as kube-controller-manager does."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount"}
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/service-account-token",
    }
    metadata = {"name": "manager", "namespace": "default"}
    named = {"annotations": {"kubernetes.io/service-account.name": "manager"}, **metadata}
    async with management_plane(Settings(), clock=loop_clock()) as plane:
        await ObjectApplier(plane.client).apply(
            [{**secret, "metadata": named}, {**account, "metadata": metadata}]
        )
        document = await plane.client.get(SECRETS, Key("default", "manager"))
        assert document["data"]["token"]


async def test_a_crd_of_the_plane_is_not_overwritten_by_a_provider(releases: Releases) -> None:
    theirs = crd("cluster.x-k8s.io", "Cluster")
    releases.add(*ACME, "v1.0.1", objects=[*components(*ACME, "v1.0.1"), theirs])
    async with management_plane(Settings(inventory=True), clock=loop_clock()) as plane:
        before = await plane.client.get(CRDS, Key.of(theirs))
        await init(plane.client, releases, acme("v1.0.1"))
        assert await plane.client.get(CRDS, Key.of(theirs)) == before


async def test_a_deletion_leaves_the_objects_of_users(releases: Releases) -> None:
    async with management_cluster() as client:
        await init(client, releases, acme())
        await delete(client, Deletion({INFRASTRUCTURE: ["acme"]}), progress=no_progress)
        assert await labels(client) == USUAL
        namespace = "infrastructure-acme-system"
        kinds = (DEPLOYMENTS, SERVICES, SECRETS)
        remaining = [
            document for kind in kinds for document in (await client.list(kind, namespace)).items
        ]
        assert remaining == []
        await client.get(NAMESPACES, Key("", namespace))
        await client.list(ACME_THINGS)


async def test_crds_with_objects_are_not_deleted(releases: Releases) -> None:
    deletion = Deletion({INFRASTRUCTURE: ["acme"]}, include_crds=True)
    thing: Document = {
        "apiVersion": ACME_THINGS.api_version,
        "kind": "AcmeThing",
        "metadata": {"name": "one", "namespace": "infrastructure-acme-system"},
    }
    async with management_cluster() as client:
        await init(client, releases, acme())
        await client.create(ACME_THINGS, thing)
        with pytest.raises(ClusterctlError, match=r"\[1 AcmeThing\]"):
            await delete(client, deletion, progress=no_progress)
        assert "infrastructure-acme" in await labels(client)
        await client.delete(ACME_THINGS, Key.of(thing))
        await delete(client, deletion, progress=no_progress)
        with pytest.raises(NotFound):
            await client.list(ACME_THINGS)


async def test_init_waits_for_objects_that_are_being_deleted(releases: Releases) -> None:
    deletion = Deletion(everything=True, include_namespace=True, include_crds=True)
    async with management_cluster(controllers=True) as client:
        await init(client, releases, acme())
        await delete(client, deletion, progress=no_progress)
        await init(client, releases, acme())
        assert await labels(client) == {*USUAL, "infrastructure-acme"}


def refusing(client: Client, kind: str, *, slow: bool = False) -> Client:
    """A client of a server that does not take objects of a kind. slow: answers of other creations
    come a second after the objects are there."""

    async def ask(request: Request) -> Reply:
        body = request.body
        if request.method == "POST" and isinstance(body, dict) and body.get("kind") == kind:
            return Reply(403, {"kind": "Status", "code": 403, "message": f"no {kind} here"})
        reply = await client.transport(request)
        if slow and request.method == "POST":
            await asyncio.sleep(1)
        return reply

    return Client(ask)


async def everything(client: Client) -> set[str]:
    results = {
        f"{obj.kind} {obj.key}"
        for obj in await labelled_objects(client, "")
        if obj.kind not in ("Event", "ConfigMap", "Lease", "ServiceAccount")
        or CLUSTERCTL_LABEL in (obj.document["metadata"].get("labels") or {})
    }
    crds = {Key.of(document).name for document in (await client.list(CRDS)).items}
    return results | crds


@pytest.mark.parametrize("slow", [False, True])
@pytest.mark.parametrize("kind", ["Deployment", "ClusterRole", "Provider", "Namespace"])
async def test_nothing_remains_of_an_init_that_was_refused(
    kind: str, slow: bool, releases: Releases
) -> None:
    async with management_cluster(controllers=True) as client:
        before = await everything(client)
        with pytest.raises(KapyError, match=f"no {kind} here"):
            await init(refusing(client, kind, slow=slow), releases, acme())
        await asyncio.sleep(60)
        assert await everything(client) == before
        await init(client, releases, acme())
        assert await labels(client) == {*USUAL, "infrastructure-acme"}


async def test_objects_older_than_a_refused_init_stay(releases: Releases) -> None:
    async with management_cluster(controllers=True) as client:
        namespace, definition, *_ = components(*ACME, "v1.0.0")
        await client.create(NAMESPACES, namespace)
        await client.create(CRDS, definition)
        with pytest.raises(ClusterctlError):
            await init(refusing(client, "Deployment"), releases, acme())
        assert await client.get(NAMESPACES, Key.of(namespace))
        assert await client.get(CRDS, Key.of(definition))


async def test_a_refused_check_leaves_no_definition_behind(releases: Releases) -> None:
    async with management_cluster(controllers=True) as client:
        before = await everything(client)
        with pytest.raises(ClusterctlError):
            await init(client, releases, acme("v9.9.9"))
        assert await everything(client) == before


async def test_an_installation_that_did_not_end_can_be_deleted(releases: Releases) -> None:
    """As after `kill -9`: its objects are there, and the inventory does not know it."""
    async with management_cluster(controllers=True) as client:
        await init(client, releases, acme())
        for installed in await Inventory(client).installed():
            await client.delete(PROVIDERS, installed.key)
        deletion = Deletion({INFRASTRUCTURE: ["acme"]}, include_namespace=True, include_crds=True)
        await delete(client, deletion, progress=no_progress)
        await asyncio.sleep(60)
        remaining = {text for text in await everything(client) if "acme" in text}
        assert remaining == {"ClusterRole infrastructure-acme-role"}, "as every deletion leaves it"
        with pytest.raises(ClusterctlError, match="failed to identify the namespace"):
            await delete(client, deletion, progress=no_progress)
