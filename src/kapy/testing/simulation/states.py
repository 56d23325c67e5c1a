"""States of a simulated world that can be compared: at the end of a run, and at rest.

The end of a run is compared with the end of the undisturbed run.

Two runs in the same state of rest continue in the same way: they have the same objects, the same
cloud and the same restarted managers, and no controller works or retries. So a run with a fault can
end when it reaches a state of rest of an earlier run. Names, UIDs and times are not compared.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any, Final

import msgspec

from kapy.engine.controller import Controller
from kapy.kube import Document
from kapy.kube.names import NODES, PODS
from kapy.providers.inmemory.workload.cluster import WorkloadCluster
from kapy.testing.simulation.network import STALE
from kapy.testing.simulation.points import Fault
from kapy.testing.simulation.processes import Manager, ManagerProcess
from kapy.testing.simulation.world import World

EndState = Counter[str]
"""The objects by kind, without what may differ."""

_SUFFIX: Final = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{5}(?![a-z0-9])")
_UID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_ADDRESS: Final = re.compile(r"\b(?:127(?:\.\d{1,3}){3}|172\.18(?:\.\d{1,3}){2})\b")
"""The address of a simulated cluster, which follows from a UID, or of a container."""
_HASH: Final = re.compile(r"\b\d{6,}\b|\b[0-9a-f]{32,}\b")

_DROPPED: Final = frozenset(
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
_ASSIGNED: Final = frozenset(
    ("providerID", "addresses", "controlPlaneEndpoint", "server", "certSANs", "machineInfo")
)
"""Fields that a cloud of one's own may assign in another way each time."""
_ANNOTATIONS: Final = frozenset(
    (
        "machinedeployment.clusters.x-k8s.io/revision",
        "machinedeployment.clusters.x-k8s.io/revision-history",
        "controlplane.cluster.x-k8s.io/remediation-for",
        "cluster.x-k8s.io/cloned-from-name",
    )
)
"""Annotations that count what happened on the way."""
_STATUS: Final = frozenset(("lastRemediation", "lastUpdated", "collisionCount"))
_SECRET: Final = frozenset(("data", "token", "caCertHashes"))

_VARYING: Final = (
    (_UID, "UID"),
    (_TIME, "TIME"),
    (_ADDRESS, "ADDRESS"),
    (_SUFFIX, "-*"),
    (_HASH, "HASH"),
)
_RESTARTS: Final = ("crash-before", "crash-after")
_COMPARED: Final = (*_RESTARTS, "lost-reply", "stale")


def end_state(world: World) -> EndState:
    """Return the stored objects at the end of a run."""
    objects: EndState = Counter()
    has_own_names = world.provider is not None or world.engine is not None
    dropped = _DROPPED | _ASSIGNED if has_own_names else _DROPPED
    for kind, resource in world.resources.items():
        for document in world.documents(resource):
            if kind == "MachineSet" and not document["spec"].get("replicas"):
                continue  # old MachineSets are history
            content = msgspec.json.encode(_plain(document, dropped), order="sorted").decode()
            objects[f"{kind} {content}"] += 1
    return objects


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


def _plain_text(document: Document) -> str:
    """Return an object as text, without names and times."""
    return msgspec.json.encode(_plain(document, _DROPPED), order="sorted").decode()


