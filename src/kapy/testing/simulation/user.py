"""The user of a simulated management cluster, who acts and then waits for goals.

After the restore of an older backup, the user is an administrator who follows what conditions say.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

from kapy.apps.manifests import apply_manifests
from kapy.client.client import Client
from kapy.kube import Document, Key, yaml
from kapy.kube.errors import ApiError, Invalid, KapyError, NotFound
from kapy.kube.http import ADMIN
from kapy.kube.names import Resource
from kapy.testing.simulation.backups import Loss
from kapy.testing.simulation.container_engine import in_containers
from kapy.testing.simulation.outside_faults import set_node_ready
from kapy.testing.simulation.world import World

NAMESPACE: Final = "default"
PATIENCE: Final = 6000.0
"""Seconds in which a goal must be reached: several times the longest back-off."""
POLL: Final = 1.0

_LOOK: Final = 60.0
_LOOKS: Final = 20
_NODE: Final = re.compile(r"Control plane Node (\S+) does not have a corresponding Machine")
_MEMBER: Final = re.compile(r"Etcd doesn't have an etcd member for Node (\S+)")


class GoalMissed(KapyError):
    """A goal was not reached in time; the message names it and the last state."""


class View:
    """The stored objects, as the scenario's user sees them."""

    def __init__(self, world: World) -> None:
        self._world = world

    @property
    def has_lost(self) -> bool:
        """Return whether a restore of an older backup has lost writes."""
        return self._world.backups.has_lost

    def all(self, kind: str) -> list[Document]:
        """Return all objects of a kind."""
        return self._world.documents(self._world.resources[kind])

    def get(self, kind: str, name: str) -> Document | None:
        """Return an object, None if it does not exist."""
        for document in self.all(kind):
            if document["metadata"]["name"] == name:
                return document
        return None

    def machines(self, *, control_plane: bool | None = None) -> list[Document]:
        """Return the Machines, all or those of control planes or of workers."""
        return [
            machine
            for machine in self.all("Machine")
            if control_plane is None or is_control_plane(machine) == control_plane
        ]

    def is_true(self, kind: str, name: str, *conditions: str) -> bool:
        """Return whether conditions of an object are True for its last generation."""
        document = self.get(kind, name)
        return document is not None and all(
            is_true(document, condition) for condition in conditions
        )


def is_control_plane(machine: Document) -> bool:
    """Return whether a Machine belongs to a control plane."""
    return "cluster.x-k8s.io/control-plane" in (machine["metadata"].get("labels") or {})


def condition_of(document: Document, type_: str) -> Document | None:
    """Return a condition of an object."""
    conditions: Iterable[Document] = (document.get("status") or {}).get("conditions") or ()
    return next((condition for condition in conditions if condition["type"] == type_), None)


def is_true(document: Document, type_: str) -> bool:
    """Return whether a condition is True for the object's generation."""
    condition = condition_of(document, type_)
    generation = document["metadata"].get("generation", 0)
    return (
        condition is not None
        and condition["status"] == "True"
        and condition.get("observedGeneration", generation) >= generation
    )


