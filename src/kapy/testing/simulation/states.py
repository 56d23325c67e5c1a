"""The state of a world that rests for a moment, to know runs that go on alike.

A run with a fault comes to a state that another run has reached before it: the same objects, the
same cloud, the same managers restarted, and no controller that works or tries something again.
That run has played the rest. Names, UIDs and times are not compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Final

from kapy.engine.controller import Controller
from kapy.kube import Document
from kapy.kube.names import NODES, PODS
from kapy.providers.inmemory.workload.cluster import WorkloadCluster
from kapy.testing.simulation.end_state import plain_string, plain_text
from kapy.testing.simulation.network import STALE
from kapy.testing.simulation.points import Fault
from kapy.testing.simulation.processes import Manager, ManagerProcess
from kapy.testing.simulation.world import World

_RESTARTS: Final = ("crash-before", "crash-after")
_COMPARED: Final = (*_RESTARTS, "lost-reply", "stale")


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
    yield from map(plain_string, _remembered(world))
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
        text = world.texts[key] = plain_text(document)
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
