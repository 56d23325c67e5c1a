"""Prevention of privilege escalation through roles and bindings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kapy.apiserver.admission.plugin import Review
from kapy.apiserver.auth.authorization import SUPERUSERS, Attributes
from kapy.apiserver.auth.rbac.grants import GROUP, RBACAuthorizer
from kapy.apiserver.auth.rbac.rules import (
    MOST_COMBINATIONS,
    TooManyCombinations,
    format_rule,
    quote_list,
    uncovered_rules,
)
from kapy.kube import Document
from kapy.kube.errors import BadRequest, Forbidden, NotFound
from kapy.kube.go_literals import go_quoted

_BINDINGS: Final = ("rolebindings", "clusterrolebindings")
_EVERYTHING: Final[list[Document]] = [
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
]
_OF_COLLECTION: Final = ("ownerReferences", "finalizers", "managedFields")


class EscalationCheck:
    """A check of role and binding writes before their validation.

    Users may grant only rights that they have. The verbs `escalate` on roles and `bind` on the
    bound role lift this, and so does a write that changes only owner references or finalizers.
    name: the name in the request path ("" if only the body has it). sent: returns the body of an
    update, else None.
    """

    def __init__(
        self, grants: RBACAuthorizer, name: str, sent: Callable[[], Document] | None
    ) -> None:
        self._grants = grants
        self._name = name
        self._sent = sent

    def __call__(self, review: Review) -> None:
        """Check a write of a role or binding. Raises Forbidden, NotFound, BadRequest."""
        new, old = review.new, review.old
        assert new is not None
        if SUPERUSERS in review.user.groups:
            return
        if review.resource.plural in _BINDINGS:
            if not self._is_metadata_only(new, old):
                self._check_binding(review, new)
        elif not (
            self._is_allowed(review, "escalate", GROUP, review.resource.plural, self._name)
            or self._is_metadata_only(new, old)
        ):
            self._check_role(review, new, old)

    def _is_metadata_only(self, new: Document, old: Document | None) -> bool:
        """Report whether a write changes only metadata that garbage collection maintains.

        An update must repeat all other metadata.
        """
        if old is None or _without_metadata(new) != _without_metadata(old):
            return False
        return (
            self._sent is None
            or _without_metadata(self._sent())["metadata"] == _without_metadata(old)["metadata"]
        )

    def _check_role(self, review: Review, new: Document, old: Document | None) -> None:
        self._check_rules(review, new.get("rules") or [])
        if _is_aggregated(new) or (old is not None and _is_aggregated(old)):
            held, _ = self._grants.rules_of_user(review.user, review.namespace)
            if uncovered_rules(held, _EVERYTHING):
                text = "must have cluster-admin privileges to use the aggregationRule"
                raise _forbidden_error(review, text)

    def _check_binding(self, review: Review, new: Document) -> None:
        role = new.get("roleRef") or {}
        kind, name = role.get("kind", ""), role.get("name", "")
        if kind not in ("Role", "ClusterRole"):
            return  # validation reports the error
        plural = "roles" if kind == "Role" else "clusterroles"
        if self._is_allowed(review, "bind", role.get("apiGroup", ""), plural, name):
            return
        if kind == "Role" and not review.namespace:
            raise BadRequest("Namespace parameter required.")
        if not name:
            raise BadRequest("Name parameter required.")
        rules = self._grants.rules_of_role(kind, name, review.namespace)
        if rules is None:
            what = review.resource.group_resource
            details = {"name": name, "group": GROUP, "kind": review.resource.plural}
            raise NotFound(f"{what} {go_quoted(name)} not found", details=details)
        self._check_rules(review, rules)

    def _is_allowed(self, review: Review, verb: str, group: str, plural: str, name: str) -> bool:
        space = review.namespace
        attributes = Attributes(review.user, verb, group, "*", plural, namespace=space, name=name)
        try:
            self._grants(attributes)
        except Forbidden:
            return False
        return True

    def _check_rules(self, review: Review, rules: list[Document]) -> None:
        user = review.user
        held, problems = self._grants.rules_of_user(user, review.namespace, review.resource.plural)
        try:
            lacking = uncovered_rules(held, rules)
        except TooManyCombinations as error:
            text = (
                f"the rules stand for {error.count} combinations of API group, resource and name, "
                f"and at most {MOST_COMBINATIONS} are compared with one's own permissions: "
                'use several roles, or have somebody write it who may "escalate" or "bind"'
            )
            raise _forbidden_error(review, text) from None
        if lacking:
            lines = "\n".join(sorted({format_rule(rule) for rule in lacking}))
            text = (
                f"user {go_quoted(user.name)} (groups={quote_list(user.groups)}) is attempting to "
                f"grant RBAC permissions not currently held:\n{lines}"
            )
            raise _forbidden_error(
                review, f"{text}; resolution errors: [{problems}]" if problems else text
            )


def _is_aggregated(role: Document) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _without_metadata(document: Document) -> Document:
    meta = {k: v for k, v in (document.get("metadata") or {}).items() if k not in _OF_COLLECTION}
    return _without_empty({**document, "metadata": meta})


def _without_empty(document: Document) -> Document:
    """Return the document without empty lists and maps, which mean the same as absent ones."""
    result: dict[str, Any] = {}
    for key, value in document.items():
        value = _without_empty(value) if isinstance(value, dict) else value
        if value is not None and value != {} and value != []:
            result[key] = value
    return result


def _forbidden_error(review: Review, why: str) -> Forbidden:
    details: Document = {"name": review.name} if review.name else {}
    details |= {"group": GROUP, "kind": review.resource.plural}
    what = review.resource.group_resource
    named = f" {go_quoted(review.name)}" if review.name else ""
    return Forbidden(f"{what}{named} is forbidden: {why}", details=details)
