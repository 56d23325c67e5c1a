"""Validation of IngressClasses, RuntimeClasses, PriorityClasses and ControllerRevisions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from kapy.apiserver.resources.builtin.pod_errors import toleration_errors
from kapy.apiserver.resources.builtin.resource_names import (
    amount_errors,
    container_resource_errors,
)
from kapy.apiserver.resources.metadata import label_errors
from kapy.kube import Document
from kapy.kube.field_errors import (
    FieldError,
    FixedText,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from kapy.kube.names import path_segment_errors
from kapy.kube.qualified_names import dns_label_errors, dns_subdomain_errors

_IMMUTABLE: Final = "field is immutable"
_SCOPES: Final = ["Cluster", "Namespace"]
_LONGEST_CONTROLLER: Final = 250
_PATH: Final = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"

_SYSTEM: Final = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_PREFIX: Final = "system-"
_HIGHEST: Final = 1_000_000_000
_POLICIES: Final = ("PreemptLowerPriority", "Never")


def ingress_class_errors(document: Document, old: Document | None) -> Iterator[FieldError]:
    """Yield the errors of an IngressClass."""
    spec = document.get("spec") or {}
    controller = spec.get("controller") or ""
    if old is not None and controller != ((old.get("spec") or {}).get("controller") or ""):
        yield invalid("spec.controller", controller, _IMMUTABLE)
    if len(controller) > _LONGEST_CONTROLLER:
        text = f"may not be more than {_LONGEST_CONTROLLER} bytes"
        yield FieldError("FieldValueTooLong", "spec.controller", text)
    yield from _prefixed_path_errors(controller, "spec.controller")
    if spec.get("parameters") is not None:
        yield from _parameter_errors(spec["parameters"], "spec.parameters")


def _prefixed_path_errors(text: str, path: str) -> Iterator[FieldError]:
    """Yield the errors of a domain-prefixed path such as `acme.io/foo`."""
    host, slash, rest = text.partition("/")
    if not text:
        yield required(path)
    elif not slash or not host or not rest:
        why = 'must be a domain-prefixed path (such as "acme.io/foo")'
        yield invalid(path, text, why)
    else:
        yield from (invalid(path, host, error) for error in dns_subdomain_errors(host))
        if not re.fullmatch(_PATH, rest):
            yield invalid(path, rest, f"Invalid path (regex used for validation is '{_PATH}')")


def _parameter_errors(parameters: Document, path: str) -> Iterator[FieldError]:
    group = parameters.get("apiGroup")
    if group is not None:
        yield from (
            invalid(f"{path}.apiGroup", group, error) for error in dns_subdomain_errors(group)
        )
    for field in ("kind", "name"):
        value = parameters.get(field) or ""
        if not value:
            yield required(f"{path}.{field}")
        yield from (
            invalid(f"{path}.{field}", value, error) for error in path_segment_errors(value)
        )
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    where = f"{path}.namespace"
    if scope is None:
        yield required(f"{path}.scope")
    elif scope not in _SCOPES:
        yield not_supported(f"{path}.scope", scope, _SCOPES)
    elif scope == "Namespace" and namespace is None:
        yield required(where, "`parameters.scope` is set to 'Namespace'")
    elif scope == "Namespace":
        yield from (invalid(where, namespace, error) for error in dns_label_errors(str(namespace)))
    elif namespace is not None:
        yield forbidden(where, "`parameters.scope` is set to 'Cluster'")


def runtime_class_errors(document: Document, old: Document | None) -> Iterator[FieldError]:
    """Yield the errors of a RuntimeClass."""
    handler = document.get("handler") or ""
    if old is not None and handler != old.get("handler"):
        yield invalid("handler", handler, _IMMUTABLE)
    if not handler:
        yield required("handler")
    yield from (
        invalid("handler", handler, error) for error in dns_label_errors(handler) if handler
    )
    fixed = (document.get("overhead") or {}).get("podFixed") or {}
    for name, amount in fixed.items():
        path = f"overhead.limits[{name}]"
        yield from container_resource_errors(name, path)
        yield from amount_errors(name, amount, path)
    yield from _scheduling_errors(document.get("scheduling") or {})


def _scheduling_errors(scheduling: Document) -> Iterator[FieldError]:
    yield from label_errors(scheduling.get("nodeSelector") or {}, "scheduling.nodeSelector")
    tolerations = scheduling.get("tolerations") or []
    yield from toleration_errors(tolerations, "scheduling.tolerations")
    keys: list[tuple[Any, ...]] = []
    for index, toleration in enumerate(tolerations):
        key = tuple(toleration.get(field) or "" for field in ("key", "operator", "value", "effect"))
        if key in keys:
            names = ("Key", "Operator", "Value", "Effect")
            result = dict(zip(names, key, strict=True))
            result["TolerationSeconds"] = toleration.get("tolerationSeconds")
            yield duplicate(f"scheduling.tolerations[{index}]", FixedText.of(result))
        keys.append(key)


def revision_errors(document: Document, old: Document | None) -> Iterator[FieldError]:
    """Yield the errors of a ControllerRevision."""
    if document.get("revision", 0) < 0:
        yield invalid("revision", document["revision"], "must be greater than or equal to 0")
    data = document.get("data")
    if old is not None:
        if data != old.get("data"):
            yield invalid("data", data, _IMMUTABLE)
    elif data is None:
        yield required("data", "data is mandatory")
    elif not isinstance(data, dict):
        yield required("data", "data must be a valid JSON object")


def priority_class_errors(document: Document, old: Document | None) -> Iterator[FieldError]:
    """Yield the errors of a class or, with `old`, of its update."""
    policy = document.get("preemptionPolicy")
    if old is not None:
        if document.get("value", 0) != old.get("value", 0):
            yield forbidden("value", "may not be changed in an update.")
        if policy != old.get("preemptionPolicy"):
            yield invalid("preemptionPolicy", policy, "field is immutable")
        return
    name, value = document["metadata"].get("name", ""), document.get("value", 0)
    if name.startswith(_PREFIX):
        if why := _reason_against_system_class(
            name, value, default=bool(document.get("globalDefault"))
        ):
            text = "priority class names with 'system-' prefix are reserved for system use only."
            yield forbidden("metadata.name", f"{text} error: {why}")
    elif value > _HIGHEST:
        text = f"maximum allowed value of a user defined priority is {_HIGHEST}"
        yield forbidden("value", text)
    if policy == "":
        yield required("preemptionPolicy")
    elif policy is not None and policy not in _POLICIES:
        policies = ", ".join(f'"{item}"' for item in _POLICIES)
        text = f"supported values: {policies}"
        yield FieldError("FieldValueNotSupported", "preemptionPolicy", text, FixedText.of(policy))


def _reason_against_system_class(name: str, value: int, *, default: bool) -> str:
    """Return the reason why a class is not a valid system class, "" if it is."""
    if name not in _SYSTEM:
        return f"{name} is not a known system priority class"
    if value != _SYSTEM[name]:
        return f"value of {name} PriorityClass must be {_SYSTEM[name]}"
    return f"globalDefault of {name} PriorityClass must be false" if default else ""
