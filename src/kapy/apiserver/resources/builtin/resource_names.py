"""Names and quantities of resources in limits and quotas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kapy.kube import quantity
from kapy.kube.field_errors import FieldError, invalid
from kapy.kube.qualified_names import qualified_name_errors

_HUGE: Final = "hugepages-"
_COUNTS: Final = frozenset(
    (
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    )
)
_COMPUTE: Final = frozenset(
    name
    for base in ("cpu", "memory", "ephemeral-storage")
    for name in (base, f"requests.{base}", f"limits.{base}")
)
_QUOTA: Final = _COUNTS | _COMPUTE | {"requests.storage"}
_STANDARD: Final = _QUOTA | {"storage"}
_CONTAINER: Final = frozenset(("cpu", "memory", "ephemeral-storage"))


def is_quota_name(name: str) -> bool:
    """Report whether a quota can count a resource."""
    return name in _QUOTA or name.startswith((_HUGE, f"requests.{_HUGE}"))


def may_be_overcommitted(name: str) -> bool:
    """Report whether a resource may be overcommitted."""
    return _is_native(name) and not name.startswith(_HUGE)


def resource_name_errors(name: str, path: str) -> list[FieldError]:
    """Return the errors of the name of any resource."""
    if wrong := qualified_name_errors(name):
        return [invalid(path, name, text) for text in wrong]
    huge = name.startswith((_HUGE, f"requests.{_HUGE}"))
    if "/" not in name and name not in _STANDARD and not huge:
        return [invalid(path, name, "must be a standard resource type or fully qualified")]
    return []


def container_resource_errors(name: str, path: str) -> list[FieldError]:
    """Return the errors of a resource name in a container's requests or limits."""
    errors = resource_name_errors(name, path)
    if "/" not in name:
        if name not in _CONTAINER and not name.startswith(_HUGE):
            errors.append(invalid(path, name, "must be a standard resource for containers"))
    elif not _is_native(name) and not _is_extended(name):
        errors.append(invalid(path, name, "doesn't follow extended resource name standard"))
    return errors


def quota_resource_errors(name: str, path: str) -> list[FieldError]:
    """Return the errors of a resource name in a quota."""
    errors = resource_name_errors(name, path)
    if "/" not in name and not is_quota_name(name):
        errors.append(invalid(path, name, "must be a standard resource for quota"))
    return errors


def amount_errors(name: str, amount: str, path: str) -> Iterator[FieldError]:
    """Yield the errors of a quantity of a resource."""
    value = quantity.parse(amount)
    if value < 0:
        yield invalid(path, amount, "must be greater than or equal to 0")
    if (name in _COUNTS or _is_extended(name)) and value != value.to_integral_value():
        yield invalid(path, amount, "must be an integer")


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def _is_extended(name: str) -> bool:
    if _is_native(name) or name.startswith("requests."):
        return False
    return not qualified_name_errors(f"requests.{name}")
