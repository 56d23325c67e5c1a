"""The interface of rules: their input, and their reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kapy.apiserver.store.watch_cache import WriteEvent
from kapy.clusterctl.move.removal import DELETE_FOR_MOVE
from kapy.kube import Document, Key
from kapy.providers.inmemory.workload.cluster import WorkloadCluster
from kapy.testing.simulation.backups import Loss
from kapy.testing.simulation.user import NAMESPACE, View
from kapy.testing.simulation.world import World


@dataclass(frozen=True, slots=True)
class Violation:
    """A violation of a rule in a run. time: the seconds since the start of the run."""

    rule: str
    text: str
    time: float = 0.0

    def __str__(self) -> str:
        return f"{self.rule}: {self.text}"


@dataclass(frozen=True, slots=True)
class Write:
    """One write that the API server stored. new: the object after it, None after a deletion. old:
    the object before it, None for a new object.
    """

    kind: str
    name: str
    event: WriteEvent
    new: Document | None
    old: Document | None

    @property
    def document(self) -> Document:
        """Return the object after the write or, after a deletion, its last state."""
        document = self.new if self.new is not None else self.old
        assert document is not None
        return document

    @property
    def is_new(self) -> bool:
        """Return whether the object was created."""
        return self.old is None

    @property
    def is_removed_by_move(self) -> bool:
        """Return whether a move removes the object, which exists elsewhere now."""
        return DELETE_FOR_MOVE in (self.document["metadata"].get("annotations") or {})

    @property
    def begins_deletion(self) -> bool:
        """Return whether the deletion of the object was requested by this write.

        A move removes objects without it.
        """
        if self.is_removed_by_move:
            return False
        if self.old is None or is_deleting(self.old):
            return False
        return self.new is None or is_deleting(self.new)


class RuleContext:
    """The input of a rule. memory: state that rules keep between checks, under their own keys.
    lost_machines: the names of the machines whose objects a restore has lost."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.view = View(world)
        self.memory: dict[object, object] = {}
        self.lost_machines: set[str] = set()

    def forget(self, loss: Loss) -> None:
        """Forget the state about objects that a restore has lost."""
        for document in loss.objects:
            name = document["metadata"]["name"]
            if document["kind"] == self.world.resources["DevMachine"].kind:
                self.lost_machines.add(name)
            for slot in [key for key in self.memory if isinstance(key, tuple) and name in key]:
                del self.memory[slot]

    def owner(self, document: Document, kind: str) -> Document | None:
        """Return the existing owner of a kind, or of the kind that takes its place."""
        name = self.world.resources[kind].kind
        for reference in document["metadata"].get("ownerReferences") or ():
            if reference["kind"] == name:
                owner = self.view.get(kind, reference["name"])
                if owner is not None and owner["metadata"]["uid"] == reference["uid"]:
                    return owner
        return None

    def is_by_user(self, write: Write) -> bool:
        """Return whether the user has just patched or deleted the object."""
        title, now = f"{write.kind}/{write.name}", self.world.now()
        return any(
            step["what"] == "user" and step.get("object") == title and step["time"] > now - 1.0
            for step in self.world.trace.steps
        )

    def workload_of(self, document: Document) -> WorkloadCluster | None:
        """Return the workload cluster of an object, None if the cluster does not run."""
        return self.world.cloud.get(Key(NAMESPACE, cluster_name_of(document)))

    def owned(self, kind: str, owner: Document) -> list[Document]:
        """Return the objects of a kind with an owner."""
        uid = owner["metadata"]["uid"]
        return [
            document
            for document in self.view.all(kind)
            if any(ref["uid"] == uid for ref in document["metadata"].get("ownerReferences") or ())
        ]


Check = Callable[[RuleContext, Write], Iterable[str]]
"""Checks one write; yields violations."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that every simulated run must keep. name: its name in reports and tables. text: the
    rule as a sentence. check: checks a write. final: checks the end of a run.
    """

    name: str
    text: str
    check: Check | None = None
    final: Callable[[RuleContext], Iterable[str]] | None = None


def is_deleting(document: Document) -> bool:
    """Return whether the deletion of an object was requested."""
    return bool(document["metadata"].get("deletionTimestamp"))


def replicas_of(document: Document) -> int:
    """Return the desired replicas of an object."""
    replicas = document["spec"].get("replicas")
    return 1 if replicas is None else int(replicas)


def cluster_name_of(document: Document) -> str:
    """Return the name of the Cluster of an object, "" for none."""
    labels = document["metadata"].get("labels") or {}
    return str(labels.get("cluster.x-k8s.io/cluster-name", ""))
