"""One reconcile of a Deployment: the rollout of its ReplicaSets, and its status."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from kapy.apiserver.controllers.workloads.pod_conditions import not_ready_reason
from kapy.apiserver.controllers.workloads.statuses import hash_of, set_conditions, without_zeros
from kapy.apiserver.controllers.workloads.workloads import Workloads, is_active
from kapy.kube import Document
from kapy.kube.digits import parse_integer
from kapy.kube.int_or_percent import WHOLE_NUMBER, InvalidIntOrPercent, scaled_value

HASH: Final = "pod-template-hash"
REVISION: Final = "deployment.kubernetes.io/revision"
KEPT_SETS: Final = 10
DEADLINE: Final = 600
"""The default progressDeadlineSeconds of a Deployment."""


def reconcile_deployment(here: Workloads, document: Document) -> None:
    """Scale the newest ReplicaSet up and the old ones down as new Pods become ready."""
    spec = document["spec"]
    wanted, template = spec.get("replicas", 1), spec["template"]
    sets = here.controlled_objects("replicasets.apps", document)
    digest = hash_of(template)
    new = next(
        (
            machine_set
            for machine_set in sets
            if machine_set["metadata"]["labels"].get(HASH) == digest
        ),
        None,
    )
    old = [machine_set for machine_set in sets if machine_set is not new]
    if spec.get("paused") and new is None:
        _scale(here, old[-1:], wanted)
    else:
        _roll_out(here, document, new, old)
    sets = here.controlled_objects("replicasets.apps", document)
    number = _last_revision(sets)
    notes = {**(document["metadata"].get("annotations") or {}), REVISION: str(max(number, 1))}
    latest = {**document, "metadata": {**document["metadata"], "annotations": notes}}
    if latest != document:
        here.write("deployments.apps", document, metadata=latest["metadata"])
        document = here.latest("deployments.apps", document) or document
    here.write(
        "deployments.apps", document, status=_deployment_status(here, document, sets, digest)
    )


def _roll_out(
    here: Workloads, document: Document, new: Document | None, old: Sequence[Document]
) -> None:
    """Scale the newest ReplicaSet up and the old ones down."""
    spec = document["spec"]
    wanted = spec.get("replicas", 1)
    sets = [*old, *([new] if new is not None else ())]
    first_down = _scales_down_first(document)
    if (spec.get("strategy") or {}).get("type") == "Recreate":
        _scale(here, old, 0)
    grown = wanted
    if first_down:
        grown = max(
            wanted - sum(len(here.controlled_objects("pods", element)) for element in old), 0
        )
    if new is None:
        number = _last_revision(sets) + 1
        new = _create_replica_set(here, document, hash_of(spec["template"]), grown, number=number)
    else:
        grown = max(grown, min(new["spec"].get("replicas", 0), wanted))
        new = _update_min_ready_seconds(here, _update_revision(here, new, sets), spec)
        _scale(here, [new], grown)
    ready = 0 if new is None else (new.get("status") or {}).get("availableReplicas", 0)
    surplus = max(
        wanted - ready - (_resolve_max_unavailable(document, wanted) if first_down else 0), 0
    )
    for item in reversed(old):
        keeps = min(item["spec"].get("replicas", 0), surplus)
        _scale(here, [item], keeps)
        surplus -= keeps
    _clean_up_history(here, old, spec.get("revisionHistoryLimit", KEPT_SETS))


def _scales_down_first(document: Document) -> bool:
    """Report whether old Pods must end before new ones start (`Recreate`, or no surge)."""
    strategy = document["spec"].get("strategy") or {}
    surge = (strategy.get("rollingUpdate") or {}).get("maxSurge")
    return bool(strategy.get("type") == "Recreate" or surge in (0, "0%"))


def _create_replica_set(
    here: Workloads, document: Document, digest: str, replicas: int, *, number: int
) -> Document | None:
    spec, template = document["spec"], document["spec"]["template"]
    meta = template.get("metadata") or {}
    labels = {**(meta.get("labels") or {}), HASH: digest}
    selector = spec["selector"]
    own = {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), HASH: digest}}
    return here.create(
        "replicasets.apps",
        document,
        {
            "metadata": {
                "name": f"{document['metadata']['name']}-{digest}",
                "labels": labels,
                "annotations": {REVISION: str(number)},
            },
            "spec": {
                "replicas": replicas,
                **without_zeros(minReadySeconds=spec.get("minReadySeconds") or 0),
                "selector": own,
                "template": {**template, "metadata": {**meta, "labels": labels}},
            },
        },
    )


def _update_revision(here: Workloads, new: Document, sets: Sequence[Document]) -> Document:
    """Give the newest ReplicaSet the highest revision, also when an old one is used again."""
    notes = new["metadata"].get("annotations") or {}
    highest = _last_revision([machine_set for machine_set in sets if machine_set is not new])
    if _last_revision([new]) > highest:
        return new
    metadata = {**new["metadata"], "annotations": {**notes, REVISION: str(highest + 1)}}
    here.write("replicasets.apps", new, metadata=metadata)
    return here.latest("replicasets.apps", new) or new


def _update_min_ready_seconds(here: Workloads, new: Document, spec: Document) -> Document:
    """Set `minReadySeconds` of the Deployment in its newest ReplicaSet."""
    seconds = spec.get("minReadySeconds") or 0
    if (new["spec"].get("minReadySeconds") or 0) == seconds:
        return new
    here.write("replicasets.apps", new, spec={**new["spec"], "minReadySeconds": seconds})
    return here.latest("replicasets.apps", new) or new


def _last_revision(sets: Sequence[Document]) -> int:
    numbers = [
        (machine_set["metadata"].get("annotations") or {}).get(REVISION, "0")
        for machine_set in sets
    ]
    return max(
        (parse_integer(number) for number in numbers if WHOLE_NUMBER.fullmatch(number)), default=0
    )


def _scale(here: Workloads, sets: Sequence[Document], replicas: int) -> None:
    for machine_set in sets:
        if machine_set["spec"].get("replicas") != replicas:
            here.write(
                "replicasets.apps", machine_set, spec={**machine_set["spec"], "replicas": replicas}
            )


def _clean_up_history(here: Workloads, old: Sequence[Document], limit: int) -> None:
    """Delete the oldest ReplicaSets without Pods, beyond the history limit."""
    empty = [
        element
        for element in old
        if not element["spec"].get("replicas") and not (element.get("status") or {}).get("replicas")
    ]
    for item in empty[: max(len(empty) - limit, 0)]:
        here.delete("replicasets.apps", item)


def _deployment_status(
    here: Workloads, document: Document, sets: Sequence[Document], digest: str
) -> Document:
    wanted = document["spec"].get("replicas", 1)
    total = _sum(sets, "replicas")
    ready = _sum(sets, "readyReplicas")
    updated = _sum(
        [
            machine_set
            for machine_set in sets
            if machine_set["metadata"]["labels"].get(HASH) == digest
        ],
        "replicas",
    )
    available_now = _sum(sets, "availableReplicas")
    before = document.get("status") or {}
    available = available_now >= wanted - _max_unavailable(document, wanted)
    counts = {
        **without_zeros(replicas=total, updatedReplicas=updated, readyReplicas=ready),
        **without_zeros(availableReplicas=available_now),
        **without_zeros(unavailableReplicas=max(wanted - available_now, 0)),
    }
    return {
        "observedGeneration": document["metadata"].get("generation", 1),
        **counts,
        "conditions": set_conditions(
            here,
            before,
            Available=(available, "MinimumReplicas" + ("Available" if available else "Unavailable"),
                       _availability(here, sets, available=available)),
            Progressing=_progress(
                here, document, f"{document['metadata']['name']}-{digest}", counts,
                complete=updated == total == wanted == available_now,
            ),
        ),
    }  # fmt: skip


def _availability(here: Workloads, sets: Sequence[Document], *, available: bool) -> str:
    """Return the message of `Available`, with the reason why the first unready Pod is not ready."""
    if available:
        return "Deployment has minimum availability."
    pods = (
        pod
        for machine_set in reversed(sets)
        for pod in here.controlled_objects("pods", machine_set)
        if is_active(pod)
    )
    why = next(filter(None, map(not_ready_reason, pods)), "")
    return "Deployment does not have minimum availability." + (f" {why}" if why else "")


def _progress(
    here: Workloads, document: Document, name: str, counts: Document, *, complete: bool
) -> tuple[bool, str, str]:
    """Return status, reason and message of the condition Progressing.

    A rollout that was complete gets no new deadline.
    """
    done = True, "NewReplicaSetAvailable", f'ReplicaSet "{name}" has successfully progressed.'
    if complete:
        return done
    before, spec = document.get("status") or {}, document["spec"]
    old_condition: Document = next(
        (
            condition
            for condition in before.get("conditions") or ()
            if condition["type"] == "Progressing"
        ),
        {},
    )
    same = before.get("observedGeneration") == document["metadata"].get("generation", 1)
    if same and (old_condition.get("reason"), old_condition.get("message")) == done[1:]:
        return done
    moving = True, "ReplicaSetUpdated", f'ReplicaSet "{name}" is progressing.'
    if not same or spec.get("paused") or any(before.get(key) != counts[key] for key in counts):
        return moving
    since = old_condition.get("lastUpdateTime")
    deadline = timedelta(seconds=spec.get("progressDeadlineSeconds") or DEADLINE)
    end = (here.context.clock() if since is None else datetime.fromisoformat(since)) + deadline
    if old_condition.get("status") != "False" and here.context.clock() < end:
        here.requeue_at(end)
        return moving
    late = f'ReplicaSet "{name}" has timed out progressing.'
    return False, "ProgressDeadlineExceeded", late


def _max_unavailable(document: Document, wanted: int) -> int:
    """Return the number of Pods that an available Deployment may lack.

    It is 0 for `Recreate`, as kube-controller-manager counts it.
    """
    strategy = document["spec"].get("strategy") or {}
    return 0 if strategy.get("type") == "Recreate" else _resolve_max_unavailable(document, wanted)


def _resolve_max_unavailable(document: Document, wanted: int) -> int:
    """Return the number of Pods that may be unavailable: `maxUnavailable`, rounded down."""
    strategy = document["spec"].get("strategy") or {}
    if strategy.get("type") == "Recreate":
        return wanted
    value = (strategy.get("rollingUpdate") or {}).get("maxUnavailable", "25%")
    try:
        return scaled_value(value, wanted, round_up=False)
    except InvalidIntOrPercent:
        return 0


def _sum(documents: Sequence[Document], name: str) -> int:
    return sum((document.get("status") or {}).get(name, 0) for document in documents)
