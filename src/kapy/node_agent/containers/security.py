"""The user, rights and resources of a container, as an engine takes them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from kapy.containers import Image
from kapy.kube import Document
from kapy.kube.digits import has_only_digits, parse_integer
from kapy.kube.quantity import parse
from kapy.node_agent.runtime import StartFailed

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


def user_of(pod: Document, container: Document, image: Image) -> str:
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


def host_config_of(pod: Document, container: Document) -> dict[str, Any]:
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
