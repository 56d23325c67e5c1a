"""The end state of a run without names and times, so that two runs can be compared."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from kapy.kube import Document
from kapy.testing.simulation.world import World

EndState = Counter[str]
"""The objects by kind, without what may differ."""

_SUFFIX: Final = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{5}(?![a-z0-9])")
_UID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_ADDRESS: Final = re.compile(r"\b(?:127(?:\.\d{1,3}){3}|172\.18(?:\.\d{1,3}){2})\b")
"""The address of a simulated cluster, which follows from a UID, or of a container."""
_HASH: Final = re.compile(r"\b\d{6,}\b|\b[0-9a-f]{32,}\b")

DROPPED: Final = frozenset(
    (
        "managedFields",
        "resourceVersion",
        "uid",
        "creationTimestamp",
        "generation",
        "observedGeneration",
        "lastTransitionTime",
        "selfLink",
    )
)
ASSIGNED: Final = frozenset(
    ("providerID", "addresses", "controlPlaneEndpoint", "server", "certSANs", "machineInfo")
)
"""Fields that a cloud of one's own may assign in another way each time."""
ANNOTATIONS: Final = frozenset(
    (
        "machinedeployment.clusters.x-k8s.io/revision",
        "machinedeployment.clusters.x-k8s.io/revision-history",
        "controlplane.cluster.x-k8s.io/remediation-for",
        "cluster.x-k8s.io/cloned-from-name",
    )
)
"""Annotations that count what happened on the way."""
STATUS: Final = frozenset(("lastRemediation", "lastUpdated", "collisionCount"))
SECRET: Final = frozenset(("data", "token", "caCertHashes"))


def end_state(world: World) -> EndState:
    """Return the stored objects at the end of a run."""
    objects: EndState = Counter()
    has_own_names = world.provider is not None or world.engine is not None
    dropped = DROPPED | ASSIGNED if has_own_names else DROPPED
    for kind, resource in world.resources.items():
        for document in world.documents(resource):
            if kind == "MachineSet" and not document["spec"].get("replicas"):
                continue  # old MachineSets are history
            content = msgspec.json.encode(_plain(document, dropped), order="sorted").decode()
            objects[f"{kind} {content}"] += 1
    return objects


def plain_text(document: Document) -> str:
    """Return an object as text, without names and times."""
    return msgspec.json.encode(_plain(document, DROPPED), order="sorted").decode()


def differences(expected: EndState, actual: EndState) -> list[str]:
    """Return what differs, one line for each object that has no counterpart."""
    missing, extra = list((expected - actual).elements()), list((actual - expected).elements())
    lines = []
    for other in extra:
        kind = other.partition(" ")[0]
        partner = next(
            (candidate for candidate in missing if candidate.startswith(f"{kind} ")), None
        )
        if partner is None:
            lines.append(f"there is one {_title(other)} more")
            continue
        missing.remove(partner)
        lines += _changes(partner, other)
    lines += [f"there is one {_title(absent)} less" for absent in missing]
    return lines


def count_differences(expected: EndState, actual: EndState) -> list[str]:
    """Return which kinds have more or fewer objects. After a restore that has lost writes, others
    than in the undisturbed run may have been replaced."""
    before, after = _counts(expected), _counts(actual)
    return [
        f"there are {after[kind]} objects of kind {kind} instead of {before[kind]}"
        for kind in sorted(before.keys() | after.keys())
        if before[kind] != after[kind]
    ]


def _counts(state: EndState) -> Counter[str]:
    kinds: Counter[str] = Counter()
    for line, count in state.items():
        kinds[line.partition(" ")[0]] += count
    return kinds


def _title(line: str) -> str:
    kind, _, content = line.partition(" ")
    return f"{kind} {msgspec.json.decode(content)['metadata'].get('name', '')}"


def _changes(old: str, new: str) -> list[str]:
    before, after = _flat(old), _flat(new)
    title = _title(new)
    return [
        f"{title} {path}: {_short(before.get(path))} -> {_short(after.get(path))}"
        for path in sorted(before.keys() | after.keys())
        if before.get(path) != after.get(path)
    ][:8]


def _short(value: Any) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 120 else f"{text[:120]}…"


def _flat(line: str) -> dict[str, Any]:
    content = msgspec.json.decode(line.partition(" ")[2])
    return dict(_paths(content, ""))


def _paths(value: Any, path: str) -> Iterable[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for name, part in value.items():
            yield from _paths(part, f"{path}.{name}" if path else name)
    elif isinstance(value, list) and value:
        for number, part in enumerate(value):
            name = part.get("type", number) if isinstance(part, dict) else number
            yield from _paths(part, f"{path}[{name}]")
    else:
        yield path, value


def _plain(value: Any, dropped: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {
            plain_string(name): _field(name, part, dropped)
            for name, part in value.items()
            if name not in dropped and name not in ANNOTATIONS and name not in STATUS
        }
    if isinstance(value, list):
        parts = [_plain(item, dropped) for item in value]
        return sorted(parts, key=lambda part: msgspec.json.encode(part, order="sorted"))
    return plain_string(value) if isinstance(value, str) else value


def _field(name: str, value: Any, dropped: frozenset[str]) -> Any:
    if name in SECRET:
        return sorted(value) if isinstance(value, dict) else "secret"
    if name in ("failureDomain", "message"):
        return "" if name == "message" else value
    return _plain(value, dropped)


_VARYING: Final = (
    (_UID, "UID"),
    (_TIME, "TIME"),
    (_ADDRESS, "ADDRESS"),
    (_SUFFIX, "-*"),
    (_HASH, "HASH"),
)


def plain_string(text: str) -> str:
    """Return a text without names and times."""
    for pattern, word in _VARYING:
        text = pattern.sub(word, text)
    return text


def documents_of(world: World, kind: str) -> list[Document]:
    """Return the stored objects of a kind."""
    return world.documents(world.resources[kind])
