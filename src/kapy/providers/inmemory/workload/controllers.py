"""One look at a Deployment, ReplicaSet, DaemonSet, StatefulSet or Job: what its controller does."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.digits import whole
from kapy.kube.generated_names import suffix
from kapy.kube.shares import WHOLE_NUMBER
from kapy.providers.inmemory.workload.deployed import JOBS, Deployed, is_active
from kapy.providers.inmemory.workload.scheduling import accepts

HASH: Final = "pod-template-hash"
REVISION_HASH: Final = "controller-revision-hash"
REVISION: Final = "deployment.kubernetes.io/revision"
KEPT_SETS: Final = 10


def hash_of(template: Document) -> str:
    """Characters that differ where templates do."""
    return suffix(json.dumps(template, sort_keys=True), length=10)


def deployment(here: Deployed, document: Document) -> None:
    """Its newest ReplicaSet grows as the old ones shrink: no faster than new Pods are ready."""
    spec = document["spec"]
    wanted, template = spec.get("replicas", 1), spec["template"]
    sets = here.owned("replicasets.apps", document)
    digest = hash_of(template)
    new = next((one for one in sets if one["metadata"]["labels"].get(HASH) == digest), None)
    old = [one for one in sets if one is not new]
    if spec.get("paused") and new is None:
        _scale(here, old[-1:], wanted)
    else:
        if (spec.get("strategy") or {}).get("type") == "Recreate":
            _scale(here, old, 0)
        if new is None:
            new = _new_set(here, document, digest, number=_last_revision(sets) + 1)
        else:
            _scale(here, [_made_newest(here, new, sets)], wanted)
        ready = 0 if new is None else (new.get("status") or {}).get("readyReplicas", 0)
        left = max(wanted - ready, 0)
        for one in reversed(old):
            keeps = min(one["spec"].get("replicas", 0), left)
            _scale(here, [one], keeps)
            left -= keeps
        _forget(here, old, spec.get("revisionHistoryLimit", KEPT_SETS))
    sets = here.owned("replicasets.apps", document)
    number = _last_revision(sets)
    notes = {**(document["metadata"].get("annotations") or {}), REVISION: str(max(number, 1))}
    latest = {**document, "metadata": {**document["metadata"], "annotations": notes}}
    if latest != document:
        here.write("deployments.apps", document, metadata=latest["metadata"])
        document = here.latest("deployments.apps", document) or document
    here.write(
        "deployments.apps", document, status=_deployment_status(here, document, sets, digest)
    )


def _new_set(here: Deployed, document: Document, digest: str, *, number: int) -> Document | None:
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
                "replicas": spec.get("replicas", 1),
                "selector": own,
                "template": {**template, "metadata": {**meta, "labels": labels}},
            },
        },
    )


def _made_newest(here: Deployed, new: Document, sets: Sequence[Document]) -> Document:
    """The ReplicaSet with the highest revision: it gets a new one when it is used again."""
    notes = new["metadata"].get("annotations") or {}
    highest = _last_revision([one for one in sets if one is not new])
    if _last_revision([new]) > highest:
        return new
    metadata = {**new["metadata"], "annotations": {**notes, REVISION: str(highest + 1)}}
    here.write("replicasets.apps", new, metadata=metadata)
    return here.latest("replicasets.apps", new) or new


def _last_revision(sets: Sequence[Document]) -> int:
    numbers = [(one["metadata"].get("annotations") or {}).get(REVISION, "0") for one in sets]
    return max((whole(one) for one in numbers if WHOLE_NUMBER.fullmatch(one)), default=0)


def _scale(here: Deployed, sets: Sequence[Document], replicas: int) -> None:
    for one in sets:
        if one["spec"].get("replicas") != replicas:
            here.write("replicasets.apps", one, spec={**one["spec"], "replicas": replicas})


def _forget(here: Deployed, old: Sequence[Document], kept: int) -> None:
    """Delete the oldest sets that have nothing any more."""
    empty = [
        one
        for one in old
        if not one["spec"].get("replicas") and not (one.get("status") or {}).get("replicas")
    ]
    for one in empty[: max(len(empty) - kept, 0)]:
        here.delete("replicasets.apps", one)


def _deployment_status(
    here: Deployed, document: Document, sets: Sequence[Document], digest: str
) -> Document:
    wanted = document["spec"].get("replicas", 1)
    total = _sum(sets, "replicas")
    ready = _sum(sets, "readyReplicas")
    updated = _sum(
        [one for one in sets if one["metadata"]["labels"].get(HASH) == digest], "replicas"
    )
    before = document.get("status") or {}
    available = ready >= wanted - _share(document, wanted)
    complete = updated == total == wanted == ready
    name = f"{document['metadata']['name']}-{digest}"
    return {
        "observedGeneration": document["metadata"].get("generation", 1),
        **_present(replicas=total, updatedReplicas=updated, readyReplicas=ready),
        **_present(availableReplicas=ready, unavailableReplicas=max(wanted - ready, 0)),
        "conditions": _conditions(
            here,
            before,
            Available=(available, "MinimumReplicas" + ("Available" if available else "Unavailable"),
                       "Deployment has" + ("" if available else " not") + " minimum availability."),
            Progressing=(True, "NewReplicaSetAvailable" if complete else "ReplicaSetUpdated",
                         f'ReplicaSet "{name}" ' + ("has successfully progressed." if complete
                                                    else "is progressing.")),
        ),
    }  # fmt: skip


def _share(document: Document, wanted: int) -> int:
    """How many Pods may be missing: `maxUnavailable`, rounded down."""
    strategy = document["spec"].get("strategy") or {}
    if strategy.get("type") == "Recreate":
        return wanted
    value = (strategy.get("rollingUpdate") or {}).get("maxUnavailable", "25%")
    if isinstance(value, int):
        return value
    digits = str(value).removesuffix("%")
    return wanted * int(digits) // 100 if digits.isdecimal() else 0


def _sum(documents: Sequence[Document], name: str) -> int:
    return sum((one.get("status") or {}).get(name, 0) for one in documents)


def _present(**numbers: int) -> Document:
    return {name: number for name, number in numbers.items() if number}


def _conditions(
    here: Deployed, before: Document, **wanted: tuple[bool, str, str]
) -> list[Document]:
    there = {one["type"]: one for one in before.get("conditions") or ()}
    found = []
    for type_, (holds, reason, message) in wanted.items():
        said = {"type": type_, "status": "True" if holds else "False"}
        said |= {"reason": reason, "message": message}
        known = there.get(type_, {})
        same = all(known.get(key) == value for key, value in said.items())
        now = here.now()
        moved = known.get("lastTransitionTime") if known.get("status") == said["status"] else now
        found.append(
            known if same else {**said, "lastUpdateTime": now, "lastTransitionTime": moved or now}
        )
    return found


def replica_set(here: Deployed, document: Document) -> None:
    """As many Pods as it wants."""
    spec, meta = document["spec"], document["metadata"]
    wanted = spec.get("replicas", 1)
    pods = [one for one in here.owned("pods", document) if is_active(one)]
    for _ in range(wanted - len(pods)):
        if here.add_pod(document, spec["template"], here.random_name(meta["name"])) is None:
            break
    # Those that wait for a Node go first, then the youngest.
    for one in sorted(pods, key=lambda one: not _waits(one))[: max(len(pods) - wanted, 0)]:
        here.delete("pods", one)
    pods = [one for one in here.owned("pods", document) if is_active(one)]
    ready = sum(map(is_ready, pods))
    status = {
        "replicas": len(pods),
        **_present(fullyLabeledReplicas=len(pods), readyReplicas=ready, availableReplicas=ready),
        "observedGeneration": meta.get("generation", 1),
    }
    here.write("replicasets.apps", document, status=status)


def is_ready(pod: Document) -> bool:
    """Whether a Pod is Ready."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _waits(pod: Document) -> bool:
    return not pod["spec"].get("nodeName")


