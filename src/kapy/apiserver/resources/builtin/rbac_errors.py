"""Validation of roles and bindings with kube-apiserver's messages."""

from __future__ import annotations

import json

from kapy.apiserver.resources.label_selectors import selector_errors
from kapy.kube import Document
from kapy.kube.field_errors import FieldError, FieldErrors, invalid, required
from kapy.kube.qualified_names import dns_subdomain_errors

_GROUP = "rbac.authorization.k8s.io"


def role_errors(document: Document) -> list[FieldError]:
    """Return the errors of a Role or ClusterRole."""
    namespaced = document.get("kind") == "Role"
    errors: list[FieldError] = FieldErrors()
    for index, rule in enumerate(document.get("rules") or ()):
        errors += _rule_errors(rule, f"rules[{index}]", namespaced=namespaced)
    summed = document.get("aggregationRule")
    if summed is not None and not summed.get("clusterRoleSelectors"):
        text = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        errors.append(required("aggregationRule.clusterRoleSelectors", text))
    for index, selector in enumerate((summed or {}).get("clusterRoleSelectors") or ()):
        path = f"aggregationRule.clusterRoleSelectors[{index}]"
        if wrong := list(selector_errors(selector, path)):
            errors += [*wrong, invalid(path, None, "invalid label selector.")]
    return errors


def _rule_errors(rule: Document, path: str, *, namespaced: bool) -> list[FieldError]:
    errors: list[FieldError] = FieldErrors()
    if not rule.get("verbs"):
        errors.append(required(f"{path}.verbs", "verbs must contain at least one value"))
    urls = rule.get("nonResourceURLs")
    if urls:
        where = f"{path}.nonResourceURLs"
        if namespaced:
            errors.append(
                invalid(where, urls, "namespaced rules cannot apply to non-resource URLs")
            )
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            text = "rules cannot apply to both regular resources and non-resource URLs"
            errors.append(invalid(where, urls, text))
        return errors
    if not rule.get("apiGroups"):
        text = "resource rules must supply at least one api group"
        errors.append(required(f"{path}.apiGroups", text))
    if not rule.get("resources"):
        text = "resource rules must supply at least one resource"
        errors.append(required(f"{path}.resources", text))
    return errors


def binding_errors(document: Document, old: Document | None) -> list[FieldError]:
    """Return the errors of a RoleBinding or ClusterRoleBinding."""
    role = document.get("roleRef") or {}
    cluster = document.get("kind") == "ClusterRoleBinding"
    errors: list[FieldError] = FieldErrors()
    if role.get("apiGroup") != _GROUP:
        errors.append(_not_supported_error("roleRef.apiGroup", role.get("apiGroup", ""), _GROUP))
    kinds = ("ClusterRole",) if cluster else ("Role", "ClusterRole")
    if role.get("kind", "") not in kinds:
        errors.append(_not_supported_error("roleRef.kind", role.get("kind", ""), *kinds))
    name = role.get("name", "")
    if not name:
        errors.append(required("roleRef.name"))
    elif wrong := _name_error(name):
        errors.append(invalid("roleRef.name", name, wrong))
    for index, subject in enumerate(document.get("subjects") or ()):
        errors += _subject_errors(subject, f"subjects[{index}]", cluster=cluster)
    if old is not None and old.get("roleRef") != document.get("roleRef"):
        result = {
            "APIGroup": role.get("apiGroup", ""),
            "Kind": role.get("kind", ""),
            "Name": name,
        }
        errors.append(invalid("roleRef", result, "cannot change roleRef"))
    return errors


def _name_error(name: str) -> str:
    if name in (".", ".."):
        return f"may not be '{name}'"
    return next((f"may not contain '{sign}'" for sign in "/%" if sign in name), "")


def _subject_errors(subject: Document, path: str, *, cluster: bool) -> list[FieldError]:
    errors: list[FieldError] = FieldErrors()
    if not subject.get("name"):
        errors.append(required(f"{path}.name"))
    group = subject.get("apiGroup", "")
    match subject.get("kind", ""):
        case "ServiceAccount":
            name = subject.get("name", "")
            if name:
                errors += [
                    invalid(f"{path}.name", name, error) for error in dns_subdomain_errors(name)
                ]
            if group:
                errors.append(_not_supported_error(f"{path}.apiGroup", group, ""))
            if cluster and not subject.get("namespace"):
                errors.append(required(f"{path}.namespace"))
        case "User" | "Group":
            if group != _GROUP:
                errors.append(_not_supported_error(f"{path}.apiGroup", group, _GROUP))
        case kind:
            errors.append(
                _not_supported_error(f"{path}.kind", kind, "ServiceAccount", "User", "Group")
            )
    return errors


def _not_supported_error(field: str, value: str, *supported: str) -> FieldError:
    words = ", ".join(json.dumps(item) for item in supported)
    return FieldError("FieldValueNotSupported", field, f"supported values: {words}", value)
