"""Normalizes built-in kinds as Go's types serialize them: upstream prints and installs that form.

Fields that the types do not know stay. Upstream drops them, so an older clusterctl loses fields of
a newer Kubernetes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from kapy.clusterctl.components.go_types import TYPES
from kapy.kube import Document
from kapy.kube.quantity import InvalidQuantity, canonical

_KINDS: Final = {
    ("apps/v1", "Deployment"),
    ("apps/v1", "DaemonSet"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
}
_FIELD: Final = re.compile(r'([\w$-]+)(!?)([=*[{]?)(!?)([\w"]*)[\]}]?')
_CONSTANTS: Final[Mapping[str, Any]] = {'""': "", "0": 0, "false": False, "quantity": "0"}


def normalize(document: Document) -> None:
    """Normalize an object in place by Go's type of its kind; other kinds stay unchanged."""
    kind = document.get("kind", "")
    if (document.get("apiVersion"), kind) in _KINDS:
        _normalize(document, kind)


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a Go type. sign: the character before its type in the table. always: it is never
    omitted."""

    sign: str
    type: str
    always: bool


def _normalize(value: Any, name: str) -> Any:
    """Normalize a value of a type; maps and lists are changed in place."""
    if name == "quantity":
        return _quantity(value)
    if isinstance(value, list):  # also for fields that hold a schema or a list of them (`items`)
        value[:] = [_normalize(item, name) for item in value]
    elif isinstance(value, dict) and (fields := _types().get(name)):
        _normalize_fields(value, fields)
    return value


def _normalize_fields(parent: dict[str, Any], fields: Mapping[str, _Field]) -> None:
    for key, value in list(parent.items()):
        field = fields.get(key)
        if value is None or (field and not field.always and field.sign != "*" and not value):
            del parent[key]
        elif field and field.sign == "{" and isinstance(value, dict):
            parent[key] = {name: _normalize(item, field.type) for name, item in value.items()}
        elif field:
            parent[key] = _normalize(value, field.type)
    for key, field in fields.items():
        if field.always and key not in parent:
            parent[key] = _missing(field)


def _missing(field: _Field) -> Any:
    """Return the value that is written for a required field that is missing."""
    if field.sign != "=":
        return None
    return _CONSTANTS[field.type] if field.type in _CONSTANTS else _normalize({}, field.type)


def _quantity(value: Any) -> Any:
    try:
        return canonical(value)
    except (InvalidQuantity, TypeError):
        return value  # the API server will report it


@cache
def _types() -> Mapping[str, Mapping[str, _Field]]:
    lines = TYPES.replace("\n  ", " ").splitlines()
    return {name: _fields(text) for name, _, text in (line.partition(":") for line in lines)}


def _fields(text: str) -> Mapping[str, _Field]:
    match = (_FIELD.fullmatch(part) for part in text.split())
    return {
        item[1]: _Field(item[3], item[5], always=item[3] == "=" or bool(item[2] or item[4]))
        for item in match
        if item is not None
    }
