"""Admission and conversion over HTTPS, as upstream's released configurations ask for them.

The configurations and CRDs' conversions are those of upstream's components; what is answered is
ours, and what comes of it is what a kube-apiserver with upstream's webhooks answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from random import Random

import pytest

from kapy._aio.clock import system_clock
from kapy._aio.services import run_services
from kapy.api.crds import crds, for_kubernetes
from kapy.apiserver.server import Server
from kapy.apps.admission import AdmissionRules
from kapy.apps.https.serving import serve
from kapy.apps.https.shared_certificate import SharedCertificate
from kapy.apps.manager.programs import PROGRAMS
from kapy.apps.manager.webhooks import Webhooks
from kapy.apps.program.ca_injection import MUTATING, VALIDATING, CAInjector
from kapy.client.client import Client
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.http import ADMIN
from kapy.kube.names import CRDS, NAMESPACES
from kapy.kube.yaml import load_all
from tests.oracle.admission import GATES, asked, environment_of
from tests.oracle.recorded import PROVIDERS, RECORDED
from tests.oracle.topic import records
from tests.waiting import until

STEP = 150
"""Each so many cases of the topic one is asked: all of them are, in process, in tests/oracle."""

CASES = RECORDED / "admission"
RESOURCES = {item.kind: item for item in (MUTATING, VALIDATING)}


def configurations() -> Iterator[Document]:
    """Upstream's, without what has cert-manager write the authority."""
    for path in sorted(PROVIDERS.glob("*/v1.14.0/*components*.yaml")):
        for item in load_all(path.read_text(), path.name):
            if item["kind"] in RESOURCES:
                item["metadata"].pop("annotations", None)
                yield item


class Ground:
    """A server that asks webhooks, and who answers them."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.client = Client(server.transport(ADMIN))
        self.runtime = Runtime.on(server.transport(ADMIN), clock=system_clock)
        self.rules = AdmissionRules(GATES)
        self.rules.enable_reads(self.client)

    def bundles(self) -> set[str]:
        """All authorities that the server was told, "" for none."""
        result = set()
        cache = self.runtime.cache
        for resource in RESOURCES.values():
            for item in cache.informer(resource).list():
                result |= {
                    webhook["clientConfig"].get("caBundle", "") for webhook in item["webhooks"]
                }
        for crd in cache.informer(CRDS).list():
            result.add(crd["spec"]["conversion"]["webhook"]["clientConfig"].get("caBundle", ""))
        return result


def is_whole(bundles: set[str]) -> bool:
    """Whether every manager told its own authority, everywhere."""
    return len(bundles) == len(PROGRAMS) and "" not in bundles


@asynccontextmanager
async def ground() -> AsyncIterator[Ground]:
    """All managers' webhooks in this process, behind their Services' names."""
    places: dict[tuple[str, str, int], str] = {}
    server = Server.open(None, clock=system_clock, services=places)
    async with AsyncExitStack() as stack:
        stack.callback(server.close)
        await stack.enter_async_context(run_services(server=server.run))
        await asyncio.sleep(0)
        here = Ground(server)
        definitions = here.runtime.cache.informer(CRDS)
        for resource in RESOURCES.values():
            here.runtime.cache.informer(resource)
        application = Webhooks(here.rules, lambda name: definitions.raw(Key("", name)))
        for program in PROGRAMS.values():
            namespace = f"{program.prefix}-system"
            await here.client.create(
                NAMESPACES,
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
            )
            service = Key(namespace, program.service)
            certificate = await _certificate(here, service, program.provider)
            served = serve(application, certificate)
            host, port = await stack.enter_async_context(served)
            places[namespace, program.service, 0] = f"https://{host}:{port}"
        await stack.enter_async_context(run_services(runtime=here.runtime.run))
        for crd in crds():
            await here.client.create(CRDS, for_kubernetes(crd))
        for configuration in configurations():
            await here.client.create(RESOURCES[configuration["kind"]], configuration)
        await until(lambda: is_whole(here.bundles()))
        yield here


async def _certificate(here: Ground, service: Key, provider: str) -> SharedCertificate:
    name = f"{service.name}.{service.namespace}.svc"
    key = Key(service.namespace, f"{service.name}-cert")
    certificate = SharedCertificate(here.client, key, [name], system_clock, Random(1))
    await certificate.make_valid()
    CAInjector(here.runtime, service, provider, certificate)
    return certificate


@pytest.mark.sockets
@pytest.mark.recorded
async def test_https_webhooks_answer_like_upstream() -> None:
    (recorded,) = CASES.glob("cases.jsonl*")
    cases = list(records(recorded))[::STEP]
    async with ground() as here:
        results = await asked(here.client, cases, environment_of(CASES))
        assert [item for item in results if not item.passed] == []
        assert len(results) > 15
