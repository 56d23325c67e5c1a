"""Nobody grants what he does not have, by a role or by a binding."""

from __future__ import annotations

from typing import Final

from kapy.apiserver.admission import Review
from kapy.apiserver.authorization import SUPERUSERS, Attributes
from kapy.apiserver.rbac.grants import GROUP, Grants
from kapy.apiserver.rbac.rules import missing, quoted, shown
from kapy.kube import Document
from kapy.kube.errors import Forbidden, NotFound

_BINDINGS: Final = ("rolebindings", "clusterrolebindings")
_EVERYTHING: Final[list[Document]] = [
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
]
_OF_COLLECTION: Final = ("ownerReferences", "finalizers", "managedFields", "resourceVersion")


class Escalation:
    """Looks at writes of roles and bindings before they are validated.

    `escalate` on roles and `bind` on the role that is bound let through what is not held.
    """

    def __init__(self, grants: Grants) -> None:
        self._grants = grants

    def __call__(self, review: Review) -> None:
        """Check a write of a role or binding. Raises Forbidden, NotFound."""
        new, old = review.new, review.old
        assert new is not None
        if SUPERUSERS in review.user.groups or (old is not None and _collecting(new, old)):
            return
        if review.resource.plural in _BINDINGS:
            self._check_binding(review, new)
        else:
            self._check_role(review, new, old)

    def _check_role(self, review: Review, new: Document, old: Document | None) -> None:
        name = "" if old is None else review.name  # as the request for a new one names none
        if self._may(review, "escalate", review.resource.plural, name):
            return
        summed = new.get("aggregationRule")
        if summed and summed != (old or {}).get("aggregationRule"):
            held = self._grants.rules_for(review.user, review.namespace)
            if missing(held, _EVERYTHING):
                text = "must have cluster-admin privileges to use an aggregationRule"
                raise _refused(review, text)
        self._check_rules(review, new.get("rules") or [])

    def _check_binding(self, review: Review, new: Document) -> None:
        role = new.get("roleRef") or {}
        kind, name = role.get("kind", ""), role.get("name", "")
        if kind not in ("Role", "ClusterRole") or not name:
            return  # validation says what is wrong
        plural = "roles" if kind == "Role" else "clusterroles"
        if self._may(review, "bind", plural, name):
            return
        rules = self._grants.rules_of(kind, name, review.namespace)
        if rules is None:
            what = review.resource.group_resource
            details = {"name": name, "group": GROUP, "kind": review.resource.plural}
            raise NotFound(f'{what} "{name}" not found', details=details)
        self._check_rules(review, rules)

    def _may(self, review: Review, verb: str, plural: str, name: str) -> bool:
        try:
            self._grants(
                Attributes(
                    review.user,
                    verb,
                    GROUP,
                    "v1",
                    plural,
                    namespace=review.namespace,
                    name=name,
                )
            )
        except Forbidden:
            return False
        return True

    def _check_rules(self, review: Review, rules: list[Document]) -> None:
        user = review.user
        lacking = missing(self._grants.rules_for(user, review.namespace), rules)
        if lacking:
            lines = "\n".join(sorted({shown(rule) for rule in lacking}))
            text = (
                f'user "{user.name}" (groups={quoted(user.groups)}) is attempting to grant '
                f"RBAC permissions not currently held:\n{lines}"
            )
            raise _refused(review, text)


def _collecting(new: Document, old: Document) -> bool:
    """Whether only what garbage collection needs has changed."""
    return _rest(new) == _rest(old)


def _rest(document: Document) -> Document:
    meta = {k: v for k, v in document["metadata"].items() if k not in _OF_COLLECTION}
    return {**document, "metadata": meta}


def _refused(review: Review, why: str) -> Forbidden:
    details = {"name": review.name, "group": GROUP, "kind": review.resource.plural}
    what = review.resource.group_resource
    return Forbidden(f'{what} "{review.name}" is forbidden: {why}', details=details)
