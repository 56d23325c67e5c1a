"""All managers side by side, each with a user and the rights of its components, on virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any

import msgspec

from kapy._aio.clock import loop_clock
from kapy._aio.services import run_services
from kapy.api.features import FeatureGates
from kapy.apiserver.auth.authorization import Attributes
from kapy.apiserver.request.request_info import request_info
from kapy.apiserver.server import Server
from kapy.apiserver.server.kube_controller_manager import add_kube_controllers
from kapy.apps.admission import AdmissionRules
from kapy.apps.components.rules import RBAC
from kapy.apps.conversion import convert_documents
from kapy.apps.definitions import install_definitions
from kapy.apps.https.authorities import ValidityPeriods
from kapy.apps.https.shared_certificate import SharedCertificate
from kapy.apps.manager.components import components_of
from kapy.apps.manager.programs import PROGRAMS, Connections, Program
from kapy.apps.manager_flags import controller_config
from kapy.apps.program.ca_injection import MUTATING, VALIDATING, CAInjector
from kapy.apps.settings import ControllerConfig
from kapy.client.client import Client
from kapy.client.intercept import Interceptor
from kapy.client.kubeconfig import Kubeconfig
from kapy.engine.leadership import Fenced, LeaderElectionConfig, LeaderElector
from kapy.engine.runtime import Runtime
from kapy.hooks.transport import HookTransport
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, Conflict, Unreachable
from kapy.kube.http import ADMIN, Reply, Request, Transport, User
from kapy.kube.names import CRDS, LEASES, NAMESPACES, Resource
from kapy.providers.docker import Host
from kapy.providers.docker.load_balancer_config import image_of
from kapy.providers.inmemory import InMemoryClusters
from kapy.testing.frozen import Frozen
from kapy.testing.simulation.fake_engine import FakeEngine

GATES = FeatureGates(cluster_topology=True, runtime_sdk=True, machine_taint_propagation=True)
ROLES = {
    kind: Resource(RBAC, "v1", f"{kind.lower()}s", kind, namespaced="Cluster" not in kind)
    for kind in ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
}
SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
REVIEWED = ("authentication.k8s.io", "authorization.k8s.io")
"""Groups of what is asked and not stored."""
SHORT = ValidityPeriods(timedelta(minutes=4), timedelta(minutes=2), timedelta(seconds=20))
CONFIGURATIONS = {item.kind: item for item in (MUTATING, VALIDATING)}


class Asked(Interceptor):
    """Notes what a manager asks for, and what of that it is refused.

    Of each kind, the first answer to a creation is lost, and the first patch that names a version
    meets somebody who was quicker: what is asked for then is to be allowed, too.
    """

    __slots__ = ("_asked", "_hindered", "refused", "user")

    def __init__(self, transport: Transport, user: User) -> None:
        super().__init__(transport)
        self.user = user
        self._asked: dict[tuple[str | None, ...], Attributes] = {}
        self.refused: list[Attributes] = []
        self._hindered: set[tuple[str, str, str]] = set()

    async def __call__(self, request: Request) -> Reply:
        attributes = request_info(request).attributes(self.user)
        self._note(attributes)
        kind = attributes.verb, attributes.group, attributes.resource
        first = kind not in self._hindered
        if first and attributes.verb == "patch" and _names_version(request):
            self._hindered.add(kind)
            return Reply(409, Conflict("somebody was quicker").status())
        reply = await self.transport(request)
        if reply.status == 403 and "cannot" in str(reply.body):
            self.refused.append(attributes)
        if reply.status == 201:
            self._note(attributes._replace(verb="create"))
            if first and attributes.verb == "create" and attributes.group not in REVIEWED:
                self._hindered.add(kind)
                raise Unreachable("the answer is lost")
        return reply

    def _note(self, item: Attributes) -> None:
        key = (
            item.verb,
            item.group,
            item.resource,
            item.subresource,
            item.namespace,
            item.name,
            item.path,
        )
        self._asked[key] = item

    @property
    def asked(self) -> Collection[Attributes]:
        """Everything that was asked for, each once."""
        return self._asked.values()


def _names_version(request: Request) -> bool:
    body = request.body
    document = msgspec.json.decode(body) if isinstance(body, bytes) else body
    return isinstance(document, Mapping) and "resourceVersion" in document.get("metadata", {})


@dataclass(frozen=True)
class PodsHere:
    """etcd and API servers of machines in memory."""

    in_memory: InMemoryClusters

    def etcd(self, cluster: Key, access: Kubeconfig, node: str) -> Transport:
        return self.in_memory.etcd_dial(cluster, access, node)

    async def certificate_expiry(self, access: Kubeconfig, node: str) -> datetime:
        return await self.in_memory.certificate_expiry(access, node)


@dataclass
class Separate:
    """The server, and who works at it. asked: by the manager's name."""

    server: Server
    client: Client
    in_memory: InMemoryClusters
    asked: dict[str, Asked] = field(default_factory=dict)
    runtimes: dict[str, Runtime] = field(default_factory=dict)
    engine: FakeEngine = field(default_factory=FakeEngine)


