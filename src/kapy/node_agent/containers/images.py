"""Images of containers: existing ones, or pulled according to the Pod's pull policy."""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from kapy.containers import DiskFull, Engine, EngineError, EngineUnreachable, Image
from kapy.kube.foreign_json import BadJson, decode_json
from kapy.node_agent.runtime import ContainerConfig, StartFailed

ERR_PULL: Final = "ErrImagePull"
_STEP: Final = 1.0
"""Seconds between two reports of how far a pull is."""
_DOCKER_HUB: Final = ("docker.io", "index.docker.io", "registry-1.docker.io")


async def obtain_image(engine: Engine, config: ContainerConfig) -> Image:
    """Return the image of a container. Raises StartFailed, EngineUnreachable, DiskFull."""
    name = str(config.container.get("image") or "")
    if not name:
        raise StartFailed(f"container {config.name} names no image", "InvalidImageName")
    policy = config.container.get("imagePullPolicy") or "IfNotPresent"
    there = await engine.image(name)
    if there is not None and policy != "Always":
        return there
    if policy == "Never":
        raise StartFailed(
            f'Container image "{name}" is not present with pull policy of Never; put it into the '
            "engine (`docker load`, `docker tag`)",
            "ErrImageNeverPull",
        )
    await _pull(engine, config, name, there)
    result = await engine.image(name)
    if result is None:
        raise StartFailed(f"image {name} is gone right after it was pulled", ERR_PULL)
    return result


async def _pull(engine: Engine, config: ContainerConfig, name: str, existing: Image | None) -> None:
    login = login_for(name, config.pull_secrets)
    full = name if login is None or "/" in name else f"{_DOCKER_HUB[0]}/library/{name}"
    try:
        await engine.pull(full, _reports(config), login=login)
    except (DiskFull, EngineUnreachable):
        raise
    except EngineError as error:
        remedy = (
            "; the engine has an image of that name, which imagePullPolicy IfNotPresent would use"
        )
        raise StartFailed(f"{error}{remedy if existing is not None else ''}", ERR_PULL) from None


def _reports(config: ContainerConfig) -> Callable[[str], None]:
    """Return a function that reports the progress of a pull, at most once per `_STEP`."""
    clock = asyncio.get_running_loop().time
    last_report = [clock() - _STEP]

    def report(line: str) -> None:
        now = clock()
        if now - last_report[0] >= _STEP:
            last_report[0] = now
            config.tell("ContainerCreating", line)

    return report


def registry_of(image: str) -> str:
    """Return the registry in an image name."""
    first, slash, _ = image.partition("/")
    named = slash and ("." in first or ":" in first or first == "localhost")
    return first if named else _DOCKER_HUB[0]


def login_for(image: str, secrets: Iterable[Mapping[str, bytes]]) -> dict[str, str] | None:
    """Return the login at an image's registry, from Secrets of the type `dockerconfigjson`."""
    registry = registry_of(image)
    names = _DOCKER_HUB if registry in _DOCKER_HUB else (registry,)
    for secret in secrets:
        for address, entry in _entries(secret):
            host = address.removeprefix("https://").removeprefix("http://").split("/")[0]
            if host in names:
                result = _login(entry)
                if result is not None:
                    return result
    return None


def _entries(secret: Mapping[str, bytes]) -> Iterable[tuple[str, Any]]:
    try:
        config = decode_json(secret.get(".dockerconfigjson") or b"{}")
    except BadJson:
        return ()
    entries = config.get("auths") if isinstance(config, dict) else None
    return entries.items() if isinstance(entries, dict) else ()


def _login(entry: Any) -> dict[str, str] | None:
    if not isinstance(entry, dict):
        return None
    if entry.get("username"):
        return {"username": str(entry["username"]), "password": str(entry.get("password", ""))}
    try:
        text = base64.b64decode(str(entry.get("auth", ""))).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
    user, colon, password = text.partition(":")
    return {"username": user, "password": password} if colon else None
