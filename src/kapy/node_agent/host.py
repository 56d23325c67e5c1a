"""The data that all Pods of one Node share: API server, folders, runtimes, Secrets, ConfigMaps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kapy._aio.clock import Clock
from kapy.client.client import Client
from kapy.kube import Document
from kapy.node_agent.runtime import Runtime
from kapy.node_agent.sources import Sources


@dataclass(frozen=True, slots=True)
class Host:
    """The environment of Pods on one Node.

    folder: the agent's. server: host and port at which containers reach the API server. authority:
    PEM of its CA. address: the Node's. read: reads the Secrets and ConfigMaps of a namespace.
    sources: the objects that a Pod may refer to.
    """

    client: Client
    clock: Clock
    folder: Path
    server: tuple[str, int]
    authority: bytes
    address: str
    allocatable: Mapping[str, str]
    runtimes: Sequence[Runtime]
    read: Callable[[str], Awaitable[None]]
    sources: Callable[[Document], Sources]
