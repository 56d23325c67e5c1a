"""Questions about access, right and wrong ones."""

from __future__ import annotations

from typing import Final

from tests.differential.authorization_model import Document
from tests.differential.authorization_talk import (
    AUTHORIZATION,
    KNOWN,
    OPEN,
    ROLES,
    Talk,
    binding,
    plain,
    refused,
    rule,
    user,
)

_FIELD: Final[tuple[Document, ...]] = (
    {},
    {"rawSelector": "a=b"},
    {"rawSelector": "a b"},
    {"rawSelector": "a=b", "requirements": [{"key": "a", "operator": "In", "values": ["b"]}]},
    {"requirements": [{"key": "a", "operator": "In", "values": ["b"]}]},
    {"requirements": [{"key": "a", "operator": "In", "values": ["b", "c"]}]},
    {"requirements": [{"key": "a", "operator": "In"}]},
    {"requirements": [{"key": "", "operator": "In", "values": ["b"]}]},
    {"requirements": [{"key": "a", "operator": "Exists", "values": ["b"]}]},
    {"requirements": [{"key": "a", "operator": "Exists"}]},
    {"requirements": [{"key": "a", "operator": "New"}]},
    {
        "requirements": [
            {"key": "a", "operator": "New"},
            {"key": "a", "operator": "In", "values": ["b"]},
        ]
    },
    {"requirements": [{"key": "a b", "operator": "NotIn", "values": ["b"]}]},
    {"requirements": [{"key": "a", "operator": "NotIn", "values": ["b b"]}]},
    {"requirements": [{"operator": "NotIn", "values": ["b b"]}]},
)
_PODS: Final[Document] = {"verb": "get", "resource": "pods"}
_HERE: Final[Document] = {**_PODS, "namespace": "red"}
_REVIEWS: Final[tuple[tuple[str, Document, Document], ...]] = (
    ("Subject", {}, {}),
    ("Subject", {"user": "x"}, {}),
    ("Subject", {"user": "", "groups": [], "resourceAttributes": _PODS}, {}),
    ("Subject", {"user": "x", "resourceAttributes": _PODS, "nonResourceAttributes": OPEN}, {}),
    ("Subject", {"user": "x", "resourceAttributes": {}}, {}),
    ("Subject", {"user": "all", "resourceAttributes": {"verb": "get"}}, {}),
    ("Subject", {"user": "all", "resourceAttributes": {**_PODS, "subresource": "log"}}, {}),
    ("Subject", {"user": "all", "nonResourceAttributes": {}}, {}),
    ("Subject", {"user": "all", "nonResourceAttributes": {"path": "/metrics"}}, {}),
    ("Subject", {"user": "x", "nonResourceAttributes": OPEN, **KNOWN}, {}),
    ("Subject", {"nonResourceAttributes": OPEN, **KNOWN}, {}),
    ("Subject", {"groups": ["system:masters"], "resourceAttributes": _PODS}, {}),
    ("Subject", {"user": "dangling", "resourceAttributes": _PODS}, {}),
    ("Subject", {"user": "dangling", "resourceAttributes": _HERE}, {}),
    ("Subject", {"user": "x", "resourceAttributes": _PODS}, {"name": "x"}),
    ("Subject", {"user": "x", "resourceAttributes": _PODS}, {"labels": {"a": "b"}}),
    ("Subject", {"user": "x", "resourceAttributes": _PODS}, {"managedFields": []}),
    ("Subject", {"user": "x", "resourceAttributes": _PODS}, {"uid": "zz"}),
    ("SelfSubject", {"resourceAttributes": _PODS}, {"generateName": "x"}),
    ("SelfSubject", {"nonResourceAttributes": OPEN}, {}),
    ("SelfSubject", {}, {}),
    ("LocalSubject", {"user": "x", "resourceAttributes": _HERE}, {}),
    ("LocalSubject", {"user": "x", "resourceAttributes": {**_HERE, "namespace": "blue"}}, {}),
    ("LocalSubject", {"user": "x", "resourceAttributes": _PODS}, {}),
    ("LocalSubject", {"user": "x", "nonResourceAttributes": OPEN}, {}),
    ("LocalSubject", {"user": "x", "resourceAttributes": _HERE}, {"namespace": "red"}),
    ("LocalSubject", {"user": "x", "resourceAttributes": _HERE}, {"namespace": "blue"}),
    ("LocalSubject", {"user": "x", "resourceAttributes": _HERE}, {"name": "n"}),
    ("LocalSubject", {"resourceAttributes": _HERE}, {}),
)


async def reviews(talk: Talk) -> None:
    """Questions about access, right and wrong ones."""
    await talk.role("all", [rule("*", "*", "*")], user("all"))
    target = f"{ROLES}/clusterrolebindings"
    for name in ("one", "two"):
        await talk.make(target, binding(f"lost-{name}", [user("dangling")], f"lost-{name}"))
    lost = {**binding("lost", [user("dangling")], "lost", "Role"), "kind": "RoleBinding"}
    await talk.make(f"{ROLES}/namespaces/red/rolebindings", lost)
    await talk.settle()
    for name in ("fieldSelector", "labelSelector"):
        for selector in _FIELD:
            spec = {"user": "all", "resourceAttributes": {**_PODS, name: selector}}
            await _ask(talk, "Subject", spec, {})
    for kind, spec, metadata in _REVIEWS:
        await _ask(talk, kind, spec, metadata)


async def _ask(talk: Talk, who: str, spec: Document, metadata: Document) -> None:
    kind = f"{who}AccessReview"
    body: Document = {"apiVersion": f"{AUTHORIZATION}/v1", "kind": kind, "spec": spec}
    if metadata:
        body["metadata"] = metadata
    space = "/namespaces/red" if who == "LocalSubject" else ""
    answer = await talk.admin("POST", f"/apis/{AUTHORIZATION}/v1{space}/{kind.lower()}s", body)
    result = plain(answer.review or refused(answer))
    if isinstance(result, dict) and "reason" in result:
        result["reason"] = _sorted(result["reason"])
    talk.answers[f"{kind} {spec} {metadata}"] = result


def _sorted(reason: str) -> str:
    """A reason with its problems in alphabetical order: theirs is that of a Go map."""
    begin, bracket, problems = reason.partition("[")
    listed = ", ".join(sorted(problems.removesuffix("]").split(", ")))
    return f"{begin}{bracket}{listed}"
