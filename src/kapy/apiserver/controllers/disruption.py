"""The status of PodDisruptionBudgets: how many pods may be evicted now.

This is kube-controller-manager's disruption controller. It updates a budget in the same transaction
as the change that affects it.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.resources.metadata import format_time
from kapy.apiserver.resources.scale import scale_of
from kapy.apiserver.store.watch_cache import WriteEvent
from kapy.apiserver.verbs.context import ServerContext
from kapy.apiserver.verbs.direct_writes import is_latest, update_object
from kapy.apiserver.verbs.eviction import (
    BUDGETS,
    is_ready,
    matching_budgets,
    selects,
    with_computed_condition,
    with_condition,
)
from kapy.kube import Document
from kapy.kube.errors import ApiError, KapyError
from kapy.kube.int_or_percent import InvalidIntOrPercent, scaled_value
from kapy.kube.names import split_api_version

PODS: Final = "pods"


class UnknownReplicas(KapyError):
    """The expected number of pods cannot be determined; the message gives the reason."""


class _Count(NamedTuple):
    expected: int
    wanted: int


class DisruptionController:
    """Update all budgets of a server when budgets or pods change."""

    def __init__(self, server: ServerContext) -> None:
        self._server = server
        server.store.listeners.append(self._on_write)
        table = server.store.peek(BUDGETS)
        for budget in [] if table is None else list(table.scan("")):
            self._update_status(budget)

    def _on_write(self, event: WriteEvent) -> None:
        if event.table == BUDGETS:
            if event.change != "DELETED":
                self._update_status(event.document)
        elif event.table == PODS:
            for budget in matching_budgets(
                self._server, event.namespace, event.document, event.previous
            ):
                self._update_status(budget)

    def _update_status(self, budget: Document) -> None:
        kind = self._server.registry.find("policy", "v1", "poddisruptionbudgets")
        assert kind is not None
        if not is_latest(self._server, kind, budget):
            return
        status = self._status(budget)
        if status != budget.get("status"):
            update_object(self._server, kind, budget, {**budget, "status": status}, "status")

    def _status(self, budget: Document) -> Document:
        before, meta = budget.get("status") or {}, budget["metadata"]
        now = format_time(self._server.clock())
        pods = [pod for pod in self._pods(meta["namespace"]) if selects(budget, pod)]
        try:
            expected, wanted = self._count(budget.get("spec") or {}, pods)
        except (UnknownReplicas, ApiError) as error:
            blocked = {**before, "disruptionsAllowed": 0}
            return with_condition(blocked, now, "False", "SyncFailed", str(error))
        disrupted = _disrupted_pods(before, pods)
        healthy = sum(_is_healthy(pod, disrupted) for pod in pods)
        status = {
            "observedGeneration": meta.get("generation", 0),
            **({"disruptedPods": disrupted} if disrupted else {}),
            "disruptionsAllowed": max(healthy - wanted, 0) if expected > 0 else 0,
            "currentHealthy": healthy,
            "desiredHealthy": wanted,
            "expectedPods": expected,
            **({"conditions": before["conditions"]} if before.get("conditions") else {}),
        }
        return with_computed_condition(status, now)

    def _pods(self, namespace: str) -> list[Document]:
        table = self._server.store.peek(PODS)
        return [] if table is None else list(table.scan(namespace))

    def _count(self, spec: Document, pods: list[Document]) -> _Count:
        """Return the expected and the required number of pods. Raises UnknownReplicas."""
        most, least = spec.get("maxUnavailable"), spec.get("minAvailable")
        if most is not None:
            expected = self._total_replicas(pods)
            return _Count(expected, max(expected - _resolve_percentage(most, expected), 0))
        if isinstance(least, str):
            expected = self._total_replicas(pods)
            return _Count(expected, _resolve_percentage(least, expected))
        return _Count(len(pods) if least is not None else 0, least or 0)

    def _total_replicas(self, pods: list[Document]) -> int:
        """Return the total replicas of these pods' controllers; pods without one do not count."""
        result: dict[str, int] = {}
        for pod in pods:
            owner = _controller_reference(pod)
            if owner is not None and owner["uid"] not in result:
                uid, replicas = self._replicas(pod, owner)
                result[uid] = replicas
        return sum(result.values())

    def _replicas(self, pod: Document, owner: Document) -> tuple[str, int]:
        """Return the uid and the replicas of a pod's controller. Raises UnknownReplicas."""
        namespace = pod["metadata"]["namespace"]
        kind, document = self._owner(namespace, owner)
        if kind is None or document is None or not _has_scale(kind):
            raise UnknownReplicas(f'found no controllers for pod "{pod["metadata"]["name"]}"')
        above = _controller_reference(document) if kind.resource.kind == "ReplicaSet" else None
        if above is not None:
            other, deployment = self._owner(namespace, above)
            if other is not None and deployment is not None and _has_scale(other):
                kind, document = other, deployment
        scale = scale_of(kind, document)
        return document["metadata"]["uid"], scale["spec"].get("replicas", 0)

    def _owner(self, namespace: str, owner: Document) -> tuple[Kind | None, Document | None]:
        group, version = split_api_version(owner["apiVersion"])
        kind = self._server.registry.find_kind(group, version, owner["kind"])
        if kind is None:
            return None, None
        result = self._server.table(kind).latest(
            namespace if kind.namespaced else "", owner["name"]
        )
        same = result is not None and result["metadata"]["uid"] == owner["uid"]
        return kind, result if same else None


def _has_scale(kind: Kind) -> bool:
    return "scale" in kind.subresources


def _controller_reference(document: Document) -> Document | None:
    owners = document["metadata"].get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), None)


def _disrupted_pods(before: Document, pods: list[Document]) -> Document:
    """Return the pods with an allowed eviction that are not being deleted yet."""
    there = {
        pod["metadata"]["name"] for pod in pods if not pod["metadata"].get("deletionTimestamp")
    }
    noted = before.get("disruptedPods") or {}
    return {name: moment for name, moment in noted.items() if name in there}


def _is_healthy(pod: Document, disrupted: Document) -> bool:
    meta = pod["metadata"]
    return not meta.get("deletionTimestamp") and meta["name"] not in disrupted and is_ready(pod)


def _resolve_percentage(value: Any, whole: int) -> int:
    """Return a number, or a percentage of the whole, rounded up. Raises UnknownReplicas."""
    try:
        return scaled_value(value, whole, round_up=True)
    except InvalidIntOrPercent:
        raise UnknownReplicas(f'"{value}" is neither a number nor a percentage') from None
