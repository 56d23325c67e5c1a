"""Evaluation of `matchConditions`: all expressions about the request must be true."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from kapy.apiserver.auth.authorization import Attributes, Authorizer
from kapy.apiserver.resources.match_conditions import Condition
from kapy.kube import Document
from kapy.kube.cel import CostExceeded, EvaluationError
from kapy.kube.cel.authorizers import (
    AuthorizationCheck,
    AuthorizerValue,
    Decide,
    Decision,
    ResourceCheck,
)
from kapy.kube.cel.compiler import DEFAULT_LIMIT
from kapy.kube.errors import Forbidden
from kapy.kube.http import User

BUDGET: Final = 2_500_000
"""The total CEL cost limit for the conditions of one webhook, as in kube-apiserver."""


class ConditionFailed(Exception):
    """The evaluation of a condition failed; the message is kube-apiserver's."""


def evaluate(
    conditions: Sequence[Condition],
    new: Document | None,
    old: Document | None,
    request: Document,
    decide: Decide,
) -> bool:
    """Report whether all conditions are true. A false condition decides, even if others fail.

    decide: decides whether the request's user has a permission. Raises ConditionFailed.
    """
    checks = AuthorizerValue(decide), ResourceCheck(decide, _attributes_of(request))
    failures: list[str] = []
    budget = BUDGET
    for condition in conditions:
        limit = min(DEFAULT_LIMIT, budget)
        try:
            value: Any
            value, remaining = condition.program.run(new, old, request, *checks, limit=limit)
            budget -= limit - remaining
        except EvaluationError as error:
            if isinstance(error, CostExceeded):
                budget -= limit
            failures.append(f"expression '{condition.expression}' resulted in error: {error}")
            continue
        if value is not True:
            return False
    if failures:
        raise ConditionFailed(failures[0] if len(failures) == 1 else f"[{', '.join(failures)}]")
    return True


def _attributes_of(request: Document) -> AuthorizationCheck:
    """Return the resource of a request as an authorization question."""
    resource = request["requestResource"]
    return AuthorizationCheck(
        group=resource["group"],
        resource=resource["resource"],
        subresource=request.get("requestSubResource", ""),
        namespace=request.get("namespace", ""),
        name=request.get("name", ""),
    )


def cel_authorizer(authorize: Authorizer | None, user: User) -> Decide:
    """Return a function that answers authorization questions for a user.

    authorize: None allows everything.
    """
    return partial(_decide, authorize, user)


def _decide(authorize: Authorizer | None, user: User, check: AuthorizationCheck) -> Decision:
    """Decide an authorization question for the user or for the service account that it names."""
    if check.account is not None:
        user = _service_account(*check.account)
    if authorize is None:
        return Decision(allowed=True)
    attributes = Attributes(
        user,
        check.verb,
        check.group,
        "*",
        check.resource,
        check.subresource,
        check.namespace,
        check.name,
        check.path,
        check.field_selector,
        check.label_selector,
    )
    try:
        return Decision(allowed=True, reason=authorize(attributes))
    except Forbidden as error:
        _, result, why = error.message.rpartition(": RBAC: ")
        return Decision(allowed=False, reason=f"RBAC: {why}" if result else "")


def _service_account(namespace: str, name: str) -> User:
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    full = f"system:serviceaccount:{namespace}:{name}"
    return User(full, (*groups, "system:authenticated"))
