"""Private keys, tokens and boot data stay in Secrets, on good days and on bad ones."""

from __future__ import annotations

import base64
import json
import logging
import re
from collections.abc import Iterable
from typing import Any

import pytest
from prometheus_client import generate_latest

from kapy._aio.clock import loop_clock
from kapy.api.cluster import Cluster
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.apps.all_in_one import ManagementPlane, management_plane
from kapy.apps.manifests import sample
from kapy.apps.settings import Settings
from kapy.client.kinds import Kinds
from kapy.kube import Document, Key
from kapy.kube.names import SECRETS
from kapy.testing.story import Story
from tests.stories.plane import own_kinds

CLUSTER = Key("default", "capybara")
WORKERS = Key("default", "capybara-md-0")
PLANES = Key("default", "capybara-control-plane")
TOKEN = re.compile(r"\b[a-z0-9]{6}\.[a-z0-9]{16}\b")


class Leaks:
    """Everything that is secret, gathered while a cluster lives; looked for in the end."""

    def __init__(self) -> None:
        self.needles: set[str] = set()

    def learn(self, secret: Document) -> None:
        """The lines of the private keys of a Secret, plain and encoded, and its tokens."""
        for value in (secret.get("data") or {}).values():
            self._learn(base64.b64decode(value).decode("utf-8", "replace"), value)

    def _learn(self, text: str, encoded: str) -> None:
        self.needles |= set(TOKEN.findall(text))
        for key in re.findall(r"-----BEGIN [A-Z ]*PRIVATE KEY-----(.*?)-----END", text, re.DOTALL):
            self.needles |= {line.strip() for line in key.splitlines() if len(line.strip()) > 30}
        if "PRIVATE KEY" in text or "client-key-data" in text:
            self.needles.add(encoded[200:260])
        for line in re.findall(r"client-key-data: (\S+)", text):
            self.needles.add(line[200:260])

    def found_in(self, text: str) -> list[str]:
        return [needle for needle in self.needles if needle in text]


def conditions_and_metadata(documents: Iterable[Document]) -> str:
    """Parts of objects that may hold no secret: all but the specs, which may have a join token."""
    return json.dumps([{**document, "spec": None} for document in documents])


async def everything(plane: ManagementPlane) -> tuple[list[Document], list[Document]]:
    """All Secrets, and all other objects, of the plane and of the workload cluster."""
    secrets: list[Document] = []
    others: list[Document] = []
    clients = [plane.client]
    if plane.cluster_cache.health(CLUSTER).connected:
        clients.append(plane.cluster_cache.client(CLUSTER))
    for client in clients:
        kinds = Kinds(client)
        for group in ["v1", "apps/v1", "rbac.authorization.k8s.io/v1", *_own_groups()]:
            for resource in await kinds.served(group):
                listed = await client.list(resource)
                (secrets if resource == SECRETS else others).extend(listed.items)
    return secrets, others


def _own_groups() -> list[str]:
    return sorted({resource.api_version for resource in own_kinds()})


async def test_the_life_of_a_cluster_logs_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    leaks = Leaks()
    entries: list[str] = []
    async with management_plane(Settings(), clock=loop_clock()) as plane:
        story = Story(plane.client, [*own_kinds(), SECRETS])

        async def look() -> None:
            secrets, others = await everything(plane)
            for secret in secrets:
                leaks.learn(secret)
            entries.append(conditions_and_metadata(others))
            entries.append(generate_latest(plane.runtime.metrics.registry).decode())

        await story.create(sample())
        await story.until(Cluster, CLUSTER.name, _available)
        await look()
        await story.merge(MachineDeployment, WORKERS.name, {"spec": {"replicas": 4}})
        await story.merge(KubeadmControlPlane, PLANES.name, {"spec": {"replicas": 3}})
        await story.settle()
        await look()
        await _spoil(plane)
        await story.merge(MachineDeployment, WORKERS.name, {"spec": {"replicas": 5}})
        await story.settle(300)
        await look()
        await plane.client.delete(Cluster, CLUSTER)
        await story.settle(60)
        await look()
    assert len(leaks.needles) > 50
    messages = [
        *entries,
        *(record.getMessage() + str(record.exc_text) for record in caplog.records),
    ]
    assert len(messages) > 20
    assert [(needle, text[:200]) for text in messages for needle in leaks.found_in(text)] == []


def _available(cluster: Cluster) -> Any:
    return any(
        condition.type == "Available" and condition.status == "True"
        for condition in cluster.status.conditions
    )


async def _spoil(plane: ManagementPlane) -> None:
    """A bad day: Secrets that hold the wrong thing, and a Machine that is taken away."""
    halved = await plane.client.get(SECRETS, Key("default", "capybara-ca"))
    data = {name: value[: len(value) // 2 // 4 * 4] for name, value in halved["data"].items()}
    await plane.client.patch(SECRETS, Key("default", "capybara-ca"), {"data": data})
    kubeconfig = await plane.client.get(SECRETS, Key("default", "capybara-kubeconfig"))
    text = base64.b64decode(kubeconfig["data"]["value"]).decode().replace("clusters:", "herds:")
    broken = {"value": base64.b64encode(text.encode()).decode()}
    await plane.client.patch(SECRETS, Key("default", "capybara-kubeconfig"), {"data": broken})
    machines = (await plane.client.list(Machine, "default")).items
    await plane.client.delete(Machine, machines[0].key)