class User:
    """The user of the scenario, who changes the world without faults. goals: the reached goals with
    their times.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.view = View(world)
        self.goals: list[tuple[str, float]] = []
        self._acts: list[tuple[float, Callable[[], Any]]] = []
        world.outside.on_loss.append(self._on_loss)

    def _on_loss(self, loss: Loss) -> None:
        """Repeat the user's actions since the backup, since a restore has lost them."""
        lost = [act for time, act in self._acts if time >= loss.since]
        self._acts = [(time, act) for time, act in self._acts if time < loss.since]

        async def repeat() -> None:
            for act in lost:
                self.world.trace.add("user", does="again what was lost")
                with suppress(NotFound):
                    await self._act(act)

        if lost:
            self.world.spawn(repeat)
        self.world.spawn(lambda: _follow_reports(self.world))

    async def _act(self, act: Callable[[], Any]) -> None:
        """Change the management cluster, and record the action to repeat it if a restore
        loses it.
        """
        self._acts.append((self.world.now(), act))
        self._tell_progress()
        await self._insist(act)

    async def apply(self, objects: str | Sequence[Document]) -> None:
        """Apply a YAML text, or documents."""
        documents = list(yaml.load_all(objects)) if isinstance(objects, str) else list(objects)
        if (provider := self.world.provider) is not None:
            documents = provider.in_place_of_in_memory(documents)
        if self.world.engine is not None:
            documents = in_containers(documents)
        if (plane := self.world.control_plane) is not None:
            documents = plane.in_place_of_kubeadm(documents)
        self.world.trace.add("user", does="apply", objects=len(documents))
        await self._act(lambda: apply_manifests(self.world.client, documents))

    async def apply_there(self, cluster: str, objects: Sequence[Document]) -> None:
        """Apply objects in a workload cluster."""
        self.world.trace.add("user", does="apply there", objects=len(objects))
        client = self._client_there(cluster)
        await self._insist(lambda: apply_manifests(client, objects))

    async def patch_there(
        self, cluster: str, resource: Resource, name: str, patch: Document, subresource: str = ""
    ) -> None:
        """Merge-patch a cluster-scoped object of a workload cluster."""
        client = self._client_there(cluster)
        key = Key("", name)
        await self._insist(lambda: client.patch(resource, key, patch, subresource=subresource))

    async def delete_there(self, cluster: str, resource: Resource, name: str) -> None:
        """Delete an object of a workload cluster that has no namespace."""
        self.world.trace.add("user", does="delete there", object=f"{resource.kind}/{name}")
        client = self._client_there(cluster)
        await self._insist(lambda: client.delete(resource, Key("", name)))

    def _client_there(self, cluster: str) -> Client:
        workload = self.world.cloud.get(Key(NAMESPACE, cluster))
        assert workload is not None
        return Client(workload.server.transport(ADMIN), field_manager="kubectl")

    async def sleep(self, seconds: float) -> None:
        """Wait for some seconds of virtual time."""
        await asyncio.sleep(seconds)

    def jump_clocks(self, ahead: timedelta) -> None:
        """Let the clocks of all machines jump ahead; timers do not."""
        self.world.trace.add("clocks", ahead=str(ahead))
        self.world.clock_jump += ahead

    async def patch(self, kind: str, name: str, patch: Document) -> None:
        """Merge-patch an object of the management cluster."""
        self.world.trace.add("user", does="patch", object=f"{kind}/{name}")
        key = Key(NAMESPACE, name)
        await self._act(lambda: self.world.client.patch(self.world.resources[kind], key, patch))

    async def delete(self, kind: str, name: str) -> None:
        """Delete an object of the management cluster."""
        self.world.trace.add("user", does="delete", object=f"{kind}/{name}")
        key = Key(NAMESPACE, name)
        try:
            await self._act(lambda: self.world.client.delete(self.world.resources[kind], key))
        except NotFound:
            return

    async def _insist(self, act: Callable[[], Any]) -> None:
        """Repeat an action until the server no longer refuses it."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + PATIENCE
        while True:
            try:
                await act()
            except NotFound:
                raise
            except ApiError as error:
                if isinstance(error, Invalid) or loop.time() > deadline:
                    raise GoalMissed(f"what the user did was refused: {error}") from None
                await asyncio.sleep(5.0)
            else:
                return

    async def until(self, goal: str, holds: Callable[[View], bool]) -> None:
        """Wait until a goal is reached. Raises GoalMissed."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + PATIENCE
        while not holds(self.view):
            if self.world.is_lost:
                raise GoalMissed(f"{goal}: not reached, as too many rules are broken")
            if loop.time() > deadline:
                raise GoalMissed(f"{goal}: not reached in {PATIENCE:.0f} s; {self._state()}")
            await asyncio.sleep(POLL)
        self.world.trace.add("goal", goal=goal)
        self.goals.append((goal, self.world.now()))
        self._tell_progress()

    def _tell_progress(self) -> None:
        self.world.progress = f"{len(self._acts)} acts, {len(self.goals)} goals"

    def _state(self) -> str:
        """Return the conditions that are not as they should be."""
        lines = []
        for kind in ("Cluster", "KubeadmControlPlane", "MachineDeployment", "Machine"):
            for document in self.view.all(kind):
                for name in ("Available", "Ready", "Deleting", "ScalingUp", "RollingOut"):
                    condition = condition_of(document, name)
                    if condition is not None and (condition["status"] == "True") != (
                        name in ("Available", "Ready")
                    ):
                        message = " ".join(str(condition.get("message", "")).split())
                        title = f"{kind} {document['metadata']['name']}"
                        lines.append(f"{title}: {name}={condition['status']} {message}")
        return "; ".join(lines)[:2000]

    # the cloud

    def break_node(self, cluster: str, machine: str) -> None:
        """Let the kubelet of a machine report that its Node is not ready, for good."""
        self._set_node(cluster, machine, "False")

    def mend_node(self, cluster: str, machine: str) -> None:
        """Let the kubelet of a machine report that its Node is ready."""
        self._set_node(cluster, machine, "True")

    def _set_node(self, cluster: str, machine: str, status: str) -> None:
        self.world.trace.add("cloud", does=f"node ready {status}", machine=machine)
        if status == "True":
            self.world.broken_nodes.pop(machine, None)
        else:
            self.world.broken_nodes[machine] = self.world.now()
        workload = self.world.cloud.get(Key(NAMESPACE, cluster))
        assert workload is not None
        set_node_ready(workload, machine, status, self.world.network.workload_clock)


async def _follow_reports(world: World) -> None:
    """For some time, delete the machines of reported Nodes without a Machine, and restored Machines
    whose etcd member is reported as missing. Machines that are newer must not need that."""
    restored = {
        machine["metadata"]["uid"] for machine in world.documents(world.resources["Machine"])
    }
    for _ in range(_LOOKS):
        await asyncio.sleep(_LOOK)
        text = _reported(world)
        for workload in world.cloud.workloads():
            for name in set(_NODE.findall(text)) & workload.machines.keys():
                world.trace.add("cloud", does="delete", machine=name)
                workload.remove(name)
        missing = set(_MEMBER.findall(text))
        for machine in world.documents(world.resources["Machine"]):
            node = ((machine.get("status") or {}).get("nodeRef") or {}).get("name")
            metadata = machine["metadata"]
            is_known = node in missing and metadata["uid"] in restored
            if is_known and not metadata.get("deletionTimestamp"):
                await _delete(world, Key.of(machine))


def _reported(world: World) -> str:
    """Return the messages of the control planes' conditions."""
    return "\n".join(
        condition.get("message") or ""
        for plane in world.documents(world.resources["KubeadmControlPlane"])
        for condition in (plane.get("status") or {}).get("conditions") or ()
    )


async def _delete(world: World, key: Key) -> None:
    world.trace.add("user", does="delete", object=f"Machine/{key.name}")
    try:
        await world.client.delete(world.resources["Machine"], key)
    except ApiError:
        return  # at the next look
