"""The Deployments, ReplicaSets, DaemonSets, StatefulSets and Jobs of one server, and their Pods.

`Workloads.reconcile` reconciles all of them. The owner calls it while `is_dirty`, which a write to
one of `TABLES` sets. Reconciling begins with `start`, or when a client creates the first object.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from kapy.apiserver.controllers.workloads.pod_conditions import (
    failed_scheduling_event,
    is_ready,
    ready_since,
    unschedulable_status,
)
from kapy.apiserver.controllers.workloads.scheduling import NodeSnapshot
from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.resources.metadata import format_time
from kapy.apiserver.store.watch_cache import WriteEvent
from kapy.apiserver.verbs.context import ServerContext
from kapy.apiserver.verbs.delete import stage_deletion
from kapy.apiserver.verbs.direct_writes import create_object, delete_object, update_object
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError
from kapy.kube.generated_names import suffix

APPS: Final = ("deployments.apps", "replicasets.apps", "daemonsets.apps", "statefulsets.apps")
JOBS: Final = "jobs.batch"
TABLES: Final = frozenset((*APPS, JOBS, "pods", "nodes"))
MOST_STEPS: Final = 100
"""The most Pods to create in one run, so that other tasks of the process get their turn."""
MOST_LOOKS: Final = 200
"""The most Deployments and other workload objects to reconcile in one run."""
MOST_PODS: Final = 2_000
"""The most Pods of one server; further objects wait as if no Node had room."""

_log = logging.getLogger(__name__)


Reconcile: TypeAlias = "Callable[[Workloads, Document], None]"
"""One reconcile of an object."""


class Workloads:
    """The workload objects of one server, and a flag that one of them needs a reconcile.

    reconcilers: the reconcilers by table. next_reconcile: the next time at which a reconcile is due
    without a write (the deadline of a rollout), None if there is none.
    """

    __slots__ = (
        "_budget",
        "_left",
        "_owned",
        "_reconcilers",
        "_room",
        "context",
        "is_dirty",
        "is_used",
        "next_reconcile",
    )

    what = "this server"
    """The name of the server in log messages."""

    def __init__(self, context: ServerContext, reconcilers: Mapping[str, Reconcile]) -> None:
        self.context = context
        self._reconcilers = reconcilers
        self.is_used = False
        self.is_dirty = False
        self._budget = 0
        self._room = 0
        self._left: list[tuple[str, Key]] = []
        self.next_reconcile: datetime | None = None
        self._owned: dict[tuple[str, str], dict[Key, Document]] = {}

    def start(self) -> None:
        """Start to reconcile the existing objects."""
        self.is_used = self.is_dirty = True

    def on_write(self, event: WriteEvent) -> bool:
        """Record a write to one of TABLES; return whether a reconcile is needed."""
        if not self.is_used:
            made_by_somebody = event.change == "ADDED" and event.table not in ("pods", "nodes")
            if not made_by_somebody or not event.document["metadata"].get("managedFields"):
                return False
            self.is_used = True
        self.is_dirty = True
        return True

    def reconcile(self) -> None:
        """Do part of the pending work; `is_dirty` reports whether more is left."""
        self.is_dirty = False
        self.next_reconcile = None
        self._budget = MOST_STEPS
        pods = list(self.all("pods"))
        self._room = MOST_PODS - len(pods)
        self._index("pods", pods)
        self._index("replicasets.apps", self.all("replicasets.apps"))
        self.update_pods(pods)
        if not self._left:
            self._left = [
                (table, Key.of(item)) for table in (*APPS, JOBS) for item in self.all(table)
            ]
        now, self._left = self._left[:MOST_LOOKS], self._left[MOST_LOOKS:]
        for table, key in now:
            document = self.context.table(self._kind(table)).latest(key.namespace, key.name)
            if document is not None and self._is_managed(document):
                self._reconcile_one(self._reconcilers[table], document)
        self.is_dirty = self.is_dirty or bool(self._left)
        self._schedule()
        self._owned.clear()

    def update_pods(self, pods: Iterable[Document]) -> None:
        """Update Pods on Nodes. Simulated kubelets override this; it does nothing here."""

    def is_excluded(self, document: Document) -> bool:
        """Report whether another controller manages an object."""
        del document
        return False

    def is_schedulable(self, pod: Document) -> bool:
        """Report whether a Pod waits for a Node."""
        waits = not (pod.get("spec") or {}).get("nodeName") and is_active(pod)
        return waits and not self.is_excluded(pod)

    def count_available(self, pods: Iterable[Document], owner: Document) -> int:
        """Return the number of Pods that have been ready for their owner's `minReadySeconds`."""
        ready = [item for item in pods if is_ready(item)]
        seconds = owner["spec"].get("minReadySeconds") or 0
        if not seconds:
            return len(ready)
        now, result = self.context.clock(), 0
        for pod in ready:
            end = (ready_since(pod) or now) + timedelta(seconds=seconds)
            if end <= now:
                result += 1
            else:
                self.requeue_at(end)
        return result

    def requeue_at(self, moment: datetime) -> None:
        """Schedule a reconcile at this time, even without a write."""
        if self.next_reconcile is None or moment < self.next_reconcile:
            self.next_reconcile = moment

    def _is_managed(self, document: Document) -> bool:
        return "deletionTimestamp" not in document["metadata"] and not self.is_excluded(document)

    def _reconcile_one(self, reconcile: Reconcile, document: Document) -> None:
        try:
            reconcile(self, document)
        except (KeyError, TypeError, ValueError, AttributeError, KapyError) as error:
            # The object lacks what its controller needs, and nothing else reports that.
            what = f"{document['kind']} {Key.of(document)}"
            _log.warning("%s of %s gets no Pods: %r", what, self.what, error)

    def all(self, table: str, namespace: str = "") -> Iterator[Document]:
        """Yield the objects of a table, including staged writes."""
        result = self.context.store.peek(table)
        if result is None:
            return
        for item in list(result.scan(namespace)):
            metadata = item["metadata"]
            last = result.latest(metadata.get("namespace", ""), metadata["name"])
            if last is not None:
                yield last

    def latest(self, table: str, document: Document) -> Document | None:
        """Return the latest state of an object, including staged writes."""
        metadata = document["metadata"]
        result = self.context.table(self._kind(table))
        return result.latest(metadata.get("namespace", ""), metadata["name"])

    def controlled_objects(self, table: str, owner: Document) -> list[Document]:
        """Return the objects of a table that an object controls, oldest first."""
        result = self._owned.get((table, owner["metadata"]["uid"]), {})
        return sorted(result.values(), key=lambda value: value["metadata"]["creationTimestamp"])

    def _index(self, table: str, documents: Iterable[Document]) -> None:
        for document in documents:
            owner = controller_of(document)
            if owner:
                self._owned.setdefault((table, owner), {})[Key.of(document)] = document

    def create(self, table: str, owner: Document, document: Document) -> Document | None:
        """Create an object controlled by another one; return None if it must wait."""
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
        if self.context.table(kind).latest(namespace, name) is not None:
            return None  # owned by another object, or still being deleted
        resource = kind.resource
        create_object(
            self.context,
            kind,
            namespace,
            # Defaulting changes the object, but the template belongs to the owner.
            deepcopy(
                {
                    "apiVersion": resource.api_version,
                    "kind": resource.kind,
                    **document,
                    "metadata": metadata,
                }
            ),
        )
        stored = self.context.table(kind).latest(namespace, name)
        self._index(table, [] if stored is None else [stored])
        return stored

    def create_unowned(self, table: str, namespace: str, document: Document) -> None:
        """Create an object without a controller."""
        kind = self._kind(table)
        resource = kind.resource
        whole = {"apiVersion": resource.api_version, "kind": resource.kind, **document}
        create_object(self.context, kind, namespace, whole)

    def write(self, table: str, before: Document, **parts: Any) -> None:
        """Write parts of an object (`spec`, `status`, `metadata`) if they differ."""
        if all(before.get(name) == value for name, value in parts.items()):
            return
        after = {**before, **parts}
        if "spec" in parts:
            generation = before["metadata"].get("generation", 1) + 1
            after["metadata"] = {**after["metadata"], "generation": generation}
        subresource = "status" if parts.keys() == {"status"} else ""
        update_object(self.context, self._kind(table), before, after, subresource)
        stored = self.latest(table, before)
        self._index(table, [] if stored is None else [stored])

    def delete(self, table: str, document: Document) -> None:
        """Delete an object; finalizers and a Pod's kubelet may delay this."""
        metadata = document["metadata"]
        if table == "pods" and self.context.has_kubelets:
            if "deletionTimestamp" not in metadata:
                stage_deletion(self.context, self._kind(table), document)
                stored = self.latest(table, document)
                self._index(table, [] if stored is None else [stored])
        elif not metadata.get("finalizers"):
            delete_object(self.context, self._kind(table), document)
            self._owned.get((table, controller_of(document)), {}).pop(Key.of(document), None)
        elif "deletionTimestamp" not in metadata:
            going = {"deletionTimestamp": self.now(), "deletionGracePeriodSeconds": 0}
            self.write(table, document, metadata={**metadata, **going})

    def add_pod(
        self, owner: Document, template: Document, name: str, **labels: str
    ) -> Document | None:
        """Create a Pod from a template; it is not scheduled yet."""
        template_metadata = template.get("metadata") or {}
        metadata = {
            key: template_metadata[key] for key in _TAKEN_OVER if template_metadata.get(key)
        }
        metadata |= {"name": name, "labels": {**(template_metadata.get("labels") or {}), **labels}}
        return self.create("pods", owner, {"metadata": metadata, "spec": {**template["spec"]}})

    def bind(self, pod: Document, node: str) -> None:
        """Bind a Pod to a Node.

        A Pod without a ServiceAccount gets the default one of its namespace, as from
        kube-apiserver's admission plug-in, because the kubelet requests a token of it.
        """
        spec = pod["spec"]
        account = spec.get("serviceAccountName") or "default"
        named = {"serviceAccountName": account, "serviceAccount": account, "nodeName": node}
        self.write("pods", pod, spec={**spec, **named})

    def random_name(self, prefix: str) -> str:
        """Return a generated name like that of the API server."""
        return f"{prefix}-{suffix(prefix, self.context.rng.random())}"

    def now(self) -> str:
        return format_time(self.context.clock())

    def _schedule(self) -> None:
        """Bind pending Pods to Nodes."""
        pods = list(self.all("pods"))
        waiting = [item for item in pods if self.is_schedulable(item)]
        if not waiting:
            return
        room = NodeSnapshot(list(self.all("nodes")), pods)
        refused: dict[str, str] = {}
        for pod in waiting:
            # The Pods of an owner are alike: if one does not fit, none does.
            owner = controller_of(pod) or pod["metadata"]["uid"]
            node, why = ("", refused[owner]) if owner in refused else room.choose_node(pod)
            if node:
                self.bind(pod, node)
            else:
                refused[owner] = why
                self._record_unschedulable(pod, why)

    def _record_unschedulable(self, pod: Document, why: str) -> None:
        """Record in a Pod's status and in an Event that no Node fits."""
        status = unschedulable_status(pod, why, self.now())
        if status == pod.get("status"):
            return
        self.write("pods", pod, status=status)
        event = failed_scheduling_event(pod, why, self.now())
        if self.latest("events", event) is None:
            create_object(self.context, self._kind("events"), pod["metadata"]["namespace"], event)

    def _kind(self, table: str) -> Kind:
        kind = self.context.registry.in_table(table)
        assert kind is not None
        return kind


_TAKEN_OVER: Final = ("annotations", "finalizers")


def is_active(pod: Document) -> bool:
    """Report whether a Pod has neither ended nor is being deleted."""
    phase = (pod.get("status") or {}).get("phase")
    return "deletionTimestamp" not in pod["metadata"] and phase not in ("Succeeded", "Failed")


def controller_of(document: Document) -> str:
    """Return the uid of an object's controller, "" if it has none."""
    owners = document["metadata"].get("ownerReferences") or ()
    return next((owner["uid"] for owner in owners if owner.get("controller")), "")
