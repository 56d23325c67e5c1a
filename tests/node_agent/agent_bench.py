"""A node agent on virtual time, with a runtime that a test scripts."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from kapy._aio.clock import Clock, loop_clock
from kapy.client.client import Client
from kapy.clusterctl.waiting import has_condition, wait_until
from kapy.kube import Document, Key
from kapy.kube.names import PODS
from kapy.node_agent.agent import AgentConfig, NodeAgent
from kapy.node_agent.runtime import ContainerConfig, Exit
from tests.clusterctl.releases import management_cluster

POD = Key("default", "pod")
LONG = 3600.0


class RunningContainer:
    """A container that runs until it is stopped."""

    identity = "fake://1"
    image = "fake"
    address = "127.0.0.1"
    ports: Mapping[int, int] = {}

    def __init__(self) -> None:
        self.over = asyncio.Event()

    @property
    def started(self) -> datetime:
        return loop_clock()()

    async def ended(self) -> Exit:
        await self.over.wait()
        return Exit(0, "Completed", loop_clock()())

    async def stop(self, seconds: float) -> None:
        self.over.set()

    async def execute(self, command: Sequence[str], seconds: float) -> int:
        return 0

    def outdated(self) -> str:
        return ""

    def trouble(self) -> str:
        return ""


class FailingRuntime:
    """A runtime that fails as no runtime should, so many times."""

    other_users = False

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.starts: list[float] = []
        self.environment: Mapping[str, str] = {}

    async def refusal(self, pod: Document) -> str:
        return ""

    async def find(self, config: ContainerConfig) -> None:
        return None

    async def start(self, config: ContainerConfig) -> RunningContainer:
        self.starts.append(asyncio.get_running_loop().time())
        self.environment = config.environment
        if len(self.starts) <= self.failures:
            raise TypeError("nobody has thought of this")
        return RunningContainer()

    async def server(self, pod: Document, tell: Any) -> None:
        return None

    def address(self, pod: Document) -> str:
        return "10.0.0.7"

    async def forget(self, pod: Document) -> None:
        pass

    async def keep(self, uids: Any) -> None:
        await asyncio.get_running_loop().create_future()

    async def close(self) -> None:
        pass

    def tidy_soon(self) -> None:
        pass


@asynccontextmanager
async def agent(
    folder: Path, runtime: Any, clock: Clock | None = None
) -> AsyncIterator[tuple[Client, NodeAgent]]:
    async with management_cluster(controllers=True) as client, asyncio.TaskGroup() as group:
        await asyncio.sleep(1)
        place = AgentConfig("kapy", folder / "node", folder, ("127.0.0.1", 1), b"")
        node_agent = NodeAgent(
            client,
            place,
            clock=clock or loop_clock(),
            random=random.Random(1),
            runtimes=[runtime],
        )
        running = group.create_task(node_agent.run())
        yield client, node_agent
        running.cancel()


def pod(**metadata: Any) -> Document:
    container = {"name": "main", "image": "web:1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": POD.name, "namespace": POD.namespace, **metadata},
        "spec": {
            "nodeName": "kapy",
            "containers": [container],
            "automountServiceAccountToken": False,
        },
    }


async def pod_when(client: Client, holds: Callable[[Document], Any]) -> Document:
    wait = await wait_until(
        client, PODS, POD, lambda document: bool(document and holds(document)), within=LONG
    )
    assert wait is not None
    return wait


def waiting(document: Document) -> Document:
    statuses = (document.get("status") or {}).get("containerStatuses") or [{}]
    result: Document = (statuses[0].get("state") or {}).get("waiting") or {}
    return result


def is_ready(document: Document) -> bool:
    return has_condition(document, "Ready")