def daemon_set(here: Deployed, document: Document) -> None:
    """A Pod on every Node that takes one."""
    spec, meta = document["spec"], document["metadata"]
    template = spec["template"]
    digest = hash_of(template)
    nodes = [
        one["metadata"]["name"]
        for one in here.all("nodes")
        if accepts(one, template["spec"], daemon=True)
    ]
    replaces = (spec.get("updateStrategy") or {}).get("type") != "OnDelete"
    there = set[str]()
    for one in here.owned("pods", document):
        node = one["spec"].get("nodeName", "")
        is_old = one["metadata"]["labels"].get(REVISION_HASH) != digest
        if node not in nodes or node in there or (is_old and replaces):
            here.delete("pods", one)
        elif is_active(one):
            there.add(node)
    for node in nodes:
        if node not in there:
            name = here.random_name(meta["name"])
            pod = here.add_pod(document, template, name, **{REVISION_HASH: digest})
            if pod is not None:
                here.place(pod, node)
    pods = [one for one in here.owned("pods", document) if is_active(one)]
    ready = sum(map(is_ready, pods))
    updated = sum(one["metadata"]["labels"].get(REVISION_HASH) == digest for one in pods)
    status = {
        "currentNumberScheduled": len(pods),
        "desiredNumberScheduled": len(nodes),
        "numberMisscheduled": 0,
        "numberReady": ready,
        **_present(
            numberAvailable=ready,
            updatedNumberScheduled=updated,
            numberUnavailable=max(len(nodes) - ready, 0),
        ),
        "observedGeneration": meta.get("generation", 1),
    }
    here.write("daemonsets.apps", document, status=status)


