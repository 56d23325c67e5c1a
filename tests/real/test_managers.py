"""A cluster lives its life at any API server: four managers as processes, who may do no more than
their releases say, and their webhooks."""

from __future__ import annotations

import base64
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from kapy import apps
from kapy._aio.clock import system_clock
from kapy.api.cluster import Cluster
from kapy.api.kinds import KINDS
from kapy.api.machine import Machine
from kapy.apps.manager.components import components_of
from kapy.apps.manager.programs import PROGRAMS, Program
from kapy.client.client import Client
from kapy.client.kubeconfig import with_context
from kapy.kube import Document, Key, pki
from kapy.kube.errors import Invalid, NotFound
from kapy.kube.names import CRDS, NAMESPACES, Resource
from kapy.kube.yaml import dump, load_all
from tests.real.servers import Place, free_port

SAMPLE = Path(apps.__file__).parent / "samples" / "in-memory-cluster.yaml"
RIGHTS = ("Namespace", "ServiceAccount", "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")
OURS = {one.type_of().RESOURCE.kind: one.type_of().RESOURCE for one in KINDS}
QUICK = (
    "--leader-elect",
    "--leader-elect-lease-duration=4s",
    "--leader-elect-renew-deadline=3s",
    "--leader-elect-retry-period=500ms",
)


@dataclass
class Installed:
    """The managers' components on a server, and what their processes are told. folder: of files."""

    there: Place
    client: Client
    folder: Path

    def __post_init__(self) -> None:
        now = system_clock()
        self.authority = pki.new_ca("webhooks", now=now, algorithm="ECDSA-P256")
        shown = pki.issue(
            self.authority,
            "webhooks",
            now=now,
            names=[self.there.here],
            usages=("server",),
            algorithm="ECDSA-P256",
        )
        (self.folder / "tls.crt").write_bytes(shown.certificate)
        (self.folder / "tls.key").write_bytes(shown.key)
        self.ports = {program.namespace: free_port() for program in PROGRAMS.values()}
        self.resources: dict[tuple[str, str], Resource] = {}

    async def install(self) -> None:
        """The embedded server has the kinds, and asks for their webhooks in itself."""
        for name in PROGRAMS:
            objects = components_of(name)
            for one in objects:
                if self.there.is_real or one["kind"] in RIGHTS:
                    await self._apply(self._as_here(one, objects))
        for crd in (await self.client.list(CRDS)).items:
            await eventually(self.client, CRDS, Key.of(crd), is_true("Established"))

    async def uninstall(self) -> None:
        """Nobody answers any more: nobody is to be asked."""
        for (_, kind), resource in self.resources.items():
            if kind.endswith("WebhookConfiguration"):
                for one in (await self.client.list(resource)).items:
                    await self.client.delete(resource, Key.of(one))

    def _as_here(self, one: Document, objects: list[Document]) -> Document:
        """An object of a release, where no Service leads to a pod, and no controller aggregates."""
        if one["kind"] == "CustomResourceDefinition":
            webhook = self._client(one["spec"]["conversion"]["webhook"]["clientConfig"])
            conversion = {
                "strategy": "Webhook",
                "webhook": {**one["spec"]["conversion"]["webhook"], "clientConfig": webhook},
            }
            return {**one, "spec": {**one["spec"], "conversion": conversion}}
        if "webhooks" in one:
            found = [
                {**each, "clientConfig": self._client(each["clientConfig"])}
                for each in one["webhooks"]
            ]
            return {**one, "webhooks": found}
        if "aggregationRule" in one:
            rules = [
                rule for each in objects if each["kind"] == "ClusterRole" for rule in each["rules"]
            ]
            return {**one, "rules": rules}
        return one

    def _client(self, config: Document) -> Document:
        service = config["service"]
        url = f"https://{self.there.here}:{self.ports[service['namespace']]}{service['path']}"
        return {"url": url, "caBundle": base64.b64encode(self.authority.certificate).decode()}

    async def _apply(self, document: Document) -> None:
        named = document["apiVersion"], document["kind"]
        if named not in self.resources:
            self.resources[named] = await self._resource(*named)
        await self.client.apply(self.resources[named], document)

    async def _resource(self, api_version: str, kind: str) -> Resource:
        group, _, version = api_version.rpartition("/")
        path = f"/apis/{api_version}" if group else f"/api/{version}"
        found = (await self.client.raw("GET", path))["resources"]
        one = next(each for each in found if each["kind"] == kind and "/" not in each["name"])
        return Resource(group, version, one["name"], kind, one["namespaced"])

    @contextmanager
    def manager(self, name: str, namespace: str) -> Iterator[None]:
        """One of them, as its service account, working on a namespace."""
        program = PROGRAMS[name]
        kubeconfig = self.folder / f"{name}.kubeconfig"
        kubeconfig.write_text(dump(self._access(program)))
        command = [
            *(sys.executable, "-m", "kapy.cli.main", "manager", name),
            f"--kubeconfig={kubeconfig}",
            f"--namespace={namespace}",
            f"--leader-elect-namespace={program.namespace}",
            f"--webhook-cert-dir={self.folder}",
            f"--webhook-port={self.ports[program.namespace]}",
            "--health-addr=0",
            "--diagnostics-address=0",
            *QUICK,
        ]
        log = (self.folder / f"{name}.log").open("wb")
        with log, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as one:
            assert one.stdout is not None
            try:
                line = next((each for each in one.stdout if "is at https://" in each), "")
                assert line, Path(log.name).read_text()
                yield
            finally:
                one.terminate()
                one.stdout.read()

    def _access(self, program: Program) -> Document:
        document = with_context({}, "there", self.there.access)
        accounts = f"system:serviceaccounts:{program.namespace}"
        document["users"][0]["user"] |= {
            "as": f"system:serviceaccount:{program.namespace}:{program.account}",
            "as-groups": ["system:serviceaccounts", accounts, "system:authenticated"],
        }
        return document


