"""Kubernetes' library of authorization checks: what a user may do, asked of `authorizer`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from kapy.kube.cel.authorizers import (
    AuthorizerValue,
    Decision,
    GroupCheck,
    PathCheck,
    Question,
    ResourceCheck,
)
from kapy.kube.cel.errors import EvaluationError
from kapy.kube.cel.overloads import Function
from kapy.kube.qualified_names import dns_label_errors, dns_subdomain_errors


def _path(one: AuthorizerValue, path: str) -> PathCheck:
    if not path.strip():
        raise EvaluationError("path must not be empty")
    return PathCheck(one.decide, Question(path=path, account=one.account))


def _group(one: AuthorizerValue, group: str) -> GroupCheck:
    return GroupCheck(one.decide, Question(group=group, account=one.account))


def _service_account(one: AuthorizerValue, namespace: str, name: str) -> AuthorizerValue:
    if dns_subdomain_errors(name):
        raise EvaluationError("Invalid service account name")
    if dns_label_errors(namespace):
        raise EvaluationError("Invalid service account namespace")
    return AuthorizerValue(one.decide, (namespace, name))


def _resource(one: GroupCheck, resource: str) -> ResourceCheck:
    return ResourceCheck(one.decide, replace(one.question, resource=resource))


def _with(field: str) -> Callable[[ResourceCheck, str], ResourceCheck]:
    def put(one: ResourceCheck, value: str) -> ResourceCheck:
        changes: dict[str, Any] = {field: value}
        return replace(one, question=replace(one.question, **changes))

    return put


def _check(one: PathCheck | ResourceCheck, verb: str) -> Decision:
    return one.decide(replace(one.question, verb=verb))


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
    f"{_DECISION} :: errored() -> bool": lambda one: bool(one.error),
    f"{_DECISION} :: error() -> string": lambda one: one.error,
    f"{_DECISION} :: allowed() -> bool": lambda one: one.allowed,
    f"{_DECISION} :: reason() -> string": lambda one: one.reason,
}
