"""Validation of the security contexts of pods and containers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from kapy.apiserver.resources.builtin.file_paths import descending_path_errors
from kapy.kube import Document
from kapy.kube.field_errors import (
    FieldError,
    FixedText,
    duplicate,
    invalid,
    not_supported,
    required,
)
from kapy.kube.qualified_names import dns_subdomain_errors

_MOST: Final = 2**31 - 1
_RANGE: Final = f"must be between 0 and {_MOST}, inclusive"
_PROFILES: Final = ["Localhost", "RuntimeDefault", "Unconfined"]
_LONGEST_PATH: Final = 4095
_LONGEST_SYSCTL: Final = 253
_SYSCTL_PART: Final = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL: Final = f"({_SYSCTL_PART}[\\./])*{_SYSCTL_PART}"
_BY_CHOICE: Final[dict[str, list[str]]] = {
    "supplementalGroupsPolicy": ["Merge", "Strict"],
    "seLinuxChangePolicy": ["Recursive"],
}
_STRUCT: Final = (
    *("Capabilities", "Privileged", "SELinuxOptions", "WindowsOptions", "RunAsUser", "RunAsGroup"),
    *("RunAsNonRoot", "ReadOnlyRootFilesystem", "AllowPrivilegeEscalation", "ProcMount"),
    *("SeccompProfile", "AppArmorProfile"),
)
"""The fields of a container's security context in Go, in their order."""

_PARTS: Final[dict[str, tuple[str, ...]]] = {
    "Capabilities": ("Add", "Drop"),
    "SELinuxOptions": ("User", "Role", "Type", "Level"),
    "SeccompProfile": ("Type", "LocalhostProfile"),
    "AppArmorProfile": ("Type", "LocalhostProfile"),
}


def pod_security_errors(spec: Document, path: str) -> Iterator[FieldError]:
    """Yield the errors of a pod's security context."""
    context = spec.get("securityContext") or {}
    where = f"{path}.securityContext"
    for field in ("fsGroup", "runAsUser", "runAsGroup"):
        yield from _number(context.get(field), f"{where}.{field}")
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        yield from _number(group, f"{where}.supplementalGroups[{index}]")
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        shared: object = True
        yield invalid(f"{where}.shareProcessNamespace", shared, text)
    yield from _sysctls(context, f"{where}.sysctls")
    policy = context.get("fsGroupChangePolicy")
    if policy is not None and policy not in ("Always", "OnRootMismatch"):
        yield not_supported(f"{where}.fsGroupChangePolicy", policy, ["Always", "OnRootMismatch"])
    yield from _seccomp(context.get("seccompProfile"), f"{where}.seccompProfile")
    yield from _windows(context.get("windowsOptions"), f"{where}.windowsOptions")
    yield from _app_armor(context.get("appArmorProfile"), f"{where}.appArmorProfile")
    for field, allowed in _BY_CHOICE.items():
        value = context.get(field)
        if value is not None and value not in allowed:
            yield not_supported(f"{where}.{field}", value, allowed)


def container_security_errors(
    context: Document, path: str, *, host_users: bool
) -> Iterator[FieldError]:
    """Yield the errors of a container's security context. Privileged containers are allowed."""
    for field in ("runAsUser", "runAsGroup"):
        yield from _number(context.get(field), f"{path}.{field}")
    mount = context.get("procMount")
    if mount is not None and mount not in ("Default", "Unmasked"):
        yield not_supported(f"{path}.procMount", mount, ["Default", "Unmasked"], ordered=True)
    if host_users and mount == "Unmasked":
        yield invalid(f"{path}.procMount", mount, "`hostUsers` must be false to use `Unmasked`")
    yield from _seccomp(context.get("seccompProfile"), f"{path}.seccompProfile")
    if context.get("allowPrivilegeEscalation") is False:
        yield from _escalation(context, path)
    yield from _windows(context.get("windowsOptions"), f"{path}.windowsOptions")
    yield from _app_armor(context.get("appArmorProfile"), f"{path}.appArmorProfile")


def _number(value: int | None, path: str) -> Iterator[FieldError]:
    if value is not None and not 0 <= value <= _MOST:
        yield invalid(path, value, _RANGE)


