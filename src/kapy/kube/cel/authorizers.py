"""Values of Kubernetes' authorization library: authorizers, checks and decisions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class AuthorizationCheck:
    """The attributes of an authorization check. account: namespace and name of the service account
    to check instead of the user. path: the path in a check of a non-resource path.
    """

    verb: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str | None = None
    field_selector: str = ""
    label_selector: str = ""
    account: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """The result of an authorization check. error: the reason for which no decision was
    possible.
    """

    allowed: bool
    reason: str = ""
    error: str = ""


Decide: TypeAlias = Callable[[AuthorizationCheck], Decision]


@dataclass(frozen=True, slots=True)
class AuthorizerValue:
    """The value of the CEL variable `authorizer`, which checks permissions of one user."""

    decide: Decide
    account: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class PathCheck:
    """The value of `authorizer.path(…)` in CEL: a check of a non-resource path, without a verb so
    far.
    """

    decide: Decide
    question: AuthorizationCheck


@dataclass(frozen=True, slots=True)
class GroupCheck:
    """The value of `authorizer.group(…)` in CEL: a check of an API group, without a resource so
    far.
    """

    decide: Decide
    question: AuthorizationCheck


@dataclass(frozen=True, slots=True)
class ResourceCheck:
    """The value of `….resource(…)` in CEL: a check of a resource, without a verb so far."""

    decide: Decide
    question: AuthorizationCheck
