"""Rules of roles: matching (upstream's RuleAllows), display, and comparison (upstream's Covers).

A rule is a PolicyRule document (`rbac.authorization.k8s.io/v1`). Checks of privilege escalation
compare sets of rules: a wanted rule stands for combinations of verb, API group, resource and name
(or of verb and path), and one owned rule must allow each combination. A wanted rule without names
is covered only by rules without names. The name "" is an ordinary name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from kapy.apiserver.auth.authorization import Attributes
from kapy.kube import Document
from kapy.kube.go_literals import go_quoted

ANY: Final = "*"

_SHOWN: Final = (
    ("APIGroups", "apiGroups"),
    ("Resources", "resources"),
    ("NonResourceURLs", "nonResourceURLs"),
    ("ResourceNames", "resourceNames"),
    ("Verbs", "verbs"),
)
MOST_COMBINATIONS: Final = 10_000
"""The most combinations of API group, resource and name (or paths) in one check."""


def allows(rule: Document, wanted: Attributes) -> bool:
    """Report whether a rule allows a request."""
    if not _has(rule, "verbs", wanted.verb):
        return False
    if wanted.path is not None:
        path = wanted.path
        return any(_path_covers(item, path) for item in rule.get("nonResourceURLs") or ())
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


def _path_covers(pattern: str, path: str) -> bool:
    """Report whether a nonResourceURL pattern covers a path or another pattern."""
    if pattern in (ANY, path):
        return True
    return pattern.endswith(ANY) and path.startswith(pattern.rstrip(ANY))


def format_rule(rule: Document) -> str:
    """Return a rule in the form `{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}`."""
    result = [f"{label}:{quote_list(rule[field])}" for label, field in _SHOWN if rule.get(field)]
    return "{" + ", ".join(result) + "}"


def quote_list(words: Iterable[str]) -> str:
    """Return words as Go's `%q` prints a list: `["a" "b"]`."""
    return "[" + " ".join(go_quoted(word) for word in words) + "]"


class TooManyCombinations(Exception):
    """The rules stand for more combinations than the limit; `count` is their number."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.count = count


class _OwnedRule(NamedTuple):
    """An owned rule, prepared for look-ups. names: None if the rule has none."""

    verbs: frozenset[str]
    groups: frozenset[str]
    resources: frozenset[str]
    names: frozenset[str] | None
    paths: tuple[str, ...]


def uncovered_rules(owned: Iterable[Document], wanted: Sequence[Document]) -> list[Document]:
    """Return the part of `wanted` that `owned` does not allow.

    The result has one rule for each path, or for each resource and name. Raises
    TooManyCombinations.
    """
    count = sum(_combinations(rule) for rule in wanted)
    if count > MOST_COMBINATIONS:
        raise TooManyCombinations(count)
    have = [_prepare_rule(rule) for rule in owned]
    of_paths: list[Document] = []
    of_resources: dict[tuple[str, str, str | None], Document] = {}
    for rule in wanted:
        for part in _uncovered_resources(have, rule):
            name = part["resourceNames"][0] if "resourceNames" in part else None
            key = (part["apiGroups"][0], part["resources"][0], name)
            former = of_resources.setdefault(key, part)
            if former is not part:
                former["verbs"] += part["verbs"]
        of_paths += _uncovered_paths(have, rule)
    return [*of_paths, *of_resources.values()]


def _combinations(rule: Document) -> int:
    groups, resources = rule.get("apiGroups") or (), rule.get("resources") or ()
    names = rule.get("resourceNames") or ("",)
    paths, verbs = rule.get("nonResourceURLs") or (), rule.get("verbs") or ()
    return len(groups) * len(resources) * len(names) + len(paths) * len(verbs)


def _prepare_rule(rule: Document) -> _OwnedRule:
    names = rule.get("resourceNames")
    return _OwnedRule(
        frozenset(rule.get("verbs") or ()),
        frozenset(rule.get("apiGroups") or ()),
        frozenset(rule.get("resources") or ()),
        frozenset(names) if names else None,
        tuple(rule.get("nonResourceURLs") or ()),
    )


def _uncovered_resources(have: list[_OwnedRule], rule: Document) -> Iterator[Document]:
    for group in rule.get("apiGroups") or ():
        in_group = [
            owned_rule
            for owned_rule in have
            if ANY in owned_rule.groups or group in owned_rule.groups
        ]
        for resource in rule.get("resources") or ():
            of_resource = [
                owned_rule
                for owned_rule in in_group
                if _covers_resource(owned_rule.resources, resource)
            ]
            for name, times in Counter(rule.get("resourceNames") or (None,)).items():
                held = [
                    owned_rule
                    for owned_rule in of_resource
                    if owned_rule.names is None or name in owned_rule.names
                ]
                verbs = [verb for verb in _uncovered_verbs(held, rule) for _ in range(times)]
                if verbs:
                    part: Document = {"apiGroups": [group], "resources": [resource]}
                    if name is not None:
                        part["resourceNames"] = [name]
                    yield {**part, "verbs": verbs}


def _uncovered_verbs(held: list[_OwnedRule], rule: Document) -> list[str]:
    verbs = frozenset[str]().union(*(owned_rule.verbs for owned_rule in held))
    return [] if ANY in verbs else [verb for verb in rule.get("verbs") or () if verb not in verbs]


def _covers_resource(owned: frozenset[str], resource: str) -> bool:
    if ANY in owned or resource in owned:
        return True
    _, slash, subresource = resource.partition("/")
    return bool(slash) and f"*/{subresource}" in owned


def _uncovered_paths(have: list[_OwnedRule], rule: Document) -> Iterator[Document]:
    for path in rule.get("nonResourceURLs") or ():
        held = [
            owned_rule
            for owned_rule in have
            if any(_path_covers(item, path) for item in owned_rule.paths)
        ]
        for verb in _uncovered_verbs(held, rule):
            yield {"nonResourceURLs": [path], "verbs": [verb]}
