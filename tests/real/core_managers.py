"""Core managers as processes, and something for them to do."""

from __future__ import annotations

import signal
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from kapy.api.cluster import Cluster
from kapy.apps.manager.programs import PROGRAMS
from kapy.client.client import Client
from kapy.kube import Document, Key
from kapy.kube.names import LEASES
from tests.real.installed import cluster, eventually
from tests.real.processes import Line, Manager, Stable
from tests.real.servers import Place

CORE = PROGRAMS["core"]
LEASE = Key(CORE.namespace, CORE.lease)


@dataclass
class Managers:
    """Core managers of one namespace, and what there is to do."""

    there: Place
    client: Client
    namespace: str
    forks: Stable
    stack: AsyncExitStack
    number: int = 0

    async def begin(self, name: str, *arguments: str) -> Manager:
        """Start one."""
        line = await self.stack.enter_async_context(Line(self.there.access).laid())
        messages = (f"--namespace={self.namespace}", "--webhook-port=0", *arguments)
        started = self.forks.begin(name, "core", line, *messages)
        self.stack.callback(started.signal, signal.SIGKILL)
        await started.says("is at https://")
        return started

    async def work(self) -> None:
        """Something that a core manager has to write of, until one did."""
        self.number += 1
        key = Key(self.namespace, f"herd-{self.number}")
        await self.client.create(Cluster.RESOURCE, cluster(key))
        await eventually(self.client, Cluster.RESOURCE, key, is_noticed)

    async def holder(self) -> str:
        """Return the holder of the Lease."""
        spec = (await self.client.get(LEASES, LEASE))["spec"]
        return str(spec.get("holderIdentity") or "")


def is_noticed(document: Document | None) -> bool:
    return bool(document and document["metadata"].get("finalizers"))


def audit_of(there: Place) -> Path:
    """The log; a server of somebody's own may not show it."""
    if there.audit is None:
        pytest.skip("KAPY_TEST_AUDIT_LOG does not say where the server's audit log is")
    return there.audit
