"""Workloads with rollout strategies, and NetworkPolicies. Most have an invalid value."""

from __future__ import annotations

from typing import Final

from tests.differential.case import JSON_PATCH, MERGE_PATCH, Case, Json, Step, patch, request
from tests.differential.draw import Draw

_AMOUNTS: Final = (0, 1, -1, "0%", "25%", "100%", "101%", "x", "1", "-1%", "")
_NUMBERS: Final = (0, 1, -1, None)
_TYPES: Final = ("RollingUpdate", "RollingUpdate", "OnDelete", "Recreate", "x", "")
_SELECTORS: Final[tuple[Json, ...]] = (
    {},
    {"matchLabels": {"a": "b"}},
    {"matchLabels": {"-": "b"}},
    {"matchLabels": {"a": "-"}},
    {"matchExpressions": [{"key": "a", "operator": "Exists"}]},
    {"matchExpressions": [{"key": "a", "operator": "In", "values": []}]},
    {"matchExpressions": [{"key": "", "operator": "x"}]},
)
_CIDRS: Final = ("10.0.0.0/8", "10.1.0.0/16", "2001:db8::/32", "::/0", "x", "10.0.0.1/8", "")
_KINDS: Final = {
    "deployments": "Deployment",
    "daemonsets": "DaemonSet",
    "statefulsets": "StatefulSet",
}


def _rolling(draw: Draw, *names: str) -> Json:
    return {name: draw.one(_AMOUNTS) for name in names if draw.chance(0.7)}


def _strategy(draw: Draw, plural: str) -> Json:
    names = ("maxUnavailable",) if plural == "statefulsets" else ("maxUnavailable", "maxSurge")
    result: Json = {}
    if draw.chance(0.6):
        result["type"] = draw.one(_TYPES)
    if draw.chance(0.8):
        result["rollingUpdate"] = _rolling(draw, *names)
        if plural == "statefulsets" and draw.chance(0.5):
            result["rollingUpdate"]["partition"] = draw.one(_NUMBERS)
    return result


def _fields(draw: Draw, plural: str) -> Json:
    field = "strategy" if plural == "deployments" else "updateStrategy"
    result: Json = {field: _strategy(draw, plural)} if draw.chance(0.8) else {}
    names = ["minReadySeconds", "revisionHistoryLimit"]
    if plural == "deployments":
        names.append("progressDeadlineSeconds")
    for name in names:
        if draw.chance(0.2):
            result[name] = draw.one(_NUMBERS)
    if plural == "statefulsets":
        result.update(_of_sets(draw))
    return result


def _of_sets(draw: Draw) -> Json:
    result: Json = {}
    for name, values in (
        ("podManagementPolicy", ("Parallel", "OrderedReady", "x", "")),
        ("ordinals", ({"start": 1}, {"start": -1}, {})),
        ("serviceName", ("a", "A", "")),
        ("persistentVolumeClaimRetentionPolicy", ({"whenDeleted": "Delete"}, {"whenScaled": "x"})),
    ):
        if draw.chance(0.25):
            result[name] = draw.one(values)
    return result


def _workload(draw: Draw, plural: str, name: str) -> Json:
    container = {"name": "x", "image": "x"}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}
    return {
        "apiVersion": "apps/v1",
        "kind": _KINDS[plural],
        "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": template,
            **_fields(draw, plural),
        },
    }


def _port(draw: Draw) -> Json:
    result: Json = {}
    for name, values in (
        ("port", (80, 0, 70000, "http", "A B", "a--b")),
        ("endPort", (90, 70, 70000)),
        ("protocol", ("TCP", "SCTP", "tcp", "")),
    ):
        if draw.chance(0.5):
            result[name] = draw.one(values)
    return result


def _peer(draw: Draw) -> Json:
    result: Json = {}
    if draw.chance(0.4):
        result["podSelector"] = draw.one(_SELECTORS)
    if draw.chance(0.4):
        result["namespaceSelector"] = draw.one(_SELECTORS)
    if draw.chance(0.4):
        result["ipBlock"] = {"cidr": draw.one(_CIDRS)}
        if draw.chance(0.6):
            result["ipBlock"]["except"] = [draw.one(_CIDRS) for _ in range(draw.number(1, 2))]
    return result


def _policy(draw: Draw) -> Json:
    spec: Json = {"podSelector": draw.one(_SELECTORS)}
    for side, peers in (("ingress", "from"), ("egress", "to")):
        if draw.chance(0.6):
            rule: Json = {}
            if draw.chance(0.6):
                rule["ports"] = [_port(draw) for _ in range(draw.number(1, 2))]
            if draw.chance(0.7):
                rule[peers] = [_peer(draw) for _ in range(draw.number(1, 2))]
            spec[side] = [rule]
    if draw.chance(0.4):
        names = ("Ingress", "Egress", "x")
        spec["policyTypes"] = [draw.one(names) for _ in range(draw.number(0, 3))]
    return spec


def generate(draw: Draw) -> Case:
    """Workloads or policies, created and changed."""
    if draw.chance(0.3):
        return {"setup": [], "steps": _policies(draw)}
    plural = draw.one(tuple(_KINDS))
    base = f"/apis/apps/v1/namespaces/${{ns}}/{plural}"
    plain = _workload(draw, plural, "x")
    plain["spec"] = {key: plain["spec"][key] for key in ("selector", "template")}
    steps: list[Step] = [request("POST", base, plain)]
    for number in range(draw.number(4, 6)):
        if draw.chance(0.6):
            steps.append(request("POST", base, _workload(draw, plural, f"y{number}")))
        else:
            change = {"spec": _fields(draw, plural)}
            steps.append(patch(f"{base}/x", MERGE_PATCH, change))
    return {"setup": [], "steps": steps}


def _policies(draw: Draw) -> list[Step]:
    base = "/apis/networking.k8s.io/v1/namespaces/${ns}/networkpolicies"
    kind = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy"}
    first = {**kind, "metadata": {"name": "x"}, "spec": {"podSelector": {}}}
    steps: list[Step] = [request("POST", base, first)]
    for number in range(draw.number(4, 6)):
        spec = _policy(draw)
        if draw.chance(0.6):
            document = {**kind, "metadata": {"name": f"y{number}"}, "spec": spec}
            steps.append(request("POST", base, document))
        else:
            operation = {"op": "replace", "path": "/spec", "value": spec}
            steps.append(patch(f"{base}/x", JSON_PATCH, [operation]))
    return steps