@asynccontextmanager
async def managers(
    there: Place, client: Client, namespace: str, folder: Path
) -> AsyncIterator[None]:
    """All four, at work or ready to."""
    installed = Installed(there, client, folder)
    try:
        await installed.install()
        with ExitStack() as stack:
            for name in PROGRAMS:
                stack.enter_context(installed.manager(name, namespace))
            yield
    finally:
        await installed.uninstall()


async def eventually(
    client: Client, resource: Resource, key: Key, holds: Callable[[Document | None], bool]
) -> None:
    """Watch an object until something is true of it (None: it is gone)."""
    fields = f"metadata.name={key.name}"
    listed = await client.list(resource, key.namespace, fields=fields)
    if holds(listed.items[0] if listed.items else None):
        return
    version = listed.resource_version
    opened = client.watch(resource, key.namespace, resource_version=version, fields=fields)
    async with opened as events:
        async for event in events:
            if event.type != "BOOKMARK" and holds(
                None if event.type == "DELETED" else event.document
            ):
                return
    raise AssertionError(f"the watch of {key} ended")


def is_true(condition: str) -> Callable[[Document | None], bool]:
    def holds(document: Document | None) -> bool:
        conditions = ((document or {}).get("status") or {}).get("conditions") or ()
        return any(one["type"] == condition and one["status"] == "True" for one in conditions)

    return holds


def is_upgraded(deployment: Document | None) -> bool:
    status = (deployment or {}).get("status") or {}
    return all(status.get(one) == 2 for one in ("upToDateReplicas", "replicas", "readyReplicas"))


@pytest.mark.sockets
async def test_a_cluster_lives_its_life_with_managers_who_may_do_no_more_than_they_need(
    there: Place, client: Client, namespace: str, tmp_path: Path
) -> None:
    async with managers(there, client, namespace, tmp_path):
        for document in load_all(SAMPLE.read_text(), SAMPLE.name):
            document["metadata"]["namespace"] = namespace
            await client.create(OURS[document["kind"]], document)
        key = Key(namespace, "capybara")
        await eventually(client, Cluster.RESOURCE, key, is_true("Available"))
        assert len((await client.list(Machine.RESOURCE, namespace)).items) == 3

        old = await client.raw(
            "GET", f"/apis/cluster.x-k8s.io/v1beta1/namespaces/{namespace}/clusters/capybara"
        )
        assert old["spec"]["controlPlaneRef"]["apiVersion"].endswith("/v1beta2")
        (template, *_) = (await client.list(OURS["DevMachineTemplate"], namespace)).items
        another = {"spec": {"template": {"spec": {"providerID": "in-memory://another"}}}}
        with pytest.raises(Invalid, match="immutable"):
            await client.patch(OURS["DevMachineTemplate"], Key.of(template), another)

        (deployment,) = (await client.list(OURS["MachineDeployment"], namespace)).items
        newer = {"spec": {"template": {"spec": {"version": "v1.34.1"}}}}
        changed = await client.patch(OURS["MachineDeployment"], Key.of(deployment), newer)
        generation = changed["metadata"]["generation"]
        await eventually(
            client,
            OURS["MachineDeployment"],
            Key.of(deployment),
            lambda one: (
                is_upgraded(one)
                and one is not None
                and one["status"]["observedGeneration"] >= generation
            ),
        )
        await client.delete(Cluster.RESOURCE, key)
        await eventually(client, Cluster.RESOURCE, key, lambda one: one is None)
        assert (await client.list(Machine.RESOURCE, namespace)).items == []
    with pytest.raises(NotFound):
        await client.get(Cluster.RESOURCE, key)
    await client.delete(NAMESPACES, Key("", namespace))