def _plain(value: Any, dropped: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {
            _plain_string(name): _field(name, part, dropped)
            for name, part in value.items()
            if name not in dropped and name not in _ANNOTATIONS and name not in _STATUS
        }
    if isinstance(value, list):
        parts = [_plain(item, dropped) for item in value]
        return sorted(parts, key=lambda part: msgspec.json.encode(part, order="sorted"))
    return _plain_string(value) if isinstance(value, str) else value


def _field(name: str, value: Any, dropped: frozenset[str]) -> Any:
    if name in _SECRET:
        return sorted(value) if isinstance(value, dict) else "secret"
    if name in ("failureDomain", "message"):
        return "" if name == "message" else value
    return _plain(value, dropped)


def _plain_string(text: str) -> str:
    """Return a text without names and times."""
    for pattern, word in _VARYING:
        text = pattern.sub(word, text)
    return text


def resting_state(world: World, fault: Fault | None) -> bytes | None:
    """Return the state of a world, None if it does not rest or cannot be compared.

    fault: the only one of the run, None for none.
    """
    if not _is_comparable(world, fault) or not _rests(world, fault):
        return None
    restarted = fault.point.manager if fault is not None and fault.kind in _RESTARTS else ""
    digest = blake2b(f"{restarted}/{world.progress}".encode(), digest_size=16)
    for number, side in enumerate((world, *world.companions)):
        for line in sorted(_lines(side)):
            digest.update(f"{number} {line}".encode())
    return digest.digest()


def _lines(world: World) -> Iterator[str]:
    yield f"failing {sorted(world.broken_nodes)}"
    yield from map(_plain_string, _remembered(world))
    for kind, resource in world.resources.items():
        for document in world.documents(resource):
            yield f"{kind} {_text(world, document)}"
    for workload in world.cloud.workloads():
        yield from _workload_lines(world, workload)
    for manager in world.managers.values():
        for controller in _controllers(manager):
            yield f"{controller.name} {controller.queue.waiting}"


def _remembered(world: World) -> Iterator[str]:
    """Describe what extensions and clouds remember."""
    if world.extension is not None:
        yield from world.extension.lines()
    if world.engine is not None:
        yield from world.engine.lines()
    for instance in world.added.values():
        if instance.lines is not None:
            yield from instance.lines()


def _text(world: World, document: Document) -> str:
    """Return an object without names and times; kept, as most objects stay the same."""
    metadata = document["metadata"]
    key = metadata["uid"], metadata["resourceVersion"]
    text = world.texts.get(key)
    if text is None:
        text = world.texts[key] = _plain_text(document)
    return text


def _is_comparable(world: World, fault: Fault | None) -> bool:
    """Return whether all that matters is seen: not what a provider of others remembers."""
    if not world.is_visible or any(added.lines is None for added in world.added.values()):
        return False
    return fault is None or fault.kind in _COMPARED


def _rests(world: World, fault: Fault | None) -> bool:
    if fault is not None and fault.kind == "stale" and world.now() < _begin(world) + STALE + 1.0:
        return False
    return all(
        _is_idle(manager, side.replicas)
        for side in (world, *world.companions)
        for manager in side.managers.values()
    )


def _begin(world: World) -> float:
    """Return when the fault began."""
    return next((step["time"] for step in world.trace.steps if step["what"] == "fault"), 0.0)


def _is_idle(manager: Manager, replicas: int) -> bool:
    """Return whether all processes of a manager run, and the one that works has nothing to do or to
    try again."""
    processes = [process for process in manager.processes if process.is_alive]
    working = list(filter(_works, processes))
    return (
        len(processes) == replicas
        and len(working) == 1
        and not any(
            len(controller.queue) or controller.queue.running or controller.is_retrying
            for controller in _controllers(manager)
        )
    )


def _works(process: ManagerProcess) -> bool:
    """Return whether the controllers of a process run; those of a candidate only fill queues."""
    leads = process.elector is None or process.elector.may_write()
    return leads and process.runtime is not None and process.runtime.working.is_set()


def _controllers(manager: Manager) -> Iterator[Controller]:
    for process in manager.processes:
        if process.is_alive and _works(process) and process.runtime is not None:
            yield from process.runtime.controllers


def _workload_lines(world: World, workload: WorkloadCluster) -> Iterator[str]:
    """Describe the machines of a cluster, their Nodes and Pods, and etcd."""
    etcd = workload.etcd
    yield f"{len(workload.machines)} machines, {len(etcd.members)} members, {workload.answers}"
    yield f"{len(getattr(etcd, 'stopped', ()))} {len(getattr(etcd, 'unstarted', ()))}"
    for resource in (NODES, PODS):
        table = workload.server.store.peek(resource.group_resource)
        documents = () if table is None else table.scan("")
        for document in documents:
            yield _text(world, document)
