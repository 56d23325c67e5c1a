"""Paths and verbs: what is served, what is not, how that is said; discovery."""

from __future__ import annotations

from typing import Final

from tests.differential.case import Case, Json, Step, request
from tests.differential.draw import Draw

METHODS: Final = {
    "GET": 5.0,
    "POST": 3.0,
    "PUT": 3.0,
    "PATCH": 3.0,
    "DELETE": 3.0,
    "HEAD": 0.7,
    "OPTIONS": 0.7,
    "FOO": 0.3,
}
GROUPS: Final = (
    "/api/v1", "/api/v1", "/apis/apps/v1", "/apis/oracle.example.dev/v1", "/apis/oracle.example.dev/v1",
    "/apis/oracle.example.dev/v1beta1", "/apis/oracle.example.dev/v9", "/apis/nothing.example.dev/v1",
    "/apis/coordination.k8s.io/v1", "/apis/rbac.authorization.k8s.io/v1", "/apis/authorization.k8s.io/v1",
    "/apis/authentication.k8s.io/v1", "/apis/apiextensions.k8s.io/v1", "/apis/events.k8s.io/v1", "/api/v2",
    "/apis/apps/v2", "/apis/autoscaling/v1", "/apis/policy/v1", "/apis/batch/v1", "/apis/discovery.k8s.io/v1",
    "/apis/admissionregistration.k8s.io/v1", "/apis/networking.k8s.io/v1",
)  # fmt: skip
RESOURCES: Final = (
    "widgets", "gadgets", "versioneds", "configmaps", "secrets", "deployments", "leases", "roles", "clusterroles",
    "nothings", "namespaces", "nodes", "events", "Widgets", "widget", "pods", "services", "serviceaccounts",
    "subjectaccessreviews", "localsubjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews",
    "tokenreviews", "customresourcedefinitions", "bindings", "componentstatuses", "replicationcontrollers",
    "poddisruptionbudgets", "jobs", "endpointslices", "selfsubjectreviews", "validatingwebhookconfigurations",
)  # fmt: skip
PARTS: Final = (
    "status",
    "scale",
    "log",
    "exec",
    "binding",
    "eviction",
    "token",
    "proxy",
    "finalize",
    "other",
    "a/b",
    "",
)
ROOTS: Final = (
    "/", "/api", "/api/", "/apis", "/apis/", "/healthz", "/livez", "/readyz", "/version", "/version/", "/metrics/x",
    "/openapi", "/openapi/v3/x", "/apis/apps", "/apis/apps/", "/apis/oracle.example.dev", "/api/v1", "/api/v1/",
    "/apis/oracle.example.dev/v1", "/apis/oracle.example.dev/v1/", "/apis/nothing.example.dev", "/foo", "/foo/bar",
    "//api/v1", "/api//v1", "/healthz/",
    "/healthz/ping", "/livez/ping", "/readyz/nothing", "/logs", "/ui",
    "/.well-known/openid-configuration", "/openid/v1/jwks", "/swagger.json", "/api/v1/namespaces/", "/api/v1/x/y/z/a/b",
    "/apis/coordination.k8s.io/v1", "/apis/rbac.authorization.k8s.io", "/api/v1/proxy/nodes/x", "/index.html",
)  # fmt: skip


def generate(draw: Draw) -> Case:
    """Requests for paths of all kinds."""
    steps = [_asked(draw) for _ in range(draw.number(6, 10))]
    return {"steps": steps, "namespace": draw.chance(0.7)}


def _asked(draw: Draw) -> Step:
    method = draw.weighted(METHODS)
    path = draw.one(ROOTS) if draw.chance(0.25) else _path(draw)
    if path in ROOTS:
        # The documents of these paths differ: servers have other resources and other checks.
        step = request(method, path)
        return {**step, "only": ["/kind", "/message", "/reason", "/code", "/details"]}
    query: Json = draw.one(({}, {}, {}, {}, {"watch": "x"}, {"dryRun": "x"}))
    user = draw.weighted({"": 12, "alice": 2, "none": 1, "bad": 0.5})
    headers = {}
    if method in ("GET", "HEAD", "OPTIONS", "FOO"):
        if "watch" in query:
            query = {}
        body_step = request(method, path, query=query, user=user)
    else:
        body = _body(draw)
        if method == "PATCH":
            headers["Content-Type"] = "application/merge-patch+json"
        body_step = request(method, path, body, query=query, headers=headers, user=user)
    if method == "GET" and path.count("/") <= 5 and "${ns}" not in path:
        body_step["only"] = ["/kind", "/message", "/reason", "/code", "/details", "/apiVersion"]
    if method == "DELETE" and "${ns}" not in path:
        # Other cases share what is outside of namespaces.
        body_step["request"]["query"] = {"dryRun": "All", "labelSelector": "none=such"}
    return body_step


def _path(draw: Draw) -> str:
    path = draw.one(GROUPS)
    if draw.chance(0.75):
        path += "/namespaces/" + draw.weighted(
            {"${ns}": 8, "default": 0.5, "none": 1, "": 0.3, "A B": 0.2}
        )
    path += "/" + draw.one(RESOURCES)
    if draw.chance(0.65):
        path += "/" + draw.weighted(
            {"alpha": 5, "${u}-x": 1, "": 0.5, ".": 0.1, "A_b": 0.3, "a:b": 0.1}
        )
        if draw.chance(0.4):
            path += "/" + draw.one(PARTS)
    return path


def _body(draw: Draw) -> Json:
    return draw.one(
        (
            {},
            None,
            [],
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "alpha"}},
            {
                "apiVersion": "oracle.example.dev/v1",
                "kind": "Widget",
                "metadata": {"name": "alpha"},
                "spec": {"size": "small"},
            },
            {"metadata": {"name": "alpha"}},
            {"spec": {"replicas": 1}},
        )
    )
