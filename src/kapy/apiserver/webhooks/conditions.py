"""`matchConditions`: CEL expressions about the request, all of which must hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from kapy.apiserver.authorization import Attributes, Authorizer
from kapy.kube import Document
from kapy.kube.cel import CompileError, CostExceeded, EvaluationError, Program, compiled
from kapy.kube.cel.authorizers import (
    AuthorizerValue,
    Decide,
    Decision,
    Question,
    ResourceCheck,
)
from kapy.kube.cel.compiler import DEFAULT_LIMIT
from kapy.kube.cel.types import BOOL, DYN, Type
from kapy.kube.errors import Forbidden
from kapy.kube.http import User

BUDGET: Final = 2_500_000
"""What all conditions of one webhook may cost together, as kube-apiserver has it."""

_VARIABLES: Final = {
    "object": DYN,
    "oldObject": DYN,
    "request": DYN,
    "authorizer": Type("kubernetes.authorization.Authorizer"),
    "authorizer.requestResource": Type("kubernetes.authorization.ResourceCheck"),
}


class ConditionFailed(Exception):
    """A condition has no value; the message is kube-apiserver's."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition, compiled."""

    expression: str
    program: Program

    @classmethod
    def of(cls, expression: str) -> Condition:
        """The compiled condition. Raises CompileError."""
        return cls(expression, compiled(expression, _VARIABLES))


def problem(expression: str) -> str:
    """What is wrong with an expression, "" when nothing is."""
    try:
        program = compiled(expression, _VARIABLES)
    except CompileError as error:
        return f"compilation failed: {error}"
    if program.type.name not in (BOOL.name, DYN.name):
        return "must evaluate to bool"
    return ""


def hold(
    conditions: Sequence[Condition],
    new: Document | None,
    old: Document | None,
    request: Document,
    decide: Decide,
) -> bool:
    """Whether all conditions are true; one that is false decides, whatever others fail with.

    decide: answers for the user of the request. Raises ConditionFailed.
    """
    checks = AuthorizerValue(decide), ResourceCheck(decide, _asked(request))
    failures: list[str] = []
    budget = BUDGET
    for one in conditions:
        limit = min(DEFAULT_LIMIT, budget)
        try:
            value: Any
            value, left = one.program.run(new, old, request, *checks, limit=limit)
            budget -= limit - left
        except EvaluationError as error:
            if isinstance(error, CostExceeded):
                budget -= limit
            failures.append(f"expression '{one.expression}' resulted in error: {error}")
            continue
        if value is not True:
            return False
    if failures:
        raise ConditionFailed(failures[0] if len(failures) == 1 else f"[{', '.join(failures)}]")
    return True


def _asked(request: Document) -> Question:
    """The resource of a request, as a question about it."""
    resource = request["requestResource"]
    return Question(
        group=resource["group"],
        resource=resource["resource"],
        subresource=request.get("requestSubResource", ""),
        namespace=request.get("namespace", ""),
        name=request.get("name", ""),
    )


def deciding(authorize: Authorizer | None, user: User) -> Decide:
    """Answers whether a user may do something. authorize: None: everybody may."""
    return partial(_decided, authorize, user)


def _decided(authorize: Authorizer | None, user: User, asked: Question) -> Decision:
    """Whether a user, or a service account, may do something."""
    if asked.account is not None:
        user = _service_account(*asked.account)
    if authorize is None:
        return Decision(allowed=True)
    attributes = Attributes(
        user,
        asked.verb,
        asked.group,
        "*",
        asked.resource,
        asked.subresource,
        asked.namespace,
        asked.name,
        asked.path,
        asked.field_selector,
        asked.label_selector,
    )
    try:
        return Decision(allowed=True, reason=authorize(attributes))
    except Forbidden as error:
        _, found, why = error.message.rpartition(": RBAC: ")
        return Decision(allowed=False, reason=f"RBAC: {why}" if found else "")


def _service_account(namespace: str, name: str) -> User:
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    full = f"system:serviceaccount:{namespace}:{name}"
    return User(full, (*groups, "system:authenticated"))
