"""Small built-in kinds, legal and slightly illegal: ConfigMap, Secret, Service, Event, Lease and more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tests.differential.case import MERGE_PATCH, Case, Json, Step, patch, request
from tests.differential.draw import Draw
from tests.differential.kinds import (
    CONFIG_MAP,
    DEPLOYMENT,
    LEASE,
    ROLE,
    SECRET,
    SERVICE,
    SERVICE_ACCOUNT,
    WORDS,
    Kind,
)
from tests.differential.mutation import maybe_mutated


def core_event(draw: Draw) -> Json:
    """Contents of an Event of the core group."""
    body: Json = {
        "involvedObject": {
            "apiVersion": "v1",
            "kind": draw.one(("Pod", "Node", "")),
            "name": "x",
            "namespace": draw.one(("${ns}", "${ns}", "${ns}", "other", "default", "")),
        },
        "reason": draw.one(("Why", "", "x")),
        "message": draw.one(("text", "", "m" * 1025)),
        "type": draw.one(("Normal", "Warning", "Other", "")),
        "source": {"component": "c"},
        "firstTimestamp": "2020-01-01T00:00:00Z",
        "lastTimestamp": "2020-01-01T00:00:00Z",
        "count": 1,
    }
    for key in draw.some(
        ("source", "firstTimestamp", "lastTimestamp", "count", "reason", "type"), 3
    ):
        body.pop(key)
    if draw.chance(0.4):
        body |= {
            "eventTime": "2020-01-01T00:00:00.000001Z",
            "reportingComponent": draw.one(("k.io/c", "c", "", "C_x", "a b")),
            "reportingInstance": draw.one(("i", "", "i" * 129)),
            "action": draw.one(("Do", "", "a" * 129)),
        }
        for key in draw.some(("eventTime", "reportingComponent", "reportingInstance", "action"), 2):
            body.pop(key)
    if draw.chance(0.15):
        body["series"] = {
            "count": draw.number(0, 3),
            "lastObservedTime": "2020-01-01T00:00:00.000001Z",
        }
    if draw.chance(0.1):
        body["related"] = {"kind": "Pod", "name": "y"}
    return body


def new_event(draw: Draw) -> Json:
    """Contents of an Event of events.k8s.io."""
    body: Json = {
        "eventTime": "2020-01-01T00:00:00.000001Z",
        "reportingController": draw.one(("k.io/c", "c", "", "C_x")),
        "reportingInstance": draw.one(("i", "i", "i" * 129, "")),
        "action": draw.one(("Do", "Do", "", "a" * 129)),
        "reason": draw.one(("Why", "Why", "", "r" * 129)),
        "type": draw.one(("Normal", "Warning", "Normal", "Other", "")),
        "note": draw.one(("text", "text", "n" * 1025)),
        "regarding": {
            "kind": "Pod",
            "name": "x",
            "namespace": draw.one(("${ns}", "${ns}", "other", "")),
        },
    }
    for key in draw.some(tuple(body), draw.one((0, 0, 2))):
        body.pop(key)
    if draw.chance(0.2):
        body |= draw.one(
            (
                {"deprecatedCount": 1},
                {"deprecatedSource": {"component": "c"}},
                {"deprecatedFirstTimestamp": "2020-01-01T00:00:00Z"},
                {"series": {"count": 2, "lastObservedTime": "2020-01-01T00:00:00.000001Z"}},
                {"series": {"count": 1}},
            )
        )
    return body


def quota(draw: Draw) -> Json:
    """Contents of a LimitRange."""
    limit: Json = {"type": draw.one(("Container", "Pod", "Other", ""))}
    for key in draw.some(("max", "min", "default", "defaultRequest"), 3):
        limit[key] = {draw.one(("cpu", "memory", "x")): draw.one(("1", "100m", "1Gi", "-1", "x"))}
    return {"spec": {"limits": [limit]}}


def slice_(draw: Draw) -> Json:
    """Contents of an EndpointSlice."""
    kind = draw.one(("IPv4", "IPv4", "IPv6", "FQDN", "x"))
    end: Json = {"addresses": draw.one((["10.1.2.3"], ["::1"], ["x"], [], ["a.b"]))}
    if draw.chance(0.4):
        end["conditions"] = {"ready": draw.chance(0.5)}
    port = {
        "name": draw.one(("", "http", "HTTP", "a" * 64)),
        "port": draw.one((80, 0, 70000)),
        "protocol": draw.one(("TCP", "X")),
    }
    return {
        "addressType": kind,
        "endpoints": [end] if draw.chance(0.8) else [],
        "ports": [port] if draw.chance(0.7) else [],
    }


def budget(draw: Draw) -> Json:
    """Contents of a PodDisruptionBudget."""
    spec: Json = {}
    for key in draw.some(("minAvailable", "maxUnavailable"), 2):
        spec[key] = draw.one((1, 0, -1, "50%", "x", "150%"))
    if draw.chance(0.7):
        spec["selector"] = {"matchLabels": {"a": draw.one(("b", "-", ""))}}
    if draw.chance(0.2):
        spec["unhealthyPodEvictionPolicy"] = draw.one(("AlwaysAllow", "IfHealthyBudget", "x"))
    return {"spec": spec}


def binding(draw: Draw) -> Json:
    """Contents of a RoleBinding."""
    subject: Json = {
        "kind": draw.one(("User", "Group", "ServiceAccount", "Other")),
        "name": draw.one(("x", "X", "")),
        "apiGroup": draw.one(("rbac.authorization.k8s.io", "", "other")),
    }
    if draw.chance(0.4):
        subject["namespace"] = draw.one(("${ns}", ""))
    if draw.chance(0.3):
        subject.pop("apiGroup")
    ref = {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": draw.one(("Role", "ClusterRole", "X")),
        "name": draw.one(("r", "")),
    }
    return {"roleRef": ref, "subjects": [subject] if draw.chance(0.85) else []}


def job(draw: Draw) -> Json:
    """Contents of a Job."""
    pod = {
        "containers": [{"name": "c", "image": "i"}],
        "restartPolicy": draw.one(("Never", "OnFailure", "Always")),
    }
    spec: Json = {"template": {"spec": pod}}
    for key in draw.some(
        ("parallelism", "completions", "backoffLimit", "suspend", "ttlSecondsAfterFinished"), 2
    ):
        spec[key] = draw.chance(0.5) if key == "suspend" else draw.one((0, 1, -1))
    return {"spec": spec}


def pod(draw: Draw) -> Json:
    """Contents of a Pod."""
    value: Json = {"name": draw.one(("c", "C", "")), "image": draw.one(("i", "", " i"))}
    fields: dict[str, Callable[[], Json]] = {
        "ports": lambda: [
            {"containerPort": draw.one((80, 0, 70000)), "protocol": draw.one(("TCP", "X"))}
        ],
        "env": lambda: [{"name": draw.one(("A", "", "a=b")), "value": "v"}],
        "resources": lambda: {
            "limits": {"cpu": draw.one(("1", "-1", "x"))},
            "requests": {"cpu": "2"},
        },
        "imagePullPolicy": lambda: draw.one(("Always", "X")),
        "volumeMounts": lambda: [{"name": "v", "mountPath": draw.one(("/x", ""))}],
        "livenessProbe": lambda: {"httpGet": {"path": "/", "port": draw.one((80, "http", 0))}},
    }
    value |= {key: fields[key]() for key in draw.some(tuple(fields), 2)}
    spec: Json = {"containers": [value] if draw.chance(0.93) else []}
    if draw.chance(0.2):
        spec["restartPolicy"] = draw.one(("Never", "X", ""))
    if draw.chance(0.15):
        spec["volumes"] = [{"name": "v", "emptyDir": {}}]
    return {"spec": spec}


EVENT: Final = Kind("v1", "Event", "events", core_event)
NEW_EVENT: Final = Kind("events.k8s.io/v1", "Event", "events", new_event)
LIMITS: Final = Kind("v1", "LimitRange", "limitranges", quota)
SLICE: Final = Kind("discovery.k8s.io/v1", "EndpointSlice", "endpointslices", slice_)
BUDGET: Final = Kind(
    "policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", budget, status=True
)
BINDING: Final = Kind("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings", binding)
JOB: Final = Kind("batch/v1", "Job", "jobs", job, status=True)
POD: Final = Kind("v1", "Pod", "pods", pod, status=True)
KINDS: Final = {
    CONFIG_MAP: 3.0, SECRET: 3.0, SERVICE: 3.0, SERVICE_ACCOUNT: 1.5, LEASE: 2.0, EVENT: 2.5, NEW_EVENT: 2.0,
    ROLE: 1.0, BINDING: 1.0, SLICE: 1.0, BUDGET: 1.0, DEPLOYMENT: 1.0, JOB: 0.6, POD: 1.0, LIMITS: 0.5,
}  # fmt: skip


def generate(draw: Draw) -> Case:
    """Objects of a kind that are created, changed and read."""
    kind = draw.weighted(KINDS)
    steps: list[Step] = []
    for number in range(draw.number(5, 9)):
        name = draw.one(("alpha", "beta", f"n{number}"))
        steps.append(
            draw.made(
                (
                    (
                        4.0,
                        lambda: request(
                            "POST", kind.path, _body(draw, kind, name), query=_query(draw)
                        ),
                    ),
                    (
                        2.0,
                        lambda: request(
                            "PUT", kind.at(name), _body(draw, kind, name), query=_query(draw)
                        ),
                    ),
                    (
                        1.5,
                        lambda: patch(
                            kind.at(name), MERGE_PATCH, maybe_mutated(draw, kind.make(draw), 0.3)
                        ),
                    ),
                    (0.3, lambda: request("GET", kind.at(name))),
                    (0.3, lambda: request("DELETE", kind.at(name))),
                    (0.2, lambda: _table(kind)),
                )
            )
        )
    return {"steps": steps}


def _body(draw: Draw, kind: Kind, name: str) -> Json:
    meta: Json = {"labels": {"a": draw.one(WORDS)}} if draw.chance(0.2) else {}
    return maybe_mutated(draw, kind.object(draw, name, **meta), 0.35)


def _query(draw: Draw) -> Json:
    return draw.one(
        ({}, {}, {}, {}, {}, {"fieldValidation": "Strict"}, {"fieldValidation": "Ignore"})
    )


def _table(kind: Kind) -> Step:
    accept = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    return request("GET", kind.path, headers=accept)
