"""The API server that a provider is judged on."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kapy._aio.clock import Clock
from kapy._aio.services import running
from kapy.api.cluster import Cluster
from kapy.api.features import FeatureGates
from kapy.api.ip_address import IPAddress, IPAddressClaim
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.client.client import Client
from kapy.client.intercept import Interceptor
from kapy.client.kinds import Kinds
from kapy.clusterctl.components import CLUSTERCTL_LABEL
from kapy.kube import Document
from kapy.kube.errors import AlreadyExists
from kapy.kube.http import ADMIN, Reply, Request, Transport, User
from kapy.kube.names import CRDS, NAMESPACES, Resource
from kapy.testing.conformance.heard import SUBJECT, HearingServer, Ledger
from kapy.testing.conformance.subject import Subject
from kapy.testing.frozen import Frozen
from kapy.testing.provider_bench import permissive

if TYPE_CHECKING:
    from kapy.client.kubeconfig import Kubeconfig

MANAGER: Final = "kapy-conformance"
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


class Ours(Interceptor):
    """Notes which resourceVersions our own writes made."""

    __slots__ = ("versions",)

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.versions: set[str] = set()

    async def __call__(self, request: Request) -> Reply:
        reply = await super().__call__(request)
        if request.method != "GET" and isinstance(reply.body, dict):
            metadata = reply.body.get("metadata") or {}
            self.versions.add(metadata.get("resourceVersion", ""))
        return reply


@dataclass
class Ground:
    """An API server, and the kit's way to it.

    client: asks as its administrator. ledger: what the provider writes. ours: what we wrote.
    transport: the provider's way to it in process, access: over the network; None where there is
    none. embedded: whether nobody else is there. prefix: how the namespaces of checks begin.
    server: itself, where it is ours.
    """

    client: Client
    ledger: Ledger
    clock: Clock
    ours: Ours
    transport: Transport | None = None
    access: Kubeconfig | None = None
    embedded: bool = True
    light: bool = False
    prefix: str = "conformance"
    namespaces: set[str] = field(default_factory=set)
    server: HearingServer | None = None

    async def namespace(self, name: str) -> None:
        """A namespace for one check; it may be there."""
        self.namespaces.add(name)
        document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        with suppress(AlreadyExists):
            await self.client.create(NAMESPACES, document)


@asynccontextmanager
async def embedded(subject: Subject, *, clock: Clock, light: bool = False) -> AsyncIterator[Ground]:
    """An API server of our own, with core's kinds and the provider's.

    It listens where the provider needs that. light: core's kinds take every field, and have no
    old versions: quicker, for providers that were made with the SDK.
    """
    server, client = await _opened(clock, subject, light=light)
    ours = Ours(client.transport)
    client = Client(ours, field_manager=MANAGER)
    server.user = subject.rights or SUBJECT
    try:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(running(server=server.run))
            await asyncio.sleep(0)  # the server makes its namespaces in its first step
            await _install(client, subject, light=light)
            user = _user(subject)
            found = Ground(client, server.ledger, clock, ours, light=light, server=server)
            if subject.way.network:
                found.access = await stack.enter_async_context(_listening(server, user))
            else:
                found.transport = Frozen(server.transport(user))
            yield found
    finally:
        server.close()


async def _opened(clock: Clock, subject: Subject, *, light: bool) -> tuple[HearingServer, Client]:
    if light:
        server = HearingServer.open(None, clock=clock, admission=subject.admission)
        assert isinstance(server, HearingServer)
        return server, Client(server.transport(ADMIN))
    from kapy.apps.admission import Rules
    from kapy.apps.conversion import converted

    rules = Rules(_GATES)
    admission = (rules, *subject.admission)
    server = HearingServer.open(None, clock=clock, admission=admission, convert=converted)
    assert isinstance(server, HearingServer)
    client = Client(server.transport(ADMIN))
    rules.read_through(client)
    return server, client


async def _install(client: Client, subject: Subject, *, light: bool) -> None:
    if light:
        for resource in _CORE:
            await client.create(CRDS, labelled(permissive(resource)))
    else:
        from kapy.apps.definitions import install_definitions

        await install_definitions(client)
    await install(client, subject)


async def install(client: Client, subject: Subject) -> None:
    """The provider's kinds, and what else is installed before it starts; what is there stays."""
    kinds = Kinds(client)
    for document in sorted(subject.definitions, key=lambda one: one["kind"] != CRDS.kind):
        document = labelled(document) if document["kind"] == CRDS.kind else document
        with suppress(AlreadyExists):
            await client.create(await kinds.of(document), document)
    there = {one["metadata"]["name"] for one in (await client.list(CRDS)).items}
    for resource in _resources(subject):
        if resource.group_resource not in there:
            await client.create(CRDS, labelled(permissive(resource)))


def _resources(subject: Subject) -> Sequence[Resource]:
    kinds = [one.resource for one in subject.kinds]
    return [*kinds, *(one.template for one in subject.kinds if one.template is not None)]


def labelled(crd: Document) -> Document:
    """A CRD, as clusterctl installs it."""
    metadata = crd["metadata"]
    labels = {CLUSTERCTL_LABEL: "", **(metadata.get("labels") or {})}
    return {**crd, "metadata": {**metadata, "labels": labels}}


def _user(subject: Subject) -> User:
    if subject.rights:
        namespace = subject.rights.split(":")[2]
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
        return User(subject.rights, (*groups, _AUTHENTICATED))
    return User(SUBJECT, (_SUPERUSERS, _AUTHENTICATED))


@asynccontextmanager
async def _listening(server: HearingServer, user: User) -> AsyncIterator[Kubeconfig]:
    """Over TLS, on any free port; the provider shows a token."""
    from kapy._aio.clock import system_clock
    from kapy.apiserver.authentication import Authentication
    from kapy.apiserver.serving import Application, listen, server_context
    from kapy.client.kubeconfig import Kubeconfig
    from kapy.kube.pki import issue, new_ca

    now = system_clock()
    authority = new_ca("kapy", now=now, algorithm="ECDSA-P256")
    names = ("localhost", "127.0.0.1")
    own = issue(authority, "kapy", now=now, names=names, usages=("server",), algorithm="ECDSA-P256")
    tls = server_context(own.certificate, own.key, client_ca=authority.certificate)
    token = secrets.token_urlsafe(24)
    application = Application(server, Authentication({token: user}))
    async with listen(application, tls=tls) as (host, port):
        yield Kubeconfig(
            f"https://{host}:{port}", certificate_authority=authority.certificate, token=token
        )


@asynccontextmanager
async def elsewhere(transport: Transport, *, clock: Clock) -> AsyncIterator[Ground]:
    """An API server that somebody runs, with the provider on it."""
    ours = Ours(transport)
    yield Ground(Client(ours, field_manager=MANAGER), Ledger(), clock, ours, embedded=False)
