"""Table columns of pods and workloads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kapy.apiserver.resources.builtin.printer import (
    NONE,
    AgeCell,
    DurationCell,
    Printer,
    containers,
    format_labels,
    format_selector,
    spec_of,
    status_of,
    titles,
)
from kapy.kube import Document


def _deployment(document: Document) -> Iterable[Any]:
    spec, status = spec_of(document), status_of(document)
    return [
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 1)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        *containers(spec.get("template") or {}),
        format_selector(spec.get("selector")),
    ]


def _replica_set(document: Document) -> Iterable[Any]:
    spec, status = spec_of(document), status_of(document)
    return [
        spec.get("replicas", 1),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        *containers(spec.get("template") or {}),
        format_selector(spec.get("selector")),
    ]


def _daemon_set(document: Document) -> Iterable[Any]:
    spec, status = spec_of(document), status_of(document)
    template = spec.get("template") or {}
    return [
        status.get("desiredNumberScheduled", 0),
        status.get("currentNumberScheduled", 0),
        status.get("numberReady", 0),
        status.get("updatedNumberScheduled", 0),
        status.get("numberAvailable", 0),
        format_labels((template.get("spec") or {}).get("nodeSelector")),
        *containers(template),
        format_selector(spec.get("selector")),
    ]


def _stateful_set(document: Document) -> Iterable[Any]:
    spec, status = spec_of(document), status_of(document)
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 1)}"
    return [ready, *containers(spec.get("template") or {})]


def _pod(document: Document) -> Iterable[Any]:
    spec, status = spec_of(document), status_of(document)
    states = status.get("containerStatuses") or []
    ready = sum(1 for state in states if state.get("ready"))
    restarts = sum(state.get("restartCount", 0) for state in states)
    gates = [gate.get("conditionType", "") for gate in spec.get("readinessGates") or []]
    conditions = {
        condition.get("type"): condition.get("status")
        for condition in status.get("conditions") or []
    }
    met = sum(1 for gate in gates if conditions.get(gate) == "True")
    return [
        f"{ready}/{len(spec.get('containers') or [])}",
        _pod_phase(document, states),
        str(restarts),
        status.get("podIP") or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        f"{met}/{len(gates)}" if gates else NONE,
    ]


def _pod_phase(document: Document, states: list[Document]) -> str:
    status = status_of(document)
    if document["metadata"].get("deletionTimestamp"):
        return "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    for state in reversed(states):
        now = state.get("state") or {}
        for part in ("waiting", "terminated"):
            reason = (now.get(part) or {}).get("reason")
            if reason:
                return str(reason)
    return str(status.get("reason") or status.get("phase", ""))


def _job(document: Document) -> Iterable[Any]:
    wanted, done = spec_of(document), status_of(document)
    return [
        _job_state(done),
        _completions(wanted, done.get("succeeded", 0)),
        DurationCell(done.get("startTime"), done.get("completionTime")),
        *containers(wanted.get("template") or {}),
        format_selector(wanted.get("selector")),
    ]


_JOB_STATES = ("Complete", "Failed", "Suspended", "FailureTarget", "SuccessCriteriaMet")
"""Conditions of a Job; the first one that is True is shown."""


def _job_state(done: Document) -> str:
    true = {
        condition.get("type")
        for condition in done.get("conditions") or ()
        if condition.get("status") == "True"
    }
    return next((state for state in _JOB_STATES if state in true), "Running")


def _completions(wanted: Document, done: int) -> str:
    if wanted.get("completions") is not None:
        return f"{done}/{wanted['completions']}"
    parallel = wanted.get("parallelism") or 0
    return f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"


def _cron_job(document: Document) -> Iterable[Any]:
    wanted, done = spec_of(document), status_of(document)
    last = done.get("lastScheduleTime")
    template = ((wanted.get("jobTemplate") or {}).get("spec") or {}).get("template") or {}
    return [
        wanted.get("schedule", ""),
        wanted.get("timeZone") or NONE,
        str(bool(wanted.get("suspend"))),
        len(done.get("active") or ()),
        AgeCell(last) if last else NONE,
        *containers(template),
        NONE,
    ]


def _revision(document: Document) -> Iterable[Any]:
    owners = document["metadata"].get("ownerReferences") or ()
    owner = next((item for item in owners if item.get("controller")), None)
    name = f"{owner['kind'].lower()}/{owner['name']}" if owner else NONE
    return [name, document.get("revision", 0)]


WORKLOADS: dict[str, Printer] = {
    "pods": Printer(
        titles(
            "Ready",
            "Status",
            "Restarts",
            "Age",
            "IP+",
            "Node+",
            "Nominated Node+",
            "Readiness Gates+",
        ),
        _pod,
    ),
    "deployments.apps": Printer(
        (
            *titles("Ready", "Up-to-date", "Available", "Age"),
            *titles("Containers+", "Images+", "Selector+"),
        ),
        _deployment,
    ),
    "replicasets.apps": Printer(
        titles("Desired#", "Current#", "Ready#", "Age", "Containers+", "Images+", "Selector+"),
        _replica_set,
    ),
    "daemonsets.apps": Printer(
        titles(
            "Desired#",
            "Current#",
            "Ready#",
            "Up-to-date#",
            "Available#",
            "Node Selector",
            "Age",
            "Containers+",
            "Images+",
            "Selector+",
        ),
        _daemon_set,
    ),
    "statefulsets.apps": Printer(titles("Ready", "Age", "Containers+", "Images+"), _stateful_set),
    "replicationcontrollers": Printer(
        titles("Desired#", "Current#", "Ready#", "Age", "Containers+", "Images+", "Selector+"),
        _replica_set,
    ),
    "controllerrevisions.apps": Printer(titles("Controller", "Revision", "Age"), _revision),
    "jobs.batch": Printer(
        titles(
            *("Status", "Completions", "Duration", "Age"), *("Containers+", "Images+", "Selector+")
        ),
        _job,
    ),
    "cronjobs.batch": Printer(
        titles(
            *("Schedule", "Timezone", "Suspend?", "Active#", "Last Schedule", "Age"),
            *("Containers+", "Images+", "Selector+"),
        ),
        _cron_job,
    ),
}
