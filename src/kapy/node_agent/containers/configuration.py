"""The configuration of a container for an engine, with its security context and resources. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from kapy.containers import EngineInfo, Image
from kapy.kube import Document
from kapy.kube.digits import has_only_digits, parse_integer
from kapy.kube.quantity import parse
from kapy.node_agent.containers.names import JOINED, labels_of
from kapy.node_agent.runtime import ContainerConfig, StartFailed
from kapy.node_agent.volumes import Mount

_LOG_SIZE: Final = "10m"
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
        "User": _user_of(pod, container, image),
        "WorkingDir": container.get("workingDir") or "",
        "Labels": labels,
        "HostConfig": {
            **_host_config_of(pod, container),
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
        return {"Type": "k8s-file", "Config": {"max-size": _LOG_SIZE}}
    return {"Type": "json-file", "Config": {"max-size": _LOG_SIZE, "max-file": "2"}}


_POD: Final = frozenset((
    "runAsUser", "runAsGroup", "runAsNonRoot", "supplementalGroups", "fsGroup",
    "fsGroupChangePolicy", "seccompProfile", "sysctls",
))  # fmt: skip
_CONTAINER: Final = frozenset((
    "runAsUser", "runAsGroup", "runAsNonRoot", "readOnlyRootFilesystem", "capabilities",
    "privileged", "allowPrivilegeEscalation", "seccompProfile",
))  # fmt: skip
_SECCOMP: Final = ("RuntimeDefault", "Unconfined")
_LEAST_SHARES: Final = 2


def unsupported_security(pod: Document) -> list[str]:
    """Return the paths of the fields of security contexts that containers here cannot have."""
    return list(_unsupported_fields(pod["spec"]))


def _unsupported_fields(spec: Mapping[str, Any]) -> Iterator[str]:
    yield from _others("spec.securityContext", spec.get("securityContext") or {}, _POD)
    for field in ("initContainers", "containers"):
        for item in spec.get(field) or ():
            path = f"spec.{field}[{item.get('name')}]"
            context = item.get("securityContext") or {}
            yield from _others(f"{path}.securityContext", context, _CONTAINER)


def _others(path: str, fields: Mapping[str, Any], supported: frozenset[str]) -> Iterator[str]:
    for key, value in fields.items():
        if value and key not in supported and (key, value) != ("procMount", "Default"):
            yield f"{path}.{key}"
    profile = (fields.get("seccompProfile") or {}).get("type")
    if profile and profile not in _SECCOMP:
        yield f"{path}.seccompProfile.type: {profile}"


def _user_of(pod: Document, container: Document, image: Image) -> str:
    """Return the user and group of a container, "" for those of its image. Raises StartFailed."""
    context = _merge_contexts(pod, container)
    user, group = context.get("runAsUser"), context.get("runAsGroup")
    if context.get("runAsNonRoot"):
        _check_user(container, image, user)
    own = image.user.partition(":")[0] or "0"
    if group is not None:
        return f"{own if user is None else user}:{group}"
    return "" if user is None else str(user)


def _check_user(container: Document, image: Image, user: int | None) -> None:
    name, own = container["name"], image.user.partition(":")[0] or "0"
    reason = ""
    if user is not None:
        reason = "" if user else "the container's runAsUser breaks non-root policy"
    elif not has_only_digits(own):
        reason = f"image has non-numeric user ({own}), cannot verify user is non-root"
    elif parse_integer(own) == 0:
        reason = "image will run as root"
    if reason:
        raise StartFailed(
            f"container {name} has runAsNonRoot and {reason}", "CreateContainerConfigError"
        )


def _merge_contexts(pod: Document, container: Document) -> Mapping[str, Any]:
    of_pod = pod["spec"].get("securityContext") or {}
    own = container.get("securityContext") or {}
    return {**of_pod, **{key: value for key, value in own.items() if value is not None}}


def _host_config_of(pod: Document, container: Document) -> dict[str, Any]:
    """Return the part of an engine's `HostConfig` with rights and resources."""
    context = _merge_contexts(pod, container)
    capabilities = context.get("capabilities") or {}
    groups = [*(context.get("supplementalGroups") or ()), context.get("fsGroup")]
    return {
        "Privileged": bool(context.get("privileged")),
        "ReadonlyRootfs": bool(context.get("readOnlyRootFilesystem")),
        "CapAdd": list(capabilities.get("add") or ()),
        "CapDrop": list(capabilities.get("drop") or ()),
        "SecurityOpt": list(_options(context)),
        "GroupAdd": [str(item) for item in groups if item is not None],
        "PidMode": "host" if pod["spec"].get("hostPID") else "",
        **_resources(container.get("resources") or {}),
    }


def _options(context: Mapping[str, Any]) -> Iterator[str]:
    if context.get("allowPrivilegeEscalation") is False:
        yield "no-new-privileges:true"
    if (context.get("seccompProfile") or {}).get("type") == "Unconfined":
        yield "seccomp=unconfined"


def _resources(resources: Mapping[str, Any]) -> dict[str, int]:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    result: dict[str, int] = {}
    if "cpu" in limits:
        result["NanoCpus"] = int(parse(limits["cpu"]) * Decimal(10**9))
    wanted = requests.get("cpu") or limits.get("cpu")
    if wanted:
        result["CpuShares"] = max(int(parse(wanted) * 1024), _LEAST_SHARES)
    if "memory" in limits:
        result["Memory"] = result["MemorySwap"] = int(parse(limits["memory"]))
    return result
