"""A provider alone, over HTTPS, with the rights and the webhooks that its release installs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from kapy._aio.clock import system_clock
from kapy._aio.services import run_services
from kapy.api.cluster import Cluster
from kapy.apiserver.serving import listen
from kapy.apps.all_in_one import ManagementPlane, management_plane
from kapy.apps.program.options import ProgramOptions
from kapy.apps.provider.loading import provider_at
from kapy.apps.provider.program import StandaloneOptions, run_standalone
from kapy.apps.provider.release import write_release
from kapy.apps.settings import Serving, Settings
from kapy.client.kubeconfig import with_context
from kapy.clusterctl.manifests import objects_of
from kapy.clusterctl.variables import replace_variables
from kapy.engine.crd_migration.controller import is_observed
from kapy.kube import Document, Key
from kapy.kube.errors import Invalid, NotFound
from kapy.kube.http import ADMIN, User
from kapy.kube.names import CRDS, LEASES, Resource
from kapy.kube.yaml import dump
from kapy.sdk import Provider
from kapy.testing.cloud.application import Application
from kapy.testing.cloud.cloud import Cloud
from tests.e2e.test_documents import ROOT
from tests.fork_server.client import python
from tests.real.servers import free_port
from tests.waiting import LIMIT

TOKEN = "of-the-service-account"
OPERATOR = "of-an-operator"
ACCOUNT = User(
    "system:serviceaccount:nimbus-system:nimbus-manager",
    ("system:serviceaccounts", "system:serviceaccounts:nimbus-system", "system:authenticated"),
)
BLUE = Key("default", "blue")
PATIENCE = LIMIT
VALUES = {
    "CLUSTER_NAME": "blue",
    "NAMESPACE": "default",
    "KUBERNETES_VERSION": "v1.34.0",
    "WORKER_MACHINE_COUNT": "1",
}
TEMPLATES = Resource(
    "infrastructure.cluster.x-k8s.io", "v1alpha1", "nimbusmachinetemplates", "NimbusMachineTemplate"
)


@dataclass
class Place:
    """The test environment: a plane, a cloud, and a provider that is not started."""

    plane: ManagementPlane
    cloud: Cloud
    provider: Provider
    release: Path
    ports: tuple[int, int, int]


@pytest.fixture
def nimbus(monkeypatch: pytest.MonkeyPatch) -> Provider:
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "provider-nimbus"))
    return provider_at("nimbus")


@asynccontextmanager
async def place(
    provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Place]:
    webhooks, health, diagnostics = free_port(), free_port(), free_port()
    service = ("nimbus-system", "nimbus-webhook-service", 0)
    settings = Settings(
        serving=Serving(tokens={TOKEN: ACCOUNT, OPERATOR: ADMIN}),
        webhook_services={service: f"https://127.0.0.1:{webhooks}"},
        inventory=True,
    )
    cloud = Cloud(system_clock, boot_seconds=0.1)
    release = write_release(provider, "v0.1.0", tmp_path / "release")
    async with (
        run_services(cloud=cloud.run),
        listen(Application(cloud)) as (host, port),
        management_plane(settings, clock=system_clock) as plane,
    ):
        monkeypatch.setenv("NIMBUS_URL", f"http://{host}:{port}")
        yield Place(plane, cloud, provider, release, (webhooks, health, diagnostics))


async def installed(at: Place, folder: Path) -> None:
    """`kapy init --infrastructure nimbus`."""
    assert at.plane.kubeconfig is not None
    kubeconfig, config = folder / "kubeconfig", folder / "clusterctl.yaml"
    kubeconfig.write_text(dump(with_context({}, "plane", at.plane.kubeconfig)))
    url = str(at.release / "infrastructure-components.yaml")
    provider = {"name": "nimbus", "type": "InfrastructureProvider", "url": url}
    config.write_text(dump({"providers": [provider]}))
    command = ["init", "--infrastructure", "nimbus:v0.1.0", "--kubeconfig", str(kubeconfig)]
    process = await asyncio.create_subprocess_exec(
        *(python(), "-m", "kapy.cli.main", "--config", str(config), *command),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    data, _ = await process.communicate()
    assert process.returncode == 0, data.decode()


def manifests(at: Place) -> list[Document]:
    name = "cluster-template.yaml"
    return objects_of(replace_variables((at.release / name).read_text(), VALUES), name)


async def eventually(at: Place, met: Callable[[Document | None], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                document = await at.plane.client.get(Cluster.RESOURCE, BLUE)
            except NotFound:
                document = None
            if met(document):
                return
            await asyncio.sleep(0.1)


def is_available(cluster: Document | None) -> bool:
    conditions = ((cluster or {}).get("status") or {}).get("conditions") or ()
    return any(
        condition["type"] == "Available" and condition["status"] == "True"
        for condition in conditions
    )


async def page(url: str, token: str = "") -> tuple[int, str]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=False)) as session,
        session.get(url, headers=headers) as response,
    ):
        return response.status, await response.text()


@pytest.mark.sockets
async def test_a_provider_alone_needs_no_more_than_the_permissions_of_its_release(
    nimbus: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with place(nimbus, tmp_path, monkeypatch) as at:
        await installed(at, tmp_path)
        assert at.plane.kubeconfig is not None
        webhooks, health, diagnostics = at.ports
        options = ProgramOptions(
            lease_lengths=(15, 10, 2),
            lease_namespace="nimbus-system",
            health=f"127.0.0.1:{health}",
            diagnostics=f"127.0.0.1:{diagnostics}",
            webhook_port=webhooks,
            webhook_namespace="nimbus-system",
        )
        access = replace(at.plane.kubeconfig, client_certificate=b"", client_key=b"", token=TOKEN)
        async with run_standalone(
            nimbus, StandaloneOptions(access=access, options=options), system_clock
        ) as runtime:
            await runtime.working.wait()
            assert await page(f"http://127.0.0.1:{health}/readyz") == (200, "ok")
            lease = Key("nimbus-system", "infrastructure-nimbus-leader-election")
            assert (await at.plane.client.get(LEASES, lease))["spec"]["holderIdentity"]
            for manifest in manifests(at):
                await created(at, manifest)
            await eventually(at, is_available)
            [network] = at.cloud.networks.values()
            assert [server.state for server in network.servers.values()] == ["running"] * 2
            await refused(at, "blue-md-0")
            metrics = f"https://127.0.0.1:{diagnostics}/metrics"
            assert (await page(metrics))[0] == 401
            assert (await page(metrics, TOKEN))[0] == 403
            status, text = await page(metrics, OPERATOR)
            assert status == 200
            assert 'controller="nimbusmachine"' in text
            assert 'controller="crdmigrator"' in text
            for kind in nimbus.kinds:
                crd = await at.plane.client.get(CRDS, Key("", kind.RESOURCE.group_resource))
                assert is_observed(crd)
            await at.plane.client.delete(Cluster.RESOURCE, BLUE)
            await eventually(at, lambda document: document is None)
            assert not at.cloud.networks


async def created(at: Place, document: Document) -> None:
    kinds: dict[str, Any] = {kind.RESOURCE.kind: kind.RESOURCE for kind in at.provider.kinds}
    client = at.plane.client
    resource = kinds.get(document["kind"]) or await resource_of(at, document)
    await client.create(resource, document)


async def resource_of(at: Place, document: Document) -> Resource:
    result = await at.plane.client.raw("GET", f"/apis/{document['apiVersion']}")
    group, version = document["apiVersion"].split("/")
    plural = next(
        resource["name"] for resource in result["resources"] if resource["kind"] == document["kind"]
    )
    return Resource(group, version, plural, document["kind"])


async def refused(at: Place, template: str) -> None:
    """The webhook, behind its Service, keeps templates as they are."""
    patch = {"spec": {"template": {"spec": {"size": "large"}}}}
    with pytest.raises(Invalid, match="field is immutable"):
        await at.plane.client.patch(TEMPLATES, Key("default", template), patch)
