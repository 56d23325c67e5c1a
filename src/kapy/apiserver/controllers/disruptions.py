"""The status of PodDisruptionBudgets: how many pods may be evicted now.

This is kube-controller-manager's disruption controller. It updates a budget in the same transaction
as the change that affects it.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from kapy.apiserver.controllers.writing import changed, is_latest
from kapy.apiserver.metadata import stamp
from kapy.apiserver.plane import Plane
from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.store.history import Happening
from kapy.apiserver.verbs.budgets import (
    BUDGETS,
    budgets_of,
    is_ready,
    selects,
    with_condition,
    with_judgement,
)
from kapy.apiserver.verbs.scaling import scale_seen
from kapy.kube import Document
from kapy.kube.errors import ApiError, KapyError
from kapy.kube.names import split_api_version

PODS: Final = "pods"


class CannotCount(KapyError):
    """The expected number of pods cannot be determined; the message gives the reason."""


class _Count(NamedTuple):
    expected: int
    wanted: int


class Disruptions:
    """Update all budgets of a server when budgets or pods change."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        plane.store.listeners.append(self._noticed)
        table = plane.store.peek(BUDGETS)
        for budget in [] if table is None else list(table.scan("")):
            self._recount(budget)

    def _noticed(self, one: Happening) -> None:
        if one.table == BUDGETS:
            if one.change != "DELETED":
                self._recount(one.document)
        elif one.table == PODS:
            for budget in budgets_of(self._plane, one.namespace, one.document, one.previous):
                self._recount(budget)

    def _recount(self, budget: Document) -> None:
        kind = self._plane.registry.find("policy", "v1", "poddisruptionbudgets")
        assert kind is not None
        if not is_latest(self._plane, kind, budget):
            return
        status = self._status(budget)
        if status != budget.get("status"):
            changed(self._plane, kind, budget, {**budget, "status": status}, "status")

    def _status(self, budget: Document) -> Document:
        before, meta = budget.get("status") or {}, budget["metadata"]
        now = stamp(self._plane.clock())
        pods = [one for one in self._pods(meta["namespace"]) if selects(budget, one)]
        try:
            expected, wanted = self._count(budget.get("spec") or {}, pods)
        except (CannotCount, ApiError) as error:
            blocked = {**before, "disruptionsAllowed": 0}
            return with_condition(blocked, now, "False", "SyncFailed", str(error))
        disrupted = _disrupted(before, pods)
        healthy = sum(_counts(one, disrupted) for one in pods)
        status = {
            "observedGeneration": meta.get("generation", 0),
            **({"disruptedPods": disrupted} if disrupted else {}),
            "disruptionsAllowed": max(healthy - wanted, 0) if expected > 0 else 0,
            "currentHealthy": healthy,
            "desiredHealthy": wanted,
            "expectedPods": expected,
            **({"conditions": before["conditions"]} if before.get("conditions") else {}),
        }
        return with_judgement(status, now)

    def _pods(self, namespace: str) -> list[Document]:
        table = self._plane.store.peek(PODS)
        return [] if table is None else list(table.scan(namespace))

    def _count(self, spec: Document, pods: list[Document]) -> _Count:
        """Return the expected and the required number of pods. Raises CannotCount."""
        most, least = spec.get("maxUnavailable"), spec.get("minAvailable")
        if most is not None:
            expected = self._scale(pods)
            return _Count(expected, max(expected - _share(most, expected), 0))
        if isinstance(least, str):
            expected = self._scale(pods)
            return _Count(expected, _share(least, expected))
        return _Count(len(pods) if least is not None else 0, least or 0)

    def _scale(self, pods: list[Document]) -> int:
        """Return the total replicas of these pods' controllers; pods without one do not count."""
        found: dict[str, int] = {}
        for pod in pods:
            owner = _controller(pod)
            if owner is not None and owner["uid"] not in found:
                uid, replicas = self._replicas(pod, owner)
                found[uid] = replicas
        return sum(found.values())

    def _replicas(self, pod: Document, owner: Document) -> tuple[str, int]:
        """Return the uid and the replicas of a pod's controller. Raises CannotCount."""
        namespace = pod["metadata"]["namespace"]
        kind, document = self._owner(namespace, owner)
        if kind is None or document is None or not _scales(kind):
            raise CannotCount(f'found no controllers for pod "{pod["metadata"]["name"]}"')
        above = _controller(document) if kind.resource.kind == "ReplicaSet" else None
        if above is not None:
            other, deployment = self._owner(namespace, above)
            if other is not None and deployment is not None and _scales(other):
                kind, document = other, deployment
        scale = scale_seen(kind, document)
        return document["metadata"]["uid"], scale["spec"].get("replicas", 0)

    def _owner(self, namespace: str, owner: Document) -> tuple[Kind | None, Document | None]:
        group, version = split_api_version(owner["apiVersion"])
        kind = self._plane.registry.of_kind(group, version, owner["kind"])
        if kind is None:
            return None, None
        found = self._plane.table(kind).latest(namespace if kind.namespaced else "", owner["name"])
        same = found is not None and found["metadata"]["uid"] == owner["uid"]
        return kind, found if same else None


def _scales(kind: Kind) -> bool:
    return "scale" in kind.subresources


def _controller(document: Document) -> Document | None:
    owners = document["metadata"].get("ownerReferences") or ()
    return next((one for one in owners if one.get("controller")), None)


def _disrupted(before: Document, pods: list[Document]) -> Document:
    """Return the pods with an allowed eviction that are not being deleted yet."""
    there = {
        one["metadata"]["name"] for one in pods if not one["metadata"].get("deletionTimestamp")
    }
    noted = before.get("disruptedPods") or {}
    return {name: moment for name, moment in noted.items() if name in there}


def _counts(pod: Document, disrupted: Document) -> bool:
    meta = pod["metadata"]
    return not meta.get("deletionTimestamp") and meta["name"] not in disrupted and is_ready(pod)


def _share(value: Any, whole: int) -> int:
    """Return a number, or a percentage of the whole, rounded up. Raises CannotCount."""
    if isinstance(value, int):
        return value
    digits = str(value).removesuffix("%")
    if not digits.isdecimal() or digits == value:
        raise CannotCount(f'"{value}" is neither a number nor a percentage')
    return -(-int(digits) * whole // 100)
