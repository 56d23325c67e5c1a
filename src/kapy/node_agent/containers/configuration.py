"""The configuration of a container, as an engine takes it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kapy.containers import EngineInfo, Image
from kapy.node_agent.containers.names import JOINED, labels_of
from kapy.node_agent.containers.security import host_config_of, user_of
from kapy.node_agent.runtime import ContainerConfig, StartFailed
from kapy.node_agent.volumes import Mount

LOG_SIZE: Final = "10m"
_LONGEST_HOSTNAME: Final = 63


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The engine around a container.

    plane: the plane's folder. network: the plane's. joined: the id of the container whose network
    this one uses, "" for none. labels_files: whether the machine's SELinux wants files labelled.
    """

    engine: EngineInfo
    plane: Path
    network: str
    joined: str = ""
    labels_files: bool = False


def configuration(
    config: ContainerConfig, spec: str, image: Image, around: Surroundings
) -> dict[str, Any]:
    """Return the configuration of a container. spec: the digest of its specification.

    Raises StartFailed.
    """
    pod, container = config.pod, config.container
    labels = labels_of(around.plane, pod, config.name, config.restarts, spec)
    if around.joined:
        labels[JOINED] = around.joined
    result: dict[str, Any] = {
        "Image": image.id,
        "Env": [f"{key}={value}" for key, value in config.environment.items()],
        "User": user_of(pod, container, image),
        "WorkingDir": container.get("workingDir") or "",
        "Labels": labels,
        "HostConfig": {
            **host_config_of(pod, container),
            **_network(config, around),
            "Binds": _binds(config.mounts, config.folder.parent, labels=around.labels_files),
            "LogConfig": _log(around.engine),
            "RestartPolicy": {"Name": "no"},
        },
    }
    if not around.joined and not pod["spec"].get("hostNetwork"):
        result["Hostname"] = _hostname(config)
        if config.address:
            fixed = {"IPAMConfig": {"IPv4Address": config.address}}
            result["NetworkingConfig"] = {"EndpointsConfig": {around.network: fixed}}
    if container.get("stdin"):
        result |= {"OpenStdin": True, "StdinOnce": bool(container.get("stdinOnce"))}
    if container.get("tty"):
        result["Tty"] = True
    if config.command:
        result["Entrypoint"] = list(config.command)
    if config.args or config.command:
        result["Cmd"] = list(config.args)
    return result


def _network(config: ContainerConfig, around: Surroundings) -> dict[str, Any]:
    spec = config.pod["spec"]
    if spec.get("hostNetwork"):
        return {"NetworkMode": "host"}
    if around.joined:
        return {"NetworkMode": f"container:{around.joined}"}
    aliases = spec.get("hostAliases") or ()
    options = {item["name"]: item.get("value", "") for item in _sysctls(spec)}
    return {
        "NetworkMode": around.network,
        "ExtraHosts": [
            f"{name}:{item['ip']}" for item in aliases for name in item.get("hostnames") or ()
        ],
        **({"Sysctls": options} if options else {}),
    }


def _sysctls(spec: Any) -> Sequence[Any]:
    return (spec.get("securityContext") or {}).get("sysctls") or ()


def _hostname(config: ContainerConfig) -> str:
    name = config.pod["spec"].get("hostname") or config.pod["metadata"]["name"]
    return str(name)[:_LONGEST_HOSTNAME].rstrip("-.")


def _binds(mounts: Sequence[Mount], folder: Path, *, labels: bool) -> list[str]:
    """Return mounts in the engine's format. folder: the Pod's folder; only files in it are
    relabelled for SELinux, and never folders of the host."""
    result = []
    for item in sorted(mounts, key=lambda mount: mount.path.count("/")):
        if ":" in f"{item.source}{item.path}":
            raise StartFailed(
                f"the mount of {item.source} at {item.path} has a colon in a path, which container "
                "engines do not take; use a folder without one",
                "CreateContainerConfigError",
            )
        options = ["ro"] if item.read_only else ["rw"]
        if labels and item.source.is_relative_to(folder):
            options.append("z")
        result.append(f"{item.source}:{item.path}:{','.join(options)}")
    return result


def _log(engine: EngineInfo) -> dict[str, Any]:
    """Return a log configuration with a size limit and a readable format, whatever the engine's
    default is."""
    if engine.is_podman:
        return {"Type": "k8s-file", "Config": {"max-size": LOG_SIZE}}
    return {"Type": "json-file", "Config": {"max-size": LOG_SIZE, "max-file": "2"}}