@asynccontextmanager
async def separate(post: HookTransport, beside: Sequence[Document] = ()) -> AsyncIterator[Separate]:
    """post: to extensions. beside: components of others (their kinds and roles count)."""
    admission = AdmissionRules(GATES)
    clock = loop_clock()
    server = Server.open(None, clock=clock, admission=(admission,), convert=convert_documents)
    async with AsyncExitStack() as stack:
        stack.callback(server.close)
        await stack.enter_async_context(run_services(server=server.run))
        await asyncio.sleep(0)
        server.access.start()
        client = Client(Frozen(server.transport(ADMIN)), field_manager="people")
        here = Separate(server, client, InMemoryClusters(clock=clock))
        here.engine.images |= {"node", image_of("", "")}
        await install_definitions(client)
        add_kube_controllers(server)
        await install(client, beside)
        services: dict[str, Any] = {}
        for name, program in PROGRAMS.items():
            await install(client, components_of(name))
            user = account_of(program.namespace, program.account)
            request = here.asked[name] = Asked(Frozen(server.transport(user)), user)
            if name == "core":  # whose webhooks look at other objects, too
                admission.enable_reads(Client(request))
            await _led_by_another(client, program)
            services |= await _started(program, request, here, post)
        await stack.enter_async_context(run_services(**services))
        yield here


async def _started(
    program: Program, request: Asked, here: Separate, post: HookTransport
) -> dict[str, Any]:
    """A manager, put together as `kapy.apps.program.process` does it."""
    config: ControllerConfig = controller_config({}, gates=GATES)
    clock, random = loop_clock(), Random(program.name)
    own = Client(request, field_manager=program.name)
    terms = LeaderElectionConfig(lease=Key(program.namespace, program.lease), identity=program.name)
    leadership = LeaderElector(own, terms, clock, random)
    runtime = Runtime.on(
        Fenced(request, leadership),
        clock=clock,
        field_manager=program.name,
        random=random,
        options=config.manager,
    )
    runtime.leader_gate = leadership.lead
    here.runtimes[program.name] = runtime
    secret = Key(program.namespace, program.secret)
    shared = SharedCertificate(
        own,
        secret,
        [program.service],
        clock,
        random,
        SHORT,
        on_change=lambda: injection.on_ca_change(),
    )
    service = Key(program.namespace, program.service)
    injection = CAInjector(runtime, service, program.provider, shared)
    pods = PodsHere(here.in_memory)
    outside = Connections(
        lambda: post,
        here.in_memory.dial,
        lambda _: pods,
        here.in_memory,
        Host(lambda: here.engine, {}),
    )
    result = program.add(runtime, config, outside)
    services = {f"{program.name} {key}": run for key, run in result.items()}
    return {
        program.name: runtime.run,
        f"{program.name}'s certificate": lambda: _keep(shared),
        **services,
    }


async def _led_by_another(client: Client, program: Program) -> None:
    """A pod that is gone has the Lease still."""
    spec = {"holderIdentity": "gone", "leaseDurationSeconds": 15}
    metadata = {"name": program.lease, "namespace": program.namespace}
    lease = {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": metadata}
    await client.create(LEASES, {**lease, "spec": spec})


async def _keep(shared: SharedCertificate) -> None:
    try:
        await shared.make_valid()
    except Unreachable:  # a pod that comes again
        await shared.make_valid()
    await shared.keep()


def account_of(namespace: str, name: str) -> User:
    """The user that a service account is."""
    groups = (
        "system:serviceaccounts",
        f"system:serviceaccounts:{namespace}",
        "system:authenticated",
    )
    return User(f"system:serviceaccount:{namespace}:{name}", groups)


async def install(client: Client, components: Sequence[Document]) -> None:
    """Create the components that an API server without Pods can use: Namespaces, CRDs, accounts,
    roles and webhook configurations. Selectors keep the server from calling the webhooks, as no
    Pod answers them."""
    for component in components:
        if component["kind"] == "Namespace":
            await client.create(NAMESPACES, component)
        elif component["kind"] == CRDS.kind:
            try:
                await client.create(CRDS, component)
            except AlreadyExists:
                await client.patch(
                    CRDS, Key.of(component), {"spec": {"conversion": _converting(component)}}
                )
        elif component["kind"] == SERVICE_ACCOUNTS.kind:
            await client.create(SERVICE_ACCOUNTS, component)
        elif component["kind"] in ROLES:
            await client.create(ROLES[component["kind"]], component)
        elif component["kind"] in CONFIGURATIONS:
            never = {"objectSelector": {"matchLabels": {"never": "asked"}}}
            webhooks = [{**webhook, **never} for webhook in component["webhooks"]]
            await client.create(
                CONFIGURATIONS[component["kind"]], {**component, "webhooks": webhooks}
            )


def _converting(crd: Document) -> Document:
    conversion: Document = crd["spec"]["conversion"]
    return conversion
