"""The address of the container engine: environment, Docker context, or a well-known socket."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from kapy.containers.errors import EngineUnreachable
from kapy.kube.foreign_json import BadJson, decode_json

DEFAULT_CONTEXT: Final = "default"
_SCHEMES: Final = ("unix://", "tcp://", "http://", "https://", "ssh://", "npipe://")
_OVER_TCP: Final = ("tcp://", "http://", "https://")


def engine_address(environment: Mapping[str, str], home: Path) -> str | None:
    """Return the engine's URL; None when a Docker context names it, which the library resolves.

    The order is that of the `docker` command: `DOCKER_HOST`, then the Docker context, then the
    sockets of Docker and Podman. `CONTAINER_HOST` is Podman's own variable. Raises
    EngineUnreachable when there is none of them.
    """
    for variable in ("DOCKER_HOST", "CONTAINER_HOST"):
        if value := environment.get(variable, ""):
            if not value.startswith(_SCHEMES):
                raise EngineUnreachable(
                    f"{variable} is {value!r}, which is no address of a container engine: write "
                    "it as unix:///path/to/socket or tcp://host:port"
                )
            return value
    if _context(environment, home) not in ("", DEFAULT_CONTEXT):
        return None
    sockets = list(_sockets(environment, home))
    for path in sockets:
        if path.is_socket():
            return f"unix://{path}"
    looked_at = ", ".join(map(str, sockets))
    raise EngineUnreachable(
        f"no container engine was found (looked for {looked_at}): start Docker or Podman "
        "(`systemctl start docker`, `systemctl start podman.socket`), or set DOCKER_HOST to the "
        "address of an engine"
    )


def check_address(address: str, environment: Mapping[str, str]) -> None:
    """Raise EngineUnreachable for an address at which no engine can be asked."""
    if address.startswith("npipe://") and sys.platform != "win32":
        raise EngineUnreachable(
            f"{address} is a named pipe of Windows, which this machine does not have: set "
            "DOCKER_HOST to unix:///path/to/socket or tcp://host:port"
        )
    if not address.startswith(_OVER_TCP):
        return
    try:
        parts = urlsplit(address)
        is_complete = bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_complete = False
    if not is_complete:
        raise EngineUnreachable(
            f"{address} is no address of a container engine: write it as tcp://host:port, with a "
            "port from 1 to 65535"
        )
    if environment.get("DOCKER_TLS_VERIFY") == "1" and not environment.get("DOCKER_CERT_PATH"):
        raise EngineUnreachable(
            f"the container engine at {address} cannot be asked, because DOCKER_TLS_VERIFY is set "
            "without DOCKER_CERT_PATH: set it to the folder with ca.pem, cert.pem and key.pem"
        )


def _context(environment: Mapping[str, str], home: Path) -> str:
    if name := environment.get("DOCKER_CONTEXT", ""):
        return name
    try:
        configuration = decode_json((home / ".docker" / "config.json").read_bytes())
    except (OSError, BadJson):
        return ""
    result = configuration.get("currentContext") if isinstance(configuration, dict) else None
    return result if isinstance(result, str) else ""


def _sockets(environment: Mapping[str, str], home: Path) -> Iterable[Path]:
    yield Path("/run/docker.sock")
    yield Path("/var/run/docker.sock")
    runtime = environment.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    yield Path(runtime) / "docker.sock"
    yield home / ".docker" / "run" / "docker.sock"
    yield Path(runtime) / "podman" / "podman.sock"
    yield Path("/run/podman/podman.sock")
