"""The Deployments, ReplicaSets, DaemonSets, StatefulSets and Jobs of one server, and their Pods.

`Workloads.work` brings all of them closer to what they are to be; whoever owns it calls it when a
write of one of `TABLES` made it dirty. It begins with `begin`, or with the first object that
somebody creates.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from datetime import datetime, timedelta
from typing import Any, Final

from kapy.apiserver.controllers.workloads.pod_conditions import (
    failed_scheduling,
    is_ready,
    ready_since,
    unschedulable,
)
from kapy.apiserver.controllers.workloads.scheduling import Room
from kapy.apiserver.controllers.writing import changed, made, removed
from kapy.apiserver.metadata import stamp
from kapy.apiserver.plane import Plane
from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.server import Server
from kapy.apiserver.store.history import Happening
from kapy.apiserver.verbs.deletion import begin
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError
from kapy.kube.generated_names import suffix

APPS: Final = ("deployments.apps", "replicasets.apps", "daemonsets.apps", "statefulsets.apps")
JOBS: Final = "jobs.batch"
TABLES: Final = frozenset((*APPS, JOBS, "pods", "nodes"))
MOST_STEPS: Final = 100
"""Pods that are created at once: other work of the process comes in between."""
MOST_LOOKS: Final = 200
"""Deployments and their like that are looked at at once."""
MOST_PODS: Final = 2_000
"""Pods of one server; of more, objects wait as if no Node had room."""

_log = logging.getLogger(__name__)


class Workloads:
    """The workload objects of one server, and a mark that one of them needs a reconcile.

    next_look: the earliest moment at which something changes although nothing is written (the
    deadline of a rollout), None where there is none.
    """

    __slots__ = ("_budget", "_left", "_owned", "_room", "is_dirty", "is_used", "next_look", "plane")

    what = "this server"
    """The name of the server in messages of the log."""

    def __init__(self, server: Server) -> None:
        self.plane: Plane = server.plane
        self.is_used = False
        self.is_dirty = False
        self._budget = 0
        self._room = 0
        self._left: list[tuple[str, Key]] = []
        self.next_look: datetime | None = None
        self._owned: dict[tuple[str, str], dict[Key, Document]] = {}

    def begin(self) -> None:
        """Look after what there is from now on."""
        self.is_used = self.is_dirty = True

    def note(self, one: Happening) -> bool:
        """Take a write of one of TABLES in; whether there is something to do now."""
        if not self.is_used:
            made_by_somebody = one.change == "ADDED" and one.table not in ("pods", "nodes")
            if not made_by_somebody or not one.document["metadata"].get("managedFields"):
                return False
            self.is_used = True
        self.is_dirty = True
        return True

    def work(self) -> None:
        """Do a part of what there is to do; `is_dirty` says whether there is more."""
        from kapy.apiserver.controllers.workloads import controllers

        self.is_dirty = False
        self.next_look = None
        self._budget = MOST_STEPS
        pods = list(self.all("pods"))
        self._room = MOST_PODS - len(pods)
        self._learn("pods", pods)
        self._learn("replicasets.apps", self.all("replicasets.apps"))
        self.see_to_pods(pods)
        if not self._left:
            self._left = [
                (table, Key.of(one)) for table in (*APPS, JOBS) for one in self.all(table)
            ]
        now, self._left = self._left[:MOST_LOOKS], self._left[MOST_LOOKS:]
        for table, key in now:
            document = self.plane.table(self._kind(table)).latest(key.namespace, key.name)
            if document is not None and self._is_ours(document):
                self._look(controllers.BY_TABLE[table], document)
        self.is_dirty = self.is_dirty or bool(self._left)
        self._schedule()
        self._owned.clear()

    def see_to_pods(self, pods: Iterable[Document]) -> None:
        """Do what a simulation of kubelets does for Pods that have a Node; nothing here."""

    def is_excluded(self, document: Document) -> bool:
        """Whether somebody else looks after an object."""
        del document
        return False

    def is_schedulable(self, pod: Document) -> bool:
        """Whether a Pod waits for a Node."""
        waits = not (pod.get("spec") or {}).get("nodeName") and is_active(pod)
        return waits and not self.is_excluded(pod)

    def available(self, pods: Iterable[Document], owner: Document) -> int:
        """The number of Pods that have been ready for the `minReadySeconds` of their owner."""
        ready = [one for one in pods if is_ready(one)]
        seconds = owner["spec"].get("minReadySeconds") or 0
        if not seconds:
            return len(ready)
        now, found = self.plane.clock(), 0
        for pod in ready:
            end = (ready_since(pod) or now) + timedelta(seconds=seconds)
            if end <= now:
                found += 1
            else:
                self.look_at(end)
        return found

    def look_at(self, moment: datetime) -> None:
        """Work again then, although nothing may be written meanwhile."""
        if self.next_look is None or moment < self.next_look:
            self.next_look = moment

    def _is_ours(self, document: Document) -> bool:
        return "deletionTimestamp" not in document["metadata"] and not self.is_excluded(document)

    def _look(self, controller: Callable[[Workloads, Document], None], document: Document) -> None:
        try:
            controller(self, document)
        except (KeyError, TypeError, ValueError, AttributeError, KapyError) as error:
            # The object lacks what its controller needs, and says so to nobody else.
            what = f"{document['kind']} {Key.of(document)}"
            _log.warning("%s of %s gets no Pods: %r", what, self.what, error)

    def all(self, table: str, namespace: str = "") -> Iterator[Document]:
        """The objects of a table as they were written last."""
        found = self.plane.store.peek(table)
        if found is None:
            return
        for one in list(found.scan(namespace)):
            metadata = one["metadata"]
            last = found.latest(metadata.get("namespace", ""), metadata["name"])
            if last is not None:
                yield last

    def latest(self, table: str, document: Document) -> Document | None:
        """The object as it was written last."""
        metadata = document["metadata"]
        found = self.plane.table(self._kind(table))
        return found.latest(metadata.get("namespace", ""), metadata["name"])

    def owned(self, table: str, owner: Document) -> list[Document]:
        """The objects that an object controls, oldest first."""
        found = self._owned.get((table, owner["metadata"]["uid"]), {})
        return sorted(found.values(), key=lambda one: one["metadata"]["creationTimestamp"])

    def _learn(self, table: str, documents: Iterable[Document]) -> None:
        for one in documents:
            owner = controller_of(one)
            if owner:
                self._owned.setdefault((table, owner), {})[Key.of(one)] = one

    def create(self, table: str, owner: Document, document: Document) -> Document | None:
        """Create an object that another one controls; None where that has to wait."""
        if table == "pods":
            if self._budget <= 0:
                self.is_dirty = True
                return None
            if self._room <= 0:
                return None
            self._budget -= 1
            self._room -= 1
        kind = self._kind(table)
        meta = owner["metadata"]
        reference = {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": meta["name"],
            "uid": meta["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
        metadata = {**document["metadata"], "ownerReferences": [reference]}
        namespace, name = meta["namespace"], metadata["name"]
        if self.plane.table(kind).latest(namespace, name) is not None:
            return None  # somebody else's, or one that is still going
        resource = kind.resource
        made(
            self.plane,
            kind,
            namespace,
            # Defaults are written into it, and its template is its owner's, too.
            deepcopy(
                {
                    "apiVersion": resource.api_version,
                    "kind": resource.kind,
                    **document,
                    "metadata": metadata,
                }
            ),
        )
        stored = self.plane.table(kind).latest(namespace, name)
        self._learn(table, [] if stored is None else [stored])
        return stored

    def create_alone(self, table: str, namespace: str, document: Document) -> None:
        """Create an object that no other one controls."""
        kind = self._kind(table)
        resource = kind.resource
        whole = {"apiVersion": resource.api_version, "kind": resource.kind, **document}
        made(self.plane, kind, namespace, whole)

    def write(self, table: str, before: Document, **parts: Any) -> None:
        """Write other parts of an object (`spec`, `status`, `metadata`), where they differ."""
        if all(before.get(name) == value for name, value in parts.items()):
            return
        after = {**before, **parts}
        if "spec" in parts:
            generation = before["metadata"].get("generation", 1) + 1
            after["metadata"] = {**after["metadata"], "generation": generation}
        subresource = "status" if parts.keys() == {"status"} else ""
        changed(self.plane, self._kind(table), before, after, subresource)
        stored = self.latest(table, before)
        self._learn(table, [] if stored is None else [stored])

    def delete(self, table: str, document: Document) -> None:
        """Delete an object as far as its finalizers, and the kubelet of a Pod, let it go."""
        metadata = document["metadata"]
        if table == "pods" and self.plane.kubelets:
            if "deletionTimestamp" not in metadata:
                begin(self.plane, self._kind(table), document)
                stored = self.latest(table, document)
                self._learn(table, [] if stored is None else [stored])
        elif not metadata.get("finalizers"):
            removed(self.plane, self._kind(table), document)
            self._owned.get((table, controller_of(document)), {}).pop(Key.of(document), None)
        elif "deletionTimestamp" not in metadata:
            going = {"deletionTimestamp": self.now(), "deletionGracePeriodSeconds": 0}
            self.write(table, document, metadata={**metadata, **going})

    def add_pod(
        self, owner: Document, template: Document, name: str, **labels: str
    ) -> Document | None:
        """Create a Pod of a template; it waits for a Node."""
        given = template.get("metadata") or {}
        metadata = {key: given[key] for key in _TAKEN_OVER if given.get(key)}
        metadata |= {"name": name, "labels": {**(given.get("labels") or {}), **labels}}
        return self.create("pods", owner, {"metadata": metadata, "spec": {**template["spec"]}})

    def place(self, pod: Document, node: str) -> None:
        """Bind a Pod to a Node."""
        self.write("pods", pod, spec={**pod["spec"], "nodeName": node})

    def random_name(self, prefix: str) -> str:
        """A name as the API server generates it."""
        return f"{prefix}-{suffix(prefix, self.plane.rng.random())}"

    def now(self) -> str:
        return stamp(self.plane.clock())

    def _schedule(self) -> None:
        """Place the Pods that wait for a Node."""
        pods = list(self.all("pods"))
        waiting = [one for one in pods if self.is_schedulable(one)]
        if not waiting:
            return
        room = Room(list(self.all("nodes")), pods)
        refused: dict[str, str] = {}
        for pod in waiting:
            # The Pods of an owner are alike: where one does not fit, none does.
            owner = controller_of(pod) or pod["metadata"]["uid"]
            node, why = ("", refused[owner]) if owner in refused else room.choose(pod)
            if node:
                self.place(pod, node)
            else:
                refused[owner] = why
                self._refuse(pod, why)

    def _refuse(self, pod: Document, why: str) -> None:
        """Tell in the status of a Pod, and in an Event, that no Node fits."""
        status = unschedulable(pod, why, self.now())
        if status == pod.get("status"):
            return
        self.write("pods", pod, status=status)
        event = failed_scheduling(pod, why, self.now())
        if self.latest("events", event) is None:
            made(self.plane, self._kind("events"), pod["metadata"]["namespace"], event)

    def _kind(self, table: str) -> Kind:
        kind = self.plane.registry.in_table(table)
        assert kind is not None
        return kind


_TAKEN_OVER: Final = ("annotations", "finalizers")


def is_active(pod: Document) -> bool:
    """Whether a Pod counts for its controller."""
    phase = (pod.get("status") or {}).get("phase")
    return "deletionTimestamp" not in pod["metadata"] and phase not in ("Succeeded", "Failed")


def controller_of(document: Document) -> str:
    """The uid of the object that controls another one, "" where none does."""
    owners = document["metadata"].get("ownerReferences") or ()
    return next((one["uid"] for one in owners if one.get("controller")), "")
