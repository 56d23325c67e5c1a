"""Clusters live their lives at any API server: four managers as processes, who may do no more than
their releases say, and whose webhooks the server asks over HTTPS."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kapy import apps
from kapy.api.cluster import Cluster
from kapy.api.kinds import KINDS
from kapy.api.machine import Machine
from kapy.apps.manager.components import components_of
from kapy.apps.manager.programs import PROGRAMS
from kapy.client.client import Client
from kapy.kube import Document, Key
from kapy.kube.errors import Invalid, ServerError
from kapy.kube.names import CRDS, NAMESPACES
from kapy.kube.yaml import load_all
from tests.real.installed import ASKING, Installed, eventually, is_true, trusts
from tests.real.processes import Line, Manager, Stable
from tests.real.servers import Place

SAMPLES = Path(apps.__file__).parent / "samples"
OURS = {kind.type_of().RESOURCE.kind: kind.type_of().RESOURCE for kind in KINDS}


@dataclass
class Herd:
    """A namespace with its clusters, and the managers that reconcile them."""

    client: Client
    namespace: str
    managers: dict[str, Manager] = field(default_factory=dict)

    async def create(self, sample: str, name: str) -> Key:
        """A cluster as a sample has it, by another name."""
        text = (SAMPLES / sample).read_text().replace("capybara", name)
        for document in load_all(text, sample):
            document["metadata"]["namespace"] = self.namespace
            await self.client.create(OURS[document["kind"]], document)
        await eventually(
            self.client, Cluster.RESOURCE, Key(self.namespace, name), is_true("Available")
        )
        assert len(await self.machines(name)) == 3
        return Key(self.namespace, name)

    async def machines(self, name: str) -> list[Machine]:
        """The Machines of a cluster."""
        labels = f"cluster.x-k8s.io/cluster-name={name}"
        return list((await self.client.list(Machine, self.namespace, labels=labels)).items)

    async def delete(self, cluster: Key) -> None:
        """Delete a cluster, with all that it is made of."""
        await self.client.delete(Cluster.RESOURCE, cluster)
        await eventually(self.client, Cluster.RESOURCE, cluster, lambda document: document is None)
        assert await self.machines(cluster.name) == []

    async def old(self, plural: str, name: str) -> Document:
        """An object in a version that is not stored."""
        group = "cluster.x-k8s.io" if plural == "clusters" else "controlplane.cluster.x-k8s.io"
        path = f"/apis/{group}/v1beta1/namespaces/{self.namespace}/{plural}/{name}"
        return await self.client.raw("GET", path)


@asynccontextmanager
async def herd(
    there: Place,
    client: Client,
    namespace: str,
    installed: Installed,
    forks: Stable,
    names: Sequence[str] = tuple(PROGRAMS),
) -> AsyncIterator[Herd]:
    """These managers, at work, and asked by the server."""
    result = Herd(client, namespace)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(installed.asking(client, names))
        line = await stack.enter_async_context(Line(there.access).laid())
        for name in names:
            program = PROGRAMS[name]
            result.managers[name] = forks.begin(
                name,
                name,
                line,
                "--leader-elect",
                f"--namespace={namespace}",
                f"--webhook-namespace={program.namespace}",
                f"--webhook-port={installed.ports[name]}",
            )
            stack.push_async_callback(result.managers[name].stop)
        for name in names:
            await trusted(client, components_of(name))
        yield result


async def trusted(client: Client, components: list[Document]) -> None:
    """Wait until the server was told whom to trust, as who installs a release does."""
    for resource in (*ASKING, CRDS):
        for component in components:
            if component["kind"] == resource.kind:
                await eventually(client, resource, Key.of(component), trusts)


def is_upgraded(deployment: Document | None) -> bool:
    status = (deployment or {}).get("status") or {}
    return all(status.get(item) == 2 for item in ("upToDateReplicas", "replicas", "readyReplicas"))


async def live_as_it_is_written(here: Herd) -> None:
    """The sample cluster: its workers are upgraded by their MachineDeployment."""
    cluster = await here.create("in-memory-cluster.yaml", "capybara")
    old = await here.old("clusters", "capybara")
    assert old["spec"]["controlPlaneRef"]["apiVersion"].endswith("/v1beta2")
    deployment = Key(here.namespace, "capybara-md-0")
    newer = {"spec": {"template": {"spec": {"version": "v1.34.1"}}}}
    changed = await here.client.patch(OURS["MachineDeployment"], deployment, newer)
    generation = changed["metadata"]["generation"]
    await eventually(
        here.client,
        OURS["MachineDeployment"],
        deployment,
        lambda document: (
            is_upgraded(document)
            and document is not None
            and document["status"]["observedGeneration"] >= generation
        ),
    )
    await here.delete(cluster)


async def live_as_its_class_says(here: Herd) -> None:
    """The cluster of a ClusterClass: all of it is upgraded by its topology."""
    cluster = await here.create("in-memory-class.yaml", "tapir")
    newer = {"spec": {"topology": {"version": "v1.35.0"}}}
    await here.client.patch(Cluster.RESOURCE, cluster, newer)
    for machine in await here.machines("tapir"):
        key = Key(here.namespace, machine.metadata.name)
        await eventually(here.client, Machine.RESOURCE, key, lambda document: document is None)
    await eventually(here.client, Cluster.RESOURCE, cluster, is_true("Available"))
    machines = await here.machines("tapir")
    assert [item.spec.version for item in machines] == ["v1.35.0"] * 3
    await here.delete(cluster)


async def ask_webhooks(here: Herd) -> None:
    """The managers' answers are the server's; who does not answer is not passed over."""
    client, space = here.client, here.namespace
    machines, planes = OURS["DevMachineTemplate"], OURS["KubeadmControlPlaneTemplate"]
    grazer, meadow = Key(space, "meadow-grazer"), Key(space, "meadow")
    another = {"spec": {"template": {"spec": {"providerID": "in-memory://another"}}}}
    refused = 'webhook "validation.devmachinetemplate.infrastructure.cluster.x-k8s.io" denied'
    with pytest.raises(Invalid, match=f"{refused}.*immutable"):
        await client.patch(machines, grazer, another)
    old = await here.old(planes.plural, "meadow")
    assert (old["kind"], old["apiVersion"]) == (planes.kind, f"{planes.group}/v1beta1")

    await here.managers["infrastructure-dev"].stop()
    failed = 'failed calling webhook "default.devmachinetemplate.infrastructure.cluster.x-k8s.io"'
    with pytest.raises(ServerError, match=failed):
        await client.patch(machines, grazer, {"metadata": {"labels": {"herd": "north"}}})
    labels = {"metadata": {"labels": {"herd": "north"}}}
    await client.patch(planes, meadow, labels)  # another one's

    await here.managers["control-plane-kubeadm"].stop()
    with pytest.raises(ServerError, match=r"conversion webhook for .* failed"):
        await here.old(planes.plural, "meadow")
    assert (await client.get(planes, meadow))["metadata"]["labels"] == {"herd": "north"}


@pytest.mark.sockets
async def test_clusters_live_with_managers_of_minimal_permissions(
    there: Place, client: Client, namespace: str, installed: Installed, forks: Stable
) -> None:
    async with herd(there, client, namespace, installed, forks) as here:
        async with asyncio.TaskGroup() as group:
            group.create_task(live_as_it_is_written(here))
            group.create_task(live_as_its_class_says(here))
        await ask_webhooks(here)
    await client.delete(NAMESPACES, Key("", namespace))
