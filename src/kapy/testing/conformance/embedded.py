"""An embedded API server with the kinds of core and of the provider under test."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

from kapy._aio.clock import Clock
from kapy._aio.services import run_services
from kapy.api.cluster import Cluster
from kapy.api.features import FeatureGates
from kapy.api.ip_address import IPAddress, IPAddressClaim
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.client.client import Client
from kapy.client.kinds import Kinds
from kapy.clusterctl.components import CLUSTERCTL_LABEL
from kapy.kube import Document
from kapy.kube.errors import AlreadyExists
from kapy.kube.http import ADMIN, User
from kapy.kube.names import CRDS, Resource
from kapy.testing.conformance.environment import MANAGER, Environment, OwnWrites
from kapy.testing.conformance.provider_under_test import ProviderUnderTest
from kapy.testing.conformance.write_log import PROVIDER_USER, RecordingServer
from kapy.testing.frozen import Frozen
from kapy.testing.provider_bench import permissive

if TYPE_CHECKING:
    from kapy.client.kubeconfig import Kubeconfig

_SUPERUSERS: Final = "system:masters"
_AUTHENTICATED: Final = "system:authenticated"
_CORE: Final = (
    Cluster.RESOURCE,
    Machine.RESOURCE,
    MachinePool.RESOURCE,
    IPAddress.RESOURCE,
    IPAddressClaim.RESOURCE,
)
_GATES: Final = FeatureGates(cluster_topology=True)


@asynccontextmanager
async def embedded(
    provider: ProviderUnderTest, *, clock: Clock, light: bool = False
) -> AsyncIterator[Environment]:
    """Start an embedded API server with core's kinds and the provider's kinds.

    It listens on a port if the provider needs that. light: core's kinds accept every field and have
    no old versions, which is faster and sufficient for providers that use the SDK.
    """
    server, client = await _open_server(clock, provider, light=light)
    ours = OwnWrites(client.transport)
    client = Client(ours, field_manager=MANAGER)
    server.user = provider.user or PROVIDER_USER
    try:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(run_services(server=server.run))
            await asyncio.sleep(0)  # the server creates its namespaces in its first step
            await _install(client, provider, light=light)
            user = _user(provider)
            environment = Environment(
                client, server.write_log, clock, ours, light=light, server=server
            )
            if provider.launcher.network:
                environment.access = await stack.enter_async_context(_listening(server, user))
            else:
                environment.transport = Frozen(server.transport(user))
            yield environment
    finally:
        server.close()


async def _open_server(
    clock: Clock, provider: ProviderUnderTest, *, light: bool
) -> tuple[RecordingServer, Client]:
    if light:
        server = RecordingServer.open(None, clock=clock, admission=provider.admission)
        assert isinstance(server, RecordingServer)
        return server, Client(server.transport(ADMIN))
    from kapy.apps.admission import AdmissionRules
    from kapy.apps.conversion import convert_documents

    rules = AdmissionRules(_GATES)
    admission = (rules, *provider.admission)
    server = RecordingServer.open(None, clock=clock, admission=admission, convert=convert_documents)
    assert isinstance(server, RecordingServer)
    client = Client(server.transport(ADMIN))
    rules.enable_reads(client)
    return server, client


async def _install(client: Client, provider: ProviderUnderTest, *, light: bool) -> None:
    if light:
        for resource in _CORE:
            await client.create(CRDS, with_clusterctl_label(permissive(resource)))
    else:
        from kapy.apps.definitions import install_definitions

        await install_definitions(client)
    await install(client, provider)


async def install(client: Client, provider: ProviderUnderTest) -> None:
    """Install the provider's kinds and its other definitions; existing objects are kept."""
    kinds = Kinds(client)
    for document in sorted(
        provider.definitions, key=lambda definition: definition["kind"] != CRDS.kind
    ):
        document = with_clusterctl_label(document) if document["kind"] == CRDS.kind else document
        with suppress(AlreadyExists):
            await client.create(await kinds.of(document), document)
    there = {item["metadata"]["name"] for item in (await client.list(CRDS)).items}
    for resource in _resources(provider):
        if resource.group_resource not in there:
            await client.create(CRDS, with_clusterctl_label(permissive(resource)))


def _resources(provider: ProviderUnderTest) -> Sequence[Resource]:
    kinds = [kind.resource for kind in provider.kinds]
    return [*kinds, *(kind.template for kind in provider.kinds if kind.template is not None)]


def with_clusterctl_label(crd: Document) -> Document:
    """Return a CRD with the label that clusterctl sets."""
    metadata = crd["metadata"]
    labels = {CLUSTERCTL_LABEL: "", **(metadata.get("labels") or {})}
    return {**crd, "metadata": {**metadata, "labels": labels}}


def _user(provider: ProviderUnderTest) -> User:
    if provider.user:
        namespace = provider.user.split(":")[2]
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
        return User(provider.user, (*groups, _AUTHENTICATED))
    return User(PROVIDER_USER, (_SUPERUSERS, _AUTHENTICATED))


@asynccontextmanager
async def _listening(server: RecordingServer, user: User) -> AsyncIterator[Kubeconfig]:
    """Serve TLS on a free port; the provider authenticates by token."""
    from kapy._aio.clock import system_clock
    from kapy.apiserver.auth.authentication import Authenticator
    from kapy.apiserver.serving import Application, listen, server_context
    from kapy.client.kubeconfig import Kubeconfig
    from kapy.kube.pki import issue, new_ca

    now = system_clock()
    authority = new_ca("kapy", now=now, algorithm="ECDSA-P256")
    names = ("localhost", "127.0.0.1")
    own = issue(authority, "kapy", now=now, names=names, usages=("server",), algorithm="ECDSA-P256")
    tls = server_context(own.certificate, own.key, client_ca=authority.certificate)
    token = secrets.token_urlsafe(24)
    application = Application(server, Authenticator({token: user}))
    async with listen(application, tls=tls) as (host, port):
        yield Kubeconfig(
            f"https://{host}:{port}", certificate_authority=authority.certificate, token=token
        )
