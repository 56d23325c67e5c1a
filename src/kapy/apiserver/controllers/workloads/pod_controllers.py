"""One reconcile of a ReplicaSet, DaemonSet, StatefulSet or Job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from kapy.apiserver.controllers.workloads.deployments import reconcile_deployment
from kapy.apiserver.controllers.workloads.pod_conditions import is_ready
from kapy.apiserver.controllers.workloads.scheduling import is_feasible
from kapy.apiserver.controllers.workloads.statuses import hash_of, set_conditions, without_zeros
from kapy.apiserver.controllers.workloads.workloads import JOBS, Workloads, is_active
from kapy.kube import Document

REVISION_HASH: Final = "controller-revision-hash"
BACKOFF_LIMIT: Final = 6
"""The default backoffLimit of a Job: the number of failed Pods after which it fails."""


def reconcile_replica_set(here: Workloads, document: Document) -> None:
    """Create or delete Pods until the ReplicaSet has the desired number."""
    spec, meta = document["spec"], document["metadata"]
    wanted = spec.get("replicas", 1)
    pods = [item for item in here.controlled_objects("pods", document) if is_active(item)]
    for _ in range(wanted - len(pods)):
        if here.add_pod(document, spec["template"], here.random_name(meta["name"])) is None:
            break
    # Unscheduled Pods are deleted first, then the youngest.
    for pod in sorted(pods, key=lambda value: not _is_unscheduled(value))[
        : max(len(pods) - wanted, 0)
    ]:
        here.delete("pods", pod)
    pods = [item for item in here.controlled_objects("pods", document) if is_active(item)]
    ready = sum(map(is_ready, pods))
    available = here.count_available(pods, document)
    status = {
        "replicas": len(pods),
        **without_zeros(
            fullyLabeledReplicas=len(pods), readyReplicas=ready, availableReplicas=available
        ),
        "observedGeneration": meta.get("generation", 1),
    }
    here.write("replicasets.apps", document, status=status)


def _is_unscheduled(pod: Document) -> bool:
    return not pod["spec"].get("nodeName")


def reconcile_daemon_set(here: Workloads, document: Document) -> None:
    """Create a Pod on every Node that accepts it, and update or delete the others."""
    spec, meta = document["spec"], document["metadata"]
    template = spec["template"]
    digest = hash_of(template)
    nodes = [
        element["metadata"]["name"]
        for element in here.all("nodes")
        if is_feasible(element, template["spec"], daemon=True)
    ]
    replaces = (spec.get("updateStrategy") or {}).get("type") != "OnDelete"
    there = set[str]()
    for item in here.controlled_objects("pods", document):
        node = item["spec"].get("nodeName", "")
        is_old = item["metadata"]["labels"].get(REVISION_HASH) != digest
        if node not in nodes or node in there or (is_old and replaces):
            here.delete("pods", item)
        elif is_active(item):
            there.add(node)
    for node in nodes:
        if node not in there:
            name = here.random_name(meta["name"])
            pod = here.add_pod(document, template, name, **{REVISION_HASH: digest})
            if pod is not None:
                here.bind(pod, node)
    pods = [element for element in here.controlled_objects("pods", document) if is_active(element)]
    ready = sum(map(is_ready, pods))
    available = here.count_available(pods, document)
    updated = sum(element["metadata"]["labels"].get(REVISION_HASH) == digest for element in pods)
    status = {
        "currentNumberScheduled": len(pods),
        "desiredNumberScheduled": len(nodes),
        "numberMisscheduled": 0,
        "numberReady": ready,
        **without_zeros(
            numberAvailable=available,
            updatedNumberScheduled=updated,
            numberUnavailable=max(len(nodes) - available, 0),
        ),
        "observedGeneration": meta.get("generation", 1),
    }
    here.write("daemonsets.apps", document, status=status)


def reconcile_stateful_set(here: Workloads, document: Document) -> None:
    """Create the numbered Pods; replace those of an older template, highest number first."""
    spec, meta = document["spec"], document["metadata"]
    wanted, template = spec.get("replicas", 1), spec["template"]
    digest = f"{meta['name']}-{hash_of(template)}"
    first = (spec.get("ordinals") or {}).get("start", 0)
    names = {f"{meta['name']}-{number}": number for number in range(first, first + wanted)}
    replaces = (spec.get("updateStrategy") or {}).get("type") != "OnDelete"
    pods = {
        element["metadata"]["name"]: element
        for element in here.controlled_objects("pods", document)
    }
    for name, item in sorted(pods.items(), reverse=True):
        is_old = item["metadata"]["labels"].get(REVISION_HASH) != digest
        if name not in names or (is_old and replaces) or not is_active(item):
            here.delete("pods", item)
    for name, number in names.items():
        if name not in pods or (replaces and _is_outdated(pods[name], digest)):
            labels = {
                REVISION_HASH: digest,
                "statefulset.kubernetes.io/pod-name": name,
                "apps.kubernetes.io/pod-index": str(number),
            }
            if here.add_pod(document, template, name, **labels) is None:
                break
    result = [
        element for element in here.controlled_objects("pods", document) if is_active(element)
    ]
    ready = sum(map(is_ready, result))
    updated = sum(not _is_outdated(element, digest) for element in result)
    status = {
        "replicas": len(result),
        **without_zeros(readyReplicas=ready, currentReplicas=updated, updatedReplicas=updated),
        "availableReplicas": here.count_available(result, document),
        "currentRevision": digest,
        "updateRevision": digest,
        "observedGeneration": meta.get("generation", 1),
        "collisionCount": 0,
    }
    here.write("statefulsets.apps", document, status=status)


def _is_outdated(pod: Document, digest: str) -> bool:
    return bool(pod["metadata"]["labels"].get(REVISION_HASH) != digest)


def reconcile_job(here: Workloads, document: Document) -> None:
    """Create Pods until enough have succeeded; fail the Job after too many failures."""
    spec, meta = document["spec"], document["metadata"]
    before = document.get("status") or {}
    ended = any(
        condition["type"] in ("Complete", "Failed") for condition in before.get("conditions") or ()
    )
    if ended or spec.get("suspend"):
        return
    parallel = spec.get("parallelism", 1)
    wanted = spec.get("completions", 1 if "parallelism" not in spec else parallel)
    pods = here.controlled_objects("pods", document)
    phases = [(pod.get("status") or {}).get("phase") for pod in pods]
    done, failed = phases.count("Succeeded"), phases.count("Failed")
    active = sum(map(is_active, pods))
    given_up = failed > spec.get("backoffLimit", BACKOFF_LIMIT)
    for _ in range(0 if given_up else min(parallel - active, wanted - done - active)):
        labels = {"batch.kubernetes.io/job-name": meta["name"], "job-name": meta["name"]}
        name = here.random_name(meta["name"])
        if here.add_pod(document, spec["template"], name, **labels) is None:
            break
        active += 1
    status: dict[str, Any] = {**before, "startTime": before.get("startTime") or here.now()}
    status |= {"active": active, "ready": sum(is_ready(pod) for pod in pods if is_active(pod))}
    status |= {"succeeded": done, "failed": failed, "terminating": 0}
    status["uncountedTerminatedPods"] = {}
    if done >= wanted:
        entries = (True, "CompletionsReached", "Reached expected number of succeeded pods")
        status["conditions"] = _end_conditions(
            here, before, SuccessCriteriaMet=entries, Complete=entries
        )
        status["completionTime"] = here.now()
    elif given_up and not active:
        entries = (True, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
        status["conditions"] = _end_conditions(here, before, FailureTarget=entries, Failed=entries)
    here.write(
        "jobs.batch", document, status={key: value for key, value in status.items() if value != 0}
    )


def _end_conditions(
    here: Workloads, before: Document, **said: tuple[bool, str, str]
) -> list[Document]:
    result = [{**condition} for condition in set_conditions(here, before, **said)]
    for item in result:
        item["lastProbeTime"] = item.pop("lastUpdateTime", here.now())
    return result


BY_TABLE: Final[Mapping[str, Callable[[Workloads, Document], None]]] = {
    "deployments.apps": reconcile_deployment,
    "replicasets.apps": reconcile_replica_set,
    "daemonsets.apps": reconcile_daemon_set,
    "statefulsets.apps": reconcile_stateful_set,
    JOBS: reconcile_job,
}
