"""A container engine (Docker Engine or Podman) by its HTTP API.

    async with Engine.from_environment() as engine:
        await engine.ensure_image("kindest/node:v1.36.1")
        await engine.create("node", {"Image": "kindest/node:v1.36.1"})

`engine` holds the operations, `address` finds the engine, `errors` has one sentence with a remedy
for each way in which an engine refuses. The library behind it is aiodocker; no other module of kapy
imports it, and it is imported when the first engine is opened.
"""

from kapy.containers.address import engine_address
from kapy.containers.commands import Tail
from kapy.containers.engine import Engine
from kapy.containers.errors import (
    DiskFull,
    EngineError,
    EngineUnreachable,
    ImageUnavailable,
    NameInUse,
    NoSuchObject,
    NotPermitted,
    PortInUse,
)
from kapy.containers.records import (
    LIMITS,
    CommandResult,
    Container,
    EngineInfo,
    File,
    Image,
    Network,
    volume_of,
)
from kapy.containers.sessions import Session

__all__ = [
    "LIMITS",
    "CommandResult",
    "Container",
    "DiskFull",
    "Engine",
    "EngineError",
    "EngineInfo",
    "EngineUnreachable",
    "File",
    "Image",
    "ImageUnavailable",
    "NameInUse",
    "Network",
    "NoSuchObject",
    "NotPermitted",
    "PortInUse",
    "Session",
    "Tail",
    "engine_address",
    "volume_of",
]
