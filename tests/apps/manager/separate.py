"""All managers side by side, each with a user and rights of its own, on virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import Any, NamedTuple

from kapy._aio.clock import loop_clock
from kapy._aio.services import running
from kapy.api.features import FeatureGates
from kapy.apiserver.authorization import Attributes
from kapy.apiserver.controllers.kube_controller_manager import accompany
from kapy.apiserver.request_info import attributes_of
from kapy.apiserver.server import Server
from kapy.apps.admission import Rules
from kapy.apps.conversion import converted
from kapy.apps.definitions import install_definitions
from kapy.apps.manager.programs import PROGRAMS, Outside, Program
from kapy.apps.manager_flags import controlling
from kapy.apps.settings import Controlling
from kapy.client.client import Client
from kapy.client.intercept import Interceptor
from kapy.client.kubeconfig import Kubeconfig
from kapy.engine.runtime import Runtime
from kapy.hooks.posting import Post
from kapy.kube import Document, Key
from kapy.kube.http import ADMIN, Reply, Request, Transport, User
from kapy.kube.names import NAMESPACES, Resource
from kapy.providers.inmemory import InMemory
from kapy.testing.frozen import Frozen

RBAC = "rbac.authorization.k8s.io"
ROLES = Resource(RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False)
BINDINGS = Resource(RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False)
GATES = FeatureGates(cluster_topology=True, runtime_sdk=True)


class Right(NamedTuple):
    """What somebody may do, or did. resource: with its subresource after a slash."""

    verb: str
    group: str
    resource: str

    @classmethod
    def of(cls, asked: Attributes) -> Right:
        """What is asked for."""
        part = f"/{asked.subresource}" if asked.subresource else ""
        return cls(asked.verb, asked.group, asked.resource + part or asked.path)


class Asked(Interceptor):
    """Notes what a manager asks for, and what of that it is refused."""

    __slots__ = ("asked", "refused", "user")

    def __init__(self, transport: Transport, user: User) -> None:
        super().__init__(transport)
        self.user = user
        self.asked: set[Right] = set()
        self.refused: list[Right] = []

    async def __call__(self, request: Request) -> Reply:
        asked = Right.of(attributes_of(request, self.user))
        self.asked.add(asked)
        reply = await self.transport(request)
        if reply.status == 403:
            self.refused.append(asked)
        return reply


@dataclass(frozen=True)
class PodsHere:
    """etcd and API servers of machines in memory."""

    in_memory: InMemory

    def etcd(self, cluster: Key, access: Kubeconfig, node: str) -> Transport:
        return self.in_memory.etcd_dial(cluster, access, node)

    async def certificate_expiry(self, access: Kubeconfig, node: str) -> datetime:
        return await self.in_memory.certificate_expiry(access, node)


@dataclass
class Separate:
    """The server, and who works at it. asked: by the manager's name."""

    server: Server
    client: Client
    in_memory: InMemory
    asked: dict[str, Asked] = field(default_factory=dict)


@asynccontextmanager
async def separate(rules: Mapping[str, Sequence[Document]], post: Post) -> AsyncIterator[Separate]:
    """rules: of each manager's ClusterRole."""
    admission = Rules(GATES)
    clock = loop_clock()
    server = Server.open(None, clock=clock, admission=(admission,), convert=converted)
    admission.read_through(Client(server.transport(ADMIN)))
    async with AsyncExitStack() as stack:
        stack.callback(server.close)
        await stack.enter_async_context(running(server=server.run))
        await asyncio.sleep(0)
        client = Client(Frozen(server.transport(ADMIN)), field_manager="people")
        here = Separate(server, client, InMemory(clock=clock))
        await install_definitions(client)
        accompany(server)
        services: dict[str, Any] = {}
        for name, program in PROGRAMS.items():
            user = await _granted(client, program, rules[name])
            asked = here.asked[name] = Asked(Frozen(server.transport(user)), user)
            services |= _started(program, asked, here, post)
        await stack.enter_async_context(running(**services))
        yield here


def _started(program: Program, asked: Asked, here: Separate, post: Post) -> dict[str, Any]:
    told: Controlling = controlling({}, gates=GATES)
    runtime = Runtime.on(
        asked,
        clock=loop_clock(),
        field_manager=program.name,
        random=Random(program.name),
        options=told.manager,
    )

    pods = PodsHere(here.in_memory)
    outside = Outside(lambda: post, here.in_memory.dial, lambda _: pods, here.in_memory)
    found = program.add(runtime, told, outside)
    own = {f"{program.name} {one}": run for one, run in found.items()}
    return {program.name: runtime.run, **own}


async def _granted(client: Client, program: Program, rules: Sequence[Document]) -> User:
    namespace, account = f"{program.prefix}-system", f"{program.prefix}-manager"
    meta = {"name": account}
    created = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    await client.create(NAMESPACES, created)
    api = f"{RBAC}/v1"
    role = {"apiVersion": api, "kind": "ClusterRole", "metadata": meta, "rules": list(rules)}
    await client.create(ROLES, role)
    bound = {"kind": "ServiceAccount", "namespace": namespace, "name": account}
    ref = {"apiGroup": RBAC, "kind": "ClusterRole", "name": account}
    binding = {"apiVersion": api, "kind": "ClusterRoleBinding", "metadata": meta}
    await client.create(BINDINGS, {**binding, "roleRef": ref, "subjects": [bound]})
    groups = (
        "system:serviceaccounts",
        f"system:serviceaccounts:{namespace}",
        "system:authenticated",
    )
    return User(f"system:serviceaccount:{namespace}:{account}", groups)