def stateful_set(here: Deployed, document: Document) -> None:
    """Pods with numbers; those of an older template are replaced from the highest one on."""
    spec, meta = document["spec"], document["metadata"]
    wanted, template = spec.get("replicas", 1), spec["template"]
    digest = f"{meta['name']}-{hash_of(template)}"
    first = (spec.get("ordinals") or {}).get("start", 0)
    names = {f"{meta['name']}-{number}": number for number in range(first, first + wanted)}
    replaces = (spec.get("updateStrategy") or {}).get("type") != "OnDelete"
    pods = {one["metadata"]["name"]: one for one in here.owned("pods", document)}
    for name, one in sorted(pods.items(), reverse=True):
        is_old = one["metadata"]["labels"].get(REVISION_HASH) != digest
        if name not in names or (is_old and replaces) or not is_active(one):
            here.delete("pods", one)
    for name, number in names.items():
        if name not in pods or (replaces and _is_other(pods[name], digest)):
            labels = {
                REVISION_HASH: digest,
                "statefulset.kubernetes.io/pod-name": name,
                "apps.kubernetes.io/pod-index": str(number),
            }
            if here.add_pod(document, template, name, **labels) is None:
                break
    found = [one for one in here.owned("pods", document) if is_active(one)]
    ready = sum(map(is_ready, found))
    updated = sum(not _is_other(one, digest) for one in found)
    status = {
        "replicas": len(found),
        **_present(readyReplicas=ready, currentReplicas=updated, updatedReplicas=updated),
        "availableReplicas": ready,
        "currentRevision": digest,
        "updateRevision": digest,
        "observedGeneration": meta.get("generation", 1),
        "collisionCount": 0,
    }
    here.write("statefulsets.apps", document, status=status)


def _is_other(pod: Document, digest: str) -> bool:
    return bool(pod["metadata"]["labels"].get(REVISION_HASH) != digest)


def job(here: Deployed, document: Document) -> None:
    """Pods that succeed, as many as it wants to be completed."""
    spec, meta = document["spec"], document["metadata"]
    before = document.get("status") or {}
    ended = any(one["type"] == "Complete" for one in before.get("conditions") or ())
    if ended or spec.get("suspend"):
        return
    parallel = spec.get("parallelism", 1)
    wanted = spec.get("completions", 1 if "parallelism" not in spec else parallel)
    pods = here.owned("pods", document)
    done = sum((one.get("status") or {}).get("phase") == "Succeeded" for one in pods)
    active = sum(map(is_active, pods))
    for _ in range(min(parallel - active, wanted - done - active)):
        labels = {"batch.kubernetes.io/job-name": meta["name"], "job-name": meta["name"]}
        if (
            here.add_pod(document, spec["template"], here.random_name(meta["name"]), **labels)
            is None
        ):
            break
        active += 1
    status: dict[str, Any] = {**before, "startTime": before.get("startTime") or here.now()}
    status |= {"active": active, "ready": 0, "succeeded": done, "terminating": 0}
    status["uncountedTerminatedPods"] = {}
    if done >= wanted:
        said = (True, "CompletionsReached", "Reached expected number of succeeded pods")
        status["conditions"] = _conditions(here, before, SuccessCriteriaMet=said, Complete=said)
        for one in status["conditions"]:
            one["lastProbeTime"] = one.pop("lastUpdateTime", here.now())
        status["completionTime"] = here.now()
    here.write("jobs.batch", document, status={key: one for key, one in status.items() if one != 0})


BY_TABLE: Final[Mapping[str, Callable[[Deployed, Document], None]]] = {
    "deployments.apps": deployment,
    "replicasets.apps": replica_set,
    "daemonsets.apps": daemon_set,
    "statefulsets.apps": stateful_set,
    JOBS: job,
}
