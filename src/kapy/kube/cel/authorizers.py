"""The values of Kubernetes' authorization library: what is asked, step by step, and the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Question:
    """What an authorizer is asked. account: namespace and name of a service account that is asked
    about instead of the user. path: where no resource is asked for."""

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
    """Whether something may be done, and why. error: why nothing could be decided."""

    allowed: bool
    reason: str = ""
    error: str = ""


Decide: TypeAlias = Callable[[Question], Decision]


@dataclass(frozen=True, slots=True)
class AuthorizerValue:
    """`authorizer`: it answers for one user."""

    decide: Decide
    account: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class PathCheck:
    """A question about a path, without its verb."""

    decide: Decide
    question: Question


@dataclass(frozen=True, slots=True)
class GroupCheck:
    """A question about an API group, without the resource."""

    decide: Decide
    question: Question


@dataclass(frozen=True, slots=True)
class ResourceCheck:
    """A question about a resource, without its verb."""

    decide: Decide
    question: Question
