"""The agent of one Node: its Node object, and a worker for each bound Pod."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

from kapy._aio.clock import Clock
from kapy._aio.services import run_services
from kapy.api.times import stamp
from kapy.client.client import Client
from kapy.engine.cache import Cache, Change, Informer
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists
from kapy.kube.names import CONFIG_MAPS, NODES, PODS, SECRETS, Resource
from kapy.node_agent.container_state import Backoff
from kapy.node_agent.host import Host
from kapy.node_agent.log_files import rotate
from kapy.node_agent.node_object import capacity, node_object
from kapy.node_agent.pod_worker import PodWorker
from kapy.node_agent.processes.programs import BadPrograms, Programs
from kapy.node_agent.processes.runtime import ProcessRuntime
from kapy.node_agent.runtime import Runtime
from kapy.node_agent.sources import Sources

_log = logging.getLogger(__name__)

REPLICA_SETS: Final = Resource("apps", "v1", "replicasets", "ReplicaSet")
CHECK_SECONDS: Final = 1.0
"""The interval between looks at the file of programs and the size of logs. A timer: files cannot be
watched in a portable way."""
JUMP_SECONDS: Final = 10.0
"""The time between two such looks after which the machine has slept, or its clock was set: tokens
may have expired meanwhile."""
OWNER_SECONDS: Final = 5.0
"""For how long a Pod waits for its ReplicaSet. A timer: nothing tells that it is gone for good."""


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """The Node, the folders and the API server of an agent.

    name: the name of the Node. folder: the data folder of Pods. plane: the folder of the plane,
    with the file of programs. server: host and port of the API server. authority: the CA of the API
    server in PEM.
    """

    name: str
    folder: Path
    plane: Path
    server: tuple[str, int]
    authority: bytes
    address: str = "127.0.0.1"


class NodeAgent:
    """Runs the Pods of one Node while `run` is running."""

    def __init__(
        self,
        client: Client,
        place: AgentConfig,
        *,
        clock: Clock,
        random: Random,
        runtimes: Sequence[Runtime] = (),
    ) -> None:
        self._client = client
        self._place = place
        self._clock = clock
        self._cache = Cache(client, random=random)
        self._pods = self._cache.informer(PODS, fields=f"spec.nodeName={place.name}")
        self._sets = self._cache.informer(REPLICA_SETS)
        self._sources: dict[tuple[Resource, str], Informer[Document]] = {}
        self._programs = Programs(place.plane)
        processes = ProcessRuntime(self._programs, self.workload_of, clock)
        self._runtimes: Sequence[Runtime] = [processes, *runtimes]
        self._host = Host(
            client,
            clock,
            place.folder,
            place.server,
            place.authority,
            place.address,
            capacity(),
            self._runtimes,
            self._read,
            self._sources_of,
        )
        self._sets_changed = asyncio.Event()
        self.workers: dict[str, PodWorker] = {}
        self._group: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        """Run Pods until cancelled; then stop their containers."""
        self._place.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._refresh_programs()
        await self._register()
        async with run_services(cache=self._cache.run, programs=self._follow_files):
            await self._pods.wait_for_sync()
            await self._sets.wait_for_sync()
            self._remove_unknown()
            try:
                await self._run_pods()
            finally:
                for runtime in self._runtimes:
                    await runtime.close()

    async def _run_pods(self) -> None:
        async with asyncio.TaskGroup() as group:
            self._group = group
            for runtime in self._runtimes:
                group.create_task(runtime.keep(self._uids))
            try:
                self._sets.subscribe(self._on_set)
                self._pods.subscribe(self._on_change)
                await asyncio.get_running_loop().create_future()
            finally:
                self._group = None

    def worker(self, namespace: str, name: str) -> PodWorker | None:
        """Return the worker of a Pod, None if the Pod does not run here."""
        key = Key(namespace, name)
        return next((item for item in self.workers.values() if item.key == key), None)

    def workload_of(self, pod: Document) -> str:
        """Return the name of the Deployment, StatefulSet or other object that a Pod belongs to."""
        for item in pod["metadata"].get("ownerReferences") or ():
            if not item.get("controller"):
                continue
            if item.get("kind") != "ReplicaSet":
                return str(item.get("name", ""))
            result = self._sets.raw(Key(pod["metadata"]["namespace"], item.get("name", "")))
            if result is None or result["metadata"]["uid"] != item.get("uid"):
                return ""
            if not _is_of_template(pod, result["spec"]["template"]):
                return ""
            owners = result["metadata"].get("ownerReferences") or ()
            return next((str(own["name"]) for own in owners if own.get("controller")), "")
        return str(pod["metadata"]["name"])

    async def _register(self) -> None:
        place = self._place
        node = node_object(place.name, place.address, str(place.plane), stamp(self._clock()))
        with suppress(AlreadyExists):
            await self._client.create(NODES, node)
        key = Key("", place.name)
        await self._client.patch(NODES, key, {"metadata": node["metadata"]})
        await self._client.patch(NODES, key, {"status": node["status"]}, subresource="status")

    def _on_change(self, change: Change) -> None:
        """Handle a Pod of this Node that was added, changed or removed."""
        document = change.document
        uid = document["metadata"]["uid"]
        if change.old is not None and change.old["metadata"]["uid"] != uid:
            self._update(change.old["metadata"]["uid"], None)
        self._update(uid, change.new)

    def _uids(self) -> Set[str]:
        """Return the UIDs of Pods that may have leftovers."""
        return {item["metadata"]["uid"] for item in self._pods.list()} | self.workers.keys()

    def _on_set(self, _: Change) -> None:
        """Handle a ReplicaSet that was added, changed or removed."""
        self._sets_changed.set()
        self._sets_changed = asyncio.Event()

    async def _know_owner(self, pod: Document) -> None:
        """Wait for the ReplicaSet of a Pod, which another watch delivers: only with its owner
        known, a Pod gets the local program that replaces its image.

        Waiting ends after a time limit, because the ReplicaSet may be gone.
        """
        owners = pod["metadata"].get("ownerReferences") or ()
        sets = [
            Key(pod["metadata"]["namespace"], str(owner.get("name", "")))
            for owner in owners
            if owner.get("controller") and owner.get("kind") == "ReplicaSet"
        ]
        with suppress(TimeoutError):
            async with asyncio.timeout(OWNER_SECONDS):
                while any(self._sets.raw(key) is None for key in sets):
                    await self._sets_changed.wait()

    def _update(self, uid: str, pod: Document | None) -> None:
        worker = self.workers.get(uid)
        if worker is not None:
            worker.update(pod)
        elif pod is None:  # the Pod had ended before this agent started
            for runtime in self._runtimes:
                runtime.tidy_soon()
        elif pod is not None and self._group is not None and not _is_over(pod):
            worker = self.workers[uid] = PodWorker(pod, self._host)
            self._group.create_task(self._run_worker(worker), name=f"pod {worker.key}")

    async def _run_worker(self, worker: PodWorker) -> None:
        """Run one Pod; after an internal error, report it in the Pod's status and try again."""
        backoff = Backoff()
        try:
            while True:
                began = self._clock()
                try:
                    await self._know_owner(worker.pod)
                    self._refresh_programs()
                    await worker.run()
                    return
                except Exception as error:  # an error of one Pod must not end the others
                    _log.exception("pod %s", worker.key)
                    failed = worker
                    # From here on, a new worker receives the changes of the Pod.
                    worker = self.workers[worker.uid] = PodWorker(failed.pod, self._host)
                    ran = (self._clock() - began).total_seconds()
                    pause = max(backoff.pause(ran), CHECK_SECONDS)
                    await failed.fail(error, pause)
                    await worker.delete(within=pause)
        finally:
            self.workers.pop(worker.uid, None)

    def _remove_unknown(self) -> None:
        """Remove processes, containers and folders of Pods that were deleted while no agent ran."""
        from kapy.node_agent.leftovers import end_leftovers

        end_leftovers(self._place.folder, {item["metadata"]["uid"] for item in self._pods.list()})

    async def _follow_files(self) -> None:
        latest = self._clock()
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            before, latest = latest, self._clock()
            if abs((latest - before).total_seconds()) > JUMP_SECONDS:
                self._wake()
            self._refresh_programs()
            for worker in list(self.workers.values()):
                for state in worker.containers:
                    rotate(worker.folder.log(state.name, state.restarts))

    def _refresh_programs(self) -> None:
        try:
            changed = self._programs.refresh()
        except BadPrograms as error:
            _log.error("%s", error)
            return
        if changed:
            self._wake()

    def _wake(self) -> None:
        """Let all Pods read their inputs again."""
        for worker in self.workers.values():
            worker.notify()

    def _informer(self, kind: Resource, namespace: str) -> Informer[Document]:
        result = self._sources.get((kind, namespace))
        if result is None:
            result = self._cache.informer(kind, fields=f"metadata.namespace={namespace}")
            result.subscribe(self._change_handler(namespace))
            self._sources[kind, namespace] = result
        return result

    def _change_handler(self, namespace: str) -> Callable[[Change], None]:
        def notify(_: Change) -> None:
            for worker in self.workers.values():
                if worker.key.namespace == namespace:
                    worker.notify()

        return notify

    async def _read(self, namespace: str) -> None:
        for kind in (SECRETS, CONFIG_MAPS):
            await self._informer(kind, namespace).wait_for_sync()

    def _sources_of(self, pod: Document) -> Sources:
        namespace = pod["metadata"]["namespace"]
        result: Mapping[Resource, Informer[Document]] = {
            kind: self._informer(kind, namespace) for kind in (SECRETS, CONFIG_MAPS)
        }
        return Sources(
            pod,
            lambda name: result[SECRETS].raw(Key(namespace, name)),
            lambda name: result[CONFIG_MAPS].raw(Key(namespace, name)),
            self._host.allocatable,
        )


_COMPARED_FIELDS: Final = ("containers", "initContainers", "volumes")


def _is_of_template(pod: Document, template: Document) -> bool:
    """Return whether a Pod matches its owner's template. A Pod that another user created with a
    false owner reference must not get the owner's program.
    """
    spec, wanted = pod["spec"], template["spec"]
    if _account(spec) != _account(wanted):
        return False
    return all(spec.get(field) == wanted.get(field) for field in _COMPARED_FIELDS)


def _account(spec: Document) -> str:
    """Return the name of a Pod's ServiceAccount; `default` if the Pod names none."""
    return str(spec.get("serviceAccountName") or "default")


def _is_over(pod: Document) -> bool:
    """Return whether a Pod has finished and is not being deleted."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in ("Succeeded", "Failed") and "deletionTimestamp" not in pod["metadata"]
