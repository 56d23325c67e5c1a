"""Values of Kubernetes' authorization library: authorizers, checks and decisions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class AuthorizationCheck:
    """The attributes of an authorization check. account: namespace and name of the service account
    to check instead of the user. path: set for checks of non-resource paths.
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
    """The variable `authorizer`: checks permissions of one user."""

    decide: Decide
    account: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class PathCheck:
    """A check of a non-resource path, without a verb so far."""

    decide: Decide
    question: AuthorizationCheck


@dataclass(frozen=True, slots=True)
class GroupCheck:
    """A check of an API group, without a resource so far."""

    decide: Decide
    question: AuthorizationCheck


@dataclass(frozen=True, slots=True)
class ResourceCheck:
    """A check of a resource, without a verb so far."""

    decide: Decide
    question: AuthorizationCheck
