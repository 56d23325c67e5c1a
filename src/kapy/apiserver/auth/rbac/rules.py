"""Rules of roles: matching (upstream's RuleAllows) and display.

A rule is a PolicyRule document (`rbac.authorization.k8s.io/v1`).
`kapy.apiserver.auth.rbac.covering` compares sets of rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kapy.apiserver.auth.authorization import Attributes
from kapy.kube import Document
from kapy.kube.go_literals import go_quoted

ANY: Final = "*"


def allows(rule: Document, wanted: Attributes) -> bool:
    """Report whether a rule allows a request."""
    if not _has(rule, "verbs", wanted.verb):
        return False
    if wanted.path is not None:
        path = wanted.path
        return any(path_covers(item, path) for item in rule.get("nonResourceURLs") or ())
    names = rule.get("resourceNames")
    return (
        _has(rule, "apiGroups", wanted.group)
        and _allows_resource(rule, wanted)
        and (not names or wanted.name in names)
    )


def _has(rule: Document, field: str, value: str) -> bool:
    values = rule.get(field) or ()
    return ANY in values or value in values


def _allows_resource(rule: Document, wanted: Attributes) -> bool:
    resources = rule.get("resources") or ()
    if ANY in resources:
        return True
    if not wanted.subresource:
        return wanted.resource in resources
    return (
        f"{wanted.resource}/{wanted.subresource}" in resources
        or f"*/{wanted.subresource}" in resources
    )


def path_covers(pattern: str, path: str) -> bool:
    """Report whether a nonResourceURL pattern covers a path or another pattern."""
    if pattern in (ANY, path):
        return True
    return pattern.endswith(ANY) and path.startswith(pattern.rstrip(ANY))


_SHOWN: Final = (
    ("APIGroups", "apiGroups"),
    ("Resources", "resources"),
    ("NonResourceURLs", "nonResourceURLs"),
    ("ResourceNames", "resourceNames"),
    ("Verbs", "verbs"),
)


def format_rule(rule: Document) -> str:
    """Return a rule in the form `{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}`."""
    result = [f"{label}:{quote_list(rule[field])}" for label, field in _SHOWN if rule.get(field)]
    return "{" + ", ".join(result) + "}"


def quote_list(words: Iterable[str]) -> str:
    """Return words as Go's `%q` prints a list: `["a" "b"]`."""
    return "[" + " ".join(go_quoted(word) for word in words) + "]"
