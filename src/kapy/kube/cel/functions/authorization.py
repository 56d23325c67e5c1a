"""Kubernetes' authorization library: checks a user's permissions with the variable `authorizer`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from kapy.kube.cel.authorizers import (
    AuthorizationCheck,
    AuthorizerValue,
    Decision,
    GroupCheck,
    PathCheck,
    ResourceCheck,
)
from kapy.kube.cel.errors import EvaluationError
from kapy.kube.cel.overloads import Function
from kapy.kube.qualified_names import dns_label_errors, dns_subdomain_errors


def _path(authorizer: AuthorizerValue, path: str) -> PathCheck:
    if not path.strip():
        raise EvaluationError("path must not be empty")
    return PathCheck(authorizer.decide, AuthorizationCheck(path=path, account=authorizer.account))


def _group(authorizer: AuthorizerValue, group: str) -> GroupCheck:
    return GroupCheck(
        authorizer.decide, AuthorizationCheck(group=group, account=authorizer.account)
    )


def _service_account(authorizer: AuthorizerValue, namespace: str, name: str) -> AuthorizerValue:
    if dns_subdomain_errors(name):
        raise EvaluationError("Invalid service account name")
    if dns_label_errors(namespace):
        raise EvaluationError("Invalid service account namespace")
    return AuthorizerValue(authorizer.decide, (namespace, name))


def _resource(group_check: GroupCheck, resource: str) -> ResourceCheck:
    return ResourceCheck(group_check.decide, replace(group_check.question, resource=resource))


def _with(field: str) -> Callable[[ResourceCheck, str], ResourceCheck]:
    def put(check: ResourceCheck, value: str) -> ResourceCheck:
        changes: dict[str, Any] = {field: value}
        return replace(check, question=replace(check.question, **changes))

    return put


def _check(check: PathCheck | ResourceCheck, verb: str) -> Decision:
    return check.decide(replace(check.question, verb=verb))


_AUTHORIZER: Final = "kubernetes.authorization.Authorizer"
_PATH: Final = "kubernetes.authorization.PathCheck"
_GROUP: Final = "kubernetes.authorization.GroupCheck"
_RESOURCE: Final = "kubernetes.authorization.ResourceCheck"
_DECISION: Final = "kubernetes.authorization.Decision"

FUNCTIONS: Final[dict[str, Function]] = {
    f"{_AUTHORIZER} :: path(string) -> {_PATH}": _path,
    f"{_AUTHORIZER} :: group(string) -> {_GROUP}": _group,
    f"{_AUTHORIZER} :: serviceAccount(string, string) -> {_AUTHORIZER}": _service_account,
    f"{_GROUP} :: resource(string) -> {_RESOURCE}": _resource,
    f"{_RESOURCE} :: subresource(string) -> {_RESOURCE}": _with("subresource"),
    f"{_RESOURCE} :: namespace(string) -> {_RESOURCE}": _with("namespace"),
    f"{_RESOURCE} :: name(string) -> {_RESOURCE}": _with("name"),
    f"{_RESOURCE} :: fieldSelector(string) -> {_RESOURCE}": _with("field_selector"),
    f"{_RESOURCE} :: labelSelector(string) -> {_RESOURCE}": _with("label_selector"),
    f"{_PATH} :: check(string) -> {_DECISION}": _check,
    f"{_RESOURCE} :: check(string) -> {_DECISION}": _check,
    f"{_DECISION} :: errored() -> bool": lambda value: bool(value.error),
    f"{_DECISION} :: error() -> string": lambda value: value.error,
    f"{_DECISION} :: allowed() -> bool": lambda value: value.allowed,
    f"{_DECISION} :: reason() -> string": lambda value: value.reason,
}
