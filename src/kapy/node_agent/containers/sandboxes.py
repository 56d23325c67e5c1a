"""Networks that the containers of a Pod share: all others join that of the first one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from kapy.containers import Container
from kapy.kube import Document
from kapy.node_agent.runtime import ContainerConfig


@dataclass(slots=True)
class Sandbox:
    """The network of a Pod: the id and the address of its first container, once that runs."""

    container: str = ""
    address: str = ""
    ready: asyncio.Event = field(default_factory=asyncio.Event)


class Sandboxes:
    """The networks of all Pods of a plane, by the uids of the Pods."""

    def __init__(self) -> None:
        self._known: dict[str, Sandbox] = {}

    async def network_of(self, config: ContainerConfig) -> Sandbox:
        """The network that a container is to join; of one that joins none, an empty one."""
        if not _joins(config):
            return Sandbox()
        sandbox = self._sandbox(config.pod)
        await sandbox.ready.wait()
        return sandbox

    def joined(
        self, config: ContainerConfig, container: Container, address: str
    ) -> Callable[[], str]:
        """Take in a container that runs now; answers what says why it must be started again."""
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
        """Called when a container has ended: nobody can join the network of the first one then."""
        if _joins(config) or not _is_first(config):
            return lambda: None
        return self._sandbox(config.pod).ready.clear

    def address_of(self, config: ContainerConfig) -> str:
        """The address of the Pod that a container belongs to, "" where it has one of its own."""
        return self._sandbox(config.pod).address if _joins(config) else ""

    def forget(self, pod: Document) -> None:
        """The Pod is gone."""
        self._known.pop(pod["metadata"]["uid"], None)

    def _sandbox(self, pod: Document) -> Sandbox:
        return self._known.setdefault(pod["metadata"]["uid"], Sandbox())


def _is_first(config: ContainerConfig) -> bool:
    return bool(config.pod["spec"]["containers"][0]["name"] == config.name)


def _joins(config: ContainerConfig) -> bool:
    """Whether a container shares the network of another one."""
    spec = config.pod["spec"]
    initial = any(item["name"] == config.name for item in spec.get("initContainers") or ())
    return not (spec.get("hostNetwork") or initial or _is_first(config))
