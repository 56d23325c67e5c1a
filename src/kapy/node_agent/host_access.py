"""Access of Pods to their host machine: requested by a release, and allowed by the machine's owner.

Allowed access is stored in a file of the plane's folder, as are programs: a user who may create
Pods on a plane must not thereby become the administrator of the machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.foreign_json import BadJson, decode_json

NAME: Final = "host-access.json"
_DEFAULT_CAPABILITIES: Final = frozenset((
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
    "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
))  # fmt: skip
"""Capabilities that engines give every container, but for that of raw sockets."""


class BadHostAccess(KapyError):
    """The file with allowed access cannot be read; the message gives the reason."""


class Allowed(NamedTuple):
    """The host access that Pods of a Deployment (or DaemonSet, …) have."""

    namespace: str
    workload: str
    access: tuple[str, ...]


def access_of(spec: Mapping[str, Any]) -> list[str]:
    """Return the host access that a Pod specification requests, in words."""
    return sorted(set(_access(spec)))


def _access(spec: Mapping[str, Any]) -> Iterator[str]:
    yield from (field for field in ("hostNetwork", "hostPID") if spec.get(field))
    for item in spec.get("volumes") or ():
        if "hostPath" in item:
            yield f"hostPath {item['hostPath'].get('path')}"
    contexts = [spec.get("securityContext") or {}]
    for field in ("initContainers", "containers"):
        contexts += [item.get("securityContext") or {} for item in spec.get(field) or ()]
    for context in contexts:
        if context.get("privileged"):
            yield "privileged"
        if (context.get("seccompProfile") or {}).get("type") == "Unconfined":
            yield "seccompProfile Unconfined"
        for name in (context.get("capabilities") or {}).get("add") or ():
            if str(name).removeprefix("CAP_") not in _DEFAULT_CAPABILITIES:
                yield f"capability {name}"
        for sysctl in context.get("sysctls") or ():
            yield f"sysctl {sysctl.get('name')}"


def read(folder: Path) -> Sequence[Allowed]:
    """Return the host access that a plane allows. folder: the plane's. Raises BadHostAccess."""
    path = folder / NAME
    try:
        return msgspec.convert(decode_json(path.read_bytes()), list[Allowed])
    except FileNotFoundError:
        return []
    except (OSError, BadJson, msgspec.ValidationError) as error:
        raise BadHostAccess(
            f"{path} cannot be read ({error}); delete it, and install the provider again"
        ) from None


def allow(folder: Path, fresh: Iterable[Allowed]) -> None:
    """Allow this access, and replace what the same workloads had. Raises BadHostAccess, OSError."""
    added = list(fresh)
    replaced = {item[:2] for item in added}
    others = [item for item in read(folder) if item[:2] not in replaced]
    replace(folder, [*others, *(item for item in added if item.access)])


def replace(folder: Path, allowed: Sequence[Allowed]) -> None:
    """Allow exactly this access. Raises OSError."""
    path = folder / f"{NAME}.new"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(msgspec.json.encode(allowed))
    path.replace(folder / NAME)


def refusal(folder: Path, pod: Document, workload: str) -> str:
    """Return the reason for which a Pod does not get its requested access, "" if it does."""
    wanted = access_of(pod["spec"])
    if not wanted:
        return ""
    namespace = pod["metadata"]["namespace"]
    try:
        allowed = {
            name
            for item in read(folder)
            if (item.namespace, item.workload) == (namespace, workload)
            for name in item.access
        }
    except BadHostAccess as error:
        return str(error)
    missing = [item for item in wanted if item not in allowed]
    if not missing:
        return ""
    return (
        f"it asks for access to this machine that nobody has allowed ({', '.join(missing)}): "
        "`kapy init` and `kapy upgrade apply` allow what a release asks for, and tell it; for a "
        f"Pod of your own add to {folder / NAME} an entry with its namespace, the name of its "
        "Deployment, and these words"
    )
