"""Rules of roles: what one allows, and whether some cover others.

A rule is the document that stands in a Role (`rbac.authorization.k8s.io/v1` PolicyRule).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from kapy.apiserver.authorization import Attributes
from kapy.kube import Document

ANY = "*"


def allows(rule: Document, wanted: Attributes) -> bool:
    """Whether a rule allows a request."""
    if not _has(rule, "verbs", wanted.verb):
        return False
    if not wanted.resource:
        return _allows_path(rule, wanted.path)
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


def _allows_path(rule: Document, path: str) -> bool:
    return any(_path_covers(one, path) for one in rule.get("nonResourceURLs") or ())


def _path_covers(pattern: str, path: str) -> bool:
    if pattern in (ANY, path):
        return True
    return pattern.endswith(ANY) and path.startswith(pattern.rstrip(ANY))


def missing(owned: Sequence[Document], wanted: Iterable[Document]) -> list[Document]:
    """What of `wanted` is not allowed by `owned`, as one rule per resource."""
    lacking = [
        part for rule in wanted for part in _parts(rule) if not any(_covers(o, part) for o in owned)
    ]
    return list(_compact(lacking))


def _parts(rule: Document) -> Iterator[Document]:
    """The rule taken apart: one verb on one resource (and name), or on one path."""
    for verb in rule.get("verbs") or ():
        for group in rule.get("apiGroups") or ():
            for resource in rule.get("resources") or ():
                part: Document = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
                for name in rule.get("resourceNames") or ():
                    yield {**part, "resourceNames": [name]}
                if not rule.get("resourceNames"):
                    yield part
        for path in rule.get("nonResourceURLs") or ():
            yield {"nonResourceURLs": [path], "verbs": [verb]}


def _covers(owner: Document, part: Document) -> bool:
    """Whether a rule allows all of a part."""
    if not _has(owner, "verbs", part["verbs"][0]):
        return False
    if "nonResourceURLs" in part:
        path = part["nonResourceURLs"][0]
        return any(_path_covers(one, path) for one in owner.get("nonResourceURLs") or ())
    names = owner.get("resourceNames")
    return (
        _has(owner, "apiGroups", part["apiGroups"][0])
        and _covers_resource(owner.get("resources") or (), part["resources"][0])
        and (not names or part.get("resourceNames", [""])[0] in names)
    )


def _covers_resource(owned: Sequence[str], resource: str) -> bool:
    if ANY in owned or resource in owned:
        return True
    _, slash, subresource = resource.partition("/")
    return bool(slash) and f"*/{subresource}" in owned


def _compact(parts: Iterable[Document]) -> Iterator[Document]:
    """Parts about the same resource as one rule with all the verbs."""
    merged: dict[tuple[str, str, str], Document] = {}
    for part in parts:
        if "nonResourceURLs" in part:
            yield part
            continue
        name = part.get("resourceNames", [""])[0]
        key = (part["apiGroups"][0], part["resources"][0], name)
        found = merged.setdefault(key, {**part, "verbs": []})
        if part["verbs"][0] not in found["verbs"]:
            found["verbs"].append(part["verbs"][0])
    yield from merged.values()


_SHOWN = ("APIGroups", "Resources", "NonResourceURLs", "ResourceNames", "Verbs")


def shown(rule: Document) -> str:
    """`{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}`."""
    found = []
    for label in _SHOWN:
        field = "nonResourceURLs" if label[0] == "N" else _field(label)
        if rule.get(field):
            found.append(f"{label}:{quoted(rule[field])}")
    return "{" + ", ".join(found) + "}"


def _field(label: str) -> str:
    return "apiGroups" if label == "APIGroups" else label[0].lower() + label[1:]


def quoted(words: Iterable[str]) -> str:
    """Words as Go's `%q` prints a list: `["a" "b"]`."""
    return "[" + " ".join(json.dumps(word, ensure_ascii=False) for word in words) + "]"
