"""The network namespaces of Pods: all containers of a Pod join that of its first container."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from kapy.containers import Container
from kapy.kube import Document
from kapy.node_agent.runtime import ContainerConfig


@dataclass(slots=True)
class Sandbox:
    """The network namespace of a Pod: ID and address of its first container while that runs."""

    container: str = ""
    address: str = ""
    ready: asyncio.Event = field(default_factory=asyncio.Event)


class Sandboxes:
    """The networks of all Pods of a plane, by the uids of the Pods."""

    def __init__(self) -> None:
        self._known: dict[str, Sandbox] = {}

    async def network_of(self, config: ContainerConfig) -> Sandbox:
        """Return the network that a container must join, after waiting for it; an empty one if it
        joins none."""
        if not _joins(config):
            return Sandbox()
        sandbox = self._sandbox(config.pod)
        await sandbox.ready.wait()
        return sandbox

    def joined(
        self, config: ContainerConfig, container: Container, address: str
    ) -> Callable[[], str]:
        """Record a running container; return a function that tells why it must be restarted, "" if
        it need not."""
        sandbox = self._sandbox(config.pod)
        if not _joins(config):
            if _is_first(config):
                sandbox.container, sandbox.address = container.id, address
                sandbox.ready.set()
            return lambda: ""
        network = sandbox.container
        first = config.pod["spec"]["containers"][0]["name"]

        def outdated() -> str:
            return "" if sandbox.container == network else f"container {first} has another network"

        return outdated

    def leaves(self, config: ContainerConfig) -> Callable[[], None]:
        """Return a function to call when the container has ended. It makes containers wait for a
        new network if the first container of the Pod has ended."""
        if _joins(config) or not _is_first(config):
            return lambda: None
        return self._sandbox(config.pod).ready.clear

    def address_of(self, config: ContainerConfig) -> str:
        """Return the address of the Pod whose network a container joins, "" if it joins none."""
        return self._sandbox(config.pod).address if _joins(config) else ""

    def forget(self, pod: Document) -> None:
        """Forget a deleted Pod."""
        self._known.pop(pod["metadata"]["uid"], None)

    def _sandbox(self, pod: Document) -> Sandbox:
        return self._known.setdefault(pod["metadata"]["uid"], Sandbox())


def _is_first(config: ContainerConfig) -> bool:
    return bool(config.pod["spec"]["containers"][0]["name"] == config.name)


def _joins(config: ContainerConfig) -> bool:
    """Return whether a container joins the network of another one."""
    spec = config.pod["spec"]
    initial = any(item["name"] == config.name for item in spec.get("initContainers") or ())
    return not (spec.get("hostNetwork") or initial or _is_first(config))
