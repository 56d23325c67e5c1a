"""Templates of pods as released providers have them: security contexts, affinities, volumes,
constraints, most with one wrong value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tests.differential.case import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_PATCH,
    Case,
    Json,
    Step,
    patch,
    request,
)
from tests.differential.draw import Draw

_KINDS: Final = ("deployments", "daemonsets", "statefulsets", "replicasets")
_IDS: Final = (0, 1000, 65532, -1, 2147483647, 2147483648)
_KEYS: Final = ("kubernetes.io/hostname", "a", "", "-", "a/b/c", "node-role.kubernetes.io/x")
_PATHS: Final = ("a", "a/b", "/a", "../a", "..a", "", "a/../b", "..")
_MODES: Final = (0, 420, 511, 512, -1, None)
_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "", "in")
_VALUES: Final = ("a", "", "-", "a b", "1")


def _profile(draw: Draw) -> Json:
    result: Json = {"type": draw.one(("RuntimeDefault", "Unconfined", "Localhost", "", "x"))}
    if draw.chance(0.4):
        result["localhostProfile"] = draw.one(_PATHS)
    return result


def _context(draw: Draw) -> Json:
    result: Json = {}
    for name, make in (
        ("runAsUser", lambda: draw.one(_IDS)),
        ("runAsGroup", lambda: draw.one(_IDS)),
        ("runAsNonRoot", lambda: draw.one((True, False, None))),
        ("seccompProfile", lambda: _profile(draw)),
        ("appArmorProfile", lambda: _profile(draw)),
    ):
        if draw.chance(0.25):
            result[name] = make()
    return result


def _of_pod(draw: Draw) -> Json:
    result = _context(draw)
    for name, values in (
        ("fsGroup", _IDS),
        ("supplementalGroups", ([1], [1, -1], [])),
        ("fsGroupChangePolicy", ("Always", "OnRootMismatch", "x", "")),
        ("supplementalGroupsPolicy", ("Merge", "Strict", "x")),
        ("seLinuxChangePolicy", ("Recursive", "MountOption", "x")),
        ("sysctls", ([{"name": "a.b", "value": "1"}], [{"name": "", "value": ""}] * 2)),
        ("sysctls", ([{"name": "A", "value": "1"}], [{"name": "a", "value": ""}] * 2)),
    ):
        if draw.chance(0.15):
            result[name] = draw.one(values)
    return result


def _of_container(draw: Draw) -> Json:
    result = _context(draw)
    for name, values in (
        ("allowPrivilegeEscalation", (False, False, True)),
        ("privileged", (True, False)),
        ("readOnlyRootFilesystem", (True, None)),
        ("procMount", ("Default", "Unmasked", "x", "")),
        ("capabilities", ({"drop": ["ALL"]}, {"add": ["CAP_SYS_ADMIN"]}, {"add": ["X"]})),
        ("seLinuxOptions", ({"level": "s0"}, {})),
    ):
        if draw.chance(0.3):
            result[name] = draw.one(values)
    return result


def _expression(draw: Draw) -> Json:
    result: Json = {"key": draw.one(_KEYS), "operator": draw.one(_OPERATORS)}
    if draw.chance(0.7):
        result["values"] = [draw.one(_VALUES) for _ in range(draw.number(0, 2))]
    return result


def _selector(draw: Draw) -> Json:
    if draw.chance(0.5):
        return {"matchLabels": {draw.one(("a", "app", "-")): draw.one(_VALUES)}}
    return {"matchExpressions": [_expression(draw)]}


def _term(draw: Draw) -> Json:
    result: Json = {"topologyKey": draw.one(_KEYS)}
    for name, make in (
        ("labelSelector", lambda: _selector(draw)),
        ("namespaceSelector", lambda: _selector(draw)),
        ("namespaces", lambda: [draw.one(("a", "A", ""))]),
        ("matchLabelKeys", lambda: [draw.one(_KEYS)]),
        ("mismatchLabelKeys", lambda: [draw.one(_KEYS)]),
    ):
        if draw.chance(0.4):
            result[name] = make()
    return result


def _node_term(draw: Draw) -> Json:
    if draw.chance(0.7):
        return {"matchExpressions": [_expression(draw)]}
    names = ("metadata.name", "metadata.namespace", "")
    field = {"key": draw.one(names), "operator": draw.one(_OPERATORS), "values": ["a"]}
    return {"matchFields": [field]}


def _affinity(draw: Draw) -> Json:
    needed, wanted = (
        f"{item}DuringSchedulingIgnoredDuringExecution" for item in ("required", "preferred")
    )
    weight = draw.one((1, 100, 0, 101))
    return draw.one(
        (
            {"nodeAffinity": {needed: {"nodeSelectorTerms": [_node_term(draw)]}}},
            {"nodeAffinity": {needed: {"nodeSelectorTerms": []}}},
            {"nodeAffinity": {wanted: [{"weight": weight, "preference": _node_term(draw)}]}},
            {"podAffinity": {needed: [_term(draw)]}},
            {"podAntiAffinity": {wanted: [{"weight": weight, "podAffinityTerm": _term(draw)}]}},
        )
    )


def _spread(draw: Draw) -> Json:
    result: Json = {
        "maxSkew": draw.one((1, 1, 2, 0, -1)),
        "topologyKey": draw.one(_KEYS),
        "whenUnsatisfiable": draw.one(("DoNotSchedule", "ScheduleAnyway", "", "x")),
    }
    for name, make in (
        ("labelSelector", lambda: _selector(draw)),
        ("minDomains", lambda: draw.one((1, 0, 5))),
        ("nodeAffinityPolicy", lambda: draw.one(("Honor", "Ignore", "x"))),
        ("nodeTaintsPolicy", lambda: draw.one(("Honor", "Ignore", ""))),
        ("matchLabelKeys", lambda: [draw.one(_KEYS)]),
    ):
        if draw.chance(0.3):
            result[name] = make()
    return result


def _items(draw: Draw) -> list[Json]:
    return [{"key": draw.one(("k", "k", "")), "path": draw.one(_PATHS), "mode": draw.one(_MODES)}]


def _files(draw: Draw) -> list[Json]:
    file: Json = {"path": draw.one(_PATHS)}
    if draw.chance(0.8):
        field = draw.one(("metadata.name", "metadata.labels", "metadata.uid", "spec.nodeName"))
        file["fieldRef"] = {"fieldPath": field}
    return [file]


def _projection(draw: Draw) -> Json:
    token = {"path": draw.one(_PATHS), "expirationSeconds": draw.one((600, 599, 1 << 33, None))}
    return draw.one(
        (
            {"secret": {"name": draw.one(("s", "")), "items": _items(draw)}},
            {"configMap": {"name": draw.one(("s", "")), "items": _items(draw) * 2}},
            {"serviceAccountToken": token},
            {"downwardAPI": {"items": _files(draw)}},
        )
    )


def _source(draw: Draw) -> Json:
    mode = draw.one(_MODES)
    return draw.one(
        (
            {"emptyDir": draw.one(({}, {"sizeLimit": "1Gi"}, {"sizeLimit": "-1"}))},
            {"hostPath": {"path": draw.one(("/a", "", "/a/../b", "a")), "type": draw.one(_TYPES)}},
            {"secret": {"secretName": draw.one(("s", "", None)), "defaultMode": mode}},
            {"secret": {"secretName": "s", "items": _items(draw)}},
            {"configMap": {"name": draw.one(("s", "", None)), "items": _items(draw)}},
            {"persistentVolumeClaim": {"claimName": draw.one(("c", ""))}},
            {"nfs": {"server": draw.one(("s", "")), "path": draw.one(("/a", "a", ""))}},
            {"csi": {"driver": draw.one(("a.b", "", "A_B", "x" * 64))}},
            {"downwardAPI": {"items": _files(draw), "defaultMode": mode}},
            {"projected": {"sources": [_projection(draw)], "defaultMode": mode}},
            {"emptyDir": {}, "secret": {"secretName": "s"}},
            {},
        )
    )


_TYPES: Final = ("", "Directory", "File", "x", None)


def _volumes(draw: Draw) -> list[Json]:
    names = ("cert", "cert", "data", "", "A")
    return [{"name": draw.one(names), **_source(draw)} for _ in range(draw.number(1, 2))]


def _mounts(draw: Draw) -> list[Json]:
    result: Json = {"name": draw.one(("cert", "data", "")), "mountPath": draw.one(("/a", "/b", ""))}
    if draw.chance(0.3):
        result["subPath"] = draw.one(_PATHS)
    if draw.chance(0.1):
        result["subPathExpr"] = draw.one(_PATHS)
    return [result]


def _env_from(draw: Draw) -> list[Json]:
    return [
        draw.one(
            (
                {"configMapRef": {"name": draw.one(("a", ""))}},
                {"secretRef": {"name": "a"}},
                {},
                {"configMapRef": {"name": "a"}, "secretRef": {"name": "a"}},
            )
        )
    ]


def _host(draw: Draw) -> Json:
    port = {"containerPort": 9443, "hostPort": draw.one((9443, 1, 0))}
    return {"hostNetwork": draw.one((True, False)), "containers": [_container(ports=[port])]}


def _container(**more: Any) -> Json:
    return {"name": "manager", "image": "x", **more}


_PARTS: Final[tuple[Callable[[Draw], Json], ...]] = (
    lambda draw: {"securityContext": _of_pod(draw)},
    lambda draw: {"containers": [_container(securityContext=_of_container(draw))]},
    lambda draw: {"affinity": _affinity(draw)},
    lambda draw: {"topologySpreadConstraints": [_spread(draw) for _ in range(draw.number(1, 2))]},
    lambda draw: {
        "volumes": _volumes(draw),
        "containers": [_container(volumeMounts=_mounts(draw))],
    },
    lambda draw: {"volumes": _volumes(draw)},
    lambda draw: {"readinessGates": [{"conditionType": draw.one(_KEYS)}]},
    lambda draw: {"containers": [_container(envFrom=_env_from(draw))]},
    _host,
)


def _spec(draw: Draw) -> Json:
    spec: Json = {"containers": [_container()]}
    for _ in range(draw.number(1, 2)):
        spec.update(draw.one(_PARTS)(draw))
    return spec


def generate(draw: Draw) -> Case:
    """A workload, created, and its template changed in several ways."""
    plural = draw.one(_KINDS)
    kind = {"deployments": "Deployment", "daemonsets": "DaemonSet"}.get(
        plural, "StatefulSet" if plural == "statefulsets" else "ReplicaSet"
    )
    base = f"/apis/apps/v1/namespaces/${{ns}}/{plural}"
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [_container()]}}
    document: Json = {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "x"},
        "spec": {"selector": {"matchLabels": {"app": "x"}}, "template": template},
    }
    if plural == "statefulsets":
        document["spec"]["serviceName"] = "x"
    path, steps = f"{base}/x", [request("POST", base, document)]
    for number in range(draw.number(4, 6)):
        steps.append(_changed(draw, base, path, document, number))
    return {"setup": [], "steps": steps}


def _changed(draw: Draw, base: str, path: str, document: Json, number: int) -> Step:
    spec = _spec(draw)
    whole = {
        **document,
        "spec": {**document["spec"], "template": {**document["spec"]["template"], "spec": spec}},
    }
    part = {"spec": {"template": {"spec": spec}}}
    operation = {"op": "replace", "path": "/spec/template/spec", "value": spec}
    again = {**whole, "metadata": {"name": f"y{number}"}}
    applied = {"fieldManager": "x", "force": "true"}
    return draw.made(
        (
            (3.0, lambda: request("POST", base, again)),
            (1.0, lambda: patch(path, STRATEGIC_PATCH, part)),
            (1.0, lambda: patch(path, MERGE_PATCH, part)),
            (1.0, lambda: patch(path, JSON_PATCH, [operation])),
            (1.0, lambda: patch(path, APPLY_PATCH, whole, query=applied)),
        )
    )