def _escalation(context: Document, path: str) -> Iterator[FieldError]:
    refused = "cannot set `allowPrivilegeEscalation` to false and"
    if context.get("privileged"):
        yield invalid(path, _context_text(context), f"{refused} `privileged` to true")
    for item in (context.get("capabilities") or {}).get("add") or ():
        if item == "CAP_SYS_ADMIN":
            yield invalid(
                path, _context_text(context), f"{refused} `capabilities.Add` CAP_SYS_ADMIN"
            )


def _context_text(context: Document) -> FixedText:
    return FixedText.of({name: _part(name, context.get(_member(name))) for name in _STRUCT})


def _part(name: str, value: Any) -> Any:
    if name not in _PARTS or value is None:
        return value
    absent = "" if name == "SELinuxOptions" else None
    return {item: value.get(_member(item), absent) for item in _PARTS[name]}


def _member(name: str) -> str:
    return "seLinuxOptions" if name == "SELinuxOptions" else name[0].lower() + name[1:]


def _sysctls(context: Document, path: str) -> Iterator[FieldError]:
    names: set[str] = set()
    for index, sysctl in enumerate(context.get("sysctls") or ()):
        where, name = f"{path}[{index}].name", sysctl.get("name") or ""
        if not name:
            yield required(where)
        elif len(name) > _LONGEST_SYSCTL or not re.fullmatch(_SYSCTL, name):
            text = f"must have at most {_LONGEST_SYSCTL} characters and match regex ^{_SYSCTL}$"
            yield invalid(where, name, text)
        elif name in names:
            yield duplicate(where, name)
        names.add(name)


def _seccomp(profile: Document | None, path: str) -> Iterator[FieldError]:
    if profile is None:
        return
    kind, local = profile.get("type") or "", profile.get("localhostProfile")
    if not kind:
        yield required(f"{path}.type", "type is required when seccompProfile is set")
    elif kind not in _PROFILES:
        yield not_supported(f"{path}.type", kind, _PROFILES)
    where = f"{path}.localhostProfile"
    if kind != "Localhost":
        if local is not None:
            fixed_text = FixedText.of({"Type": kind, "LocalhostProfile": local})
            yield invalid(where, fixed_text, "can only be set when seccomp type is Localhost")
    elif local is None:
        yield required(where, "must be set when seccomp type is Localhost")
    else:
        yield from descending_path_errors(local, where)


def _app_armor(profile: Document | None, path: str) -> Iterator[FieldError]:
    if profile is None:
        return
    kind, local = profile.get("type") or "", profile.get("localhostProfile")
    where = f"{path}.localhostProfile"
    if kind == "Localhost":
        yield from _local_app_armor(local, where)
    elif not kind:
        yield required(f"{path}.type", "type is required when appArmorProfile is set")
    elif kind not in _PROFILES:
        yield not_supported(f"{path}.type", kind, _PROFILES)
    elif local is not None:
        yield invalid(where, local, "can only be set when AppArmor type is Localhost")


def _local_app_armor(local: str | None, path: str) -> Iterator[FieldError]:
    if local is None:
        yield required(path, "must be set when AppArmor type is Localhost")
        return
    if local.strip() != local:
        yield invalid(path, local, "must not be padded with whitespace")
    elif not local:
        yield required(path, "must be set when AppArmor type is Localhost")
    if len(local) > _LONGEST_PATH:
        text = f"may not be more than {_LONGEST_PATH} bytes"
        yield FieldError("FieldValueTooLong", path, text)


def _windows(options: Document | None, path: str) -> Iterator[FieldError]:
    """Yield the errors of a few of the options of pods on Windows."""
    options = options or {}
    name = options.get("gmsaCredentialSpecName")
    if name is not None:
        where = f"{path}.gmsaCredentialSpecName"
        yield from (invalid(where, name, text) for text in dns_subdomain_errors(name))
    for field in ("gmsaCredentialSpec", "runAsUserName"):
        if options.get(field) == "":
            yield invalid(f"{path}.{field}", "", f"{field} cannot be an empty string")
