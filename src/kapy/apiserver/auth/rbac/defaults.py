"""The default roles and bindings of every server.

All servers of a process share them, so they must not be changed. As on kube-apiserver they have the
label `kubernetes.io/bootstrapping`. Users may change them in the store, but missing rules are added
again at the next start (annotation `rbac.authorization.kubernetes.io/autoupdate`). They cover the
resources of this server.
"""

from __future__ import annotations

from typing import Any, Final

from kapy.kube import Document

API: Final = "rbac.authorization.k8s.io/v1"
_GROUP: Final = "rbac.authorization.k8s.io"
AUTOUPDATE: Final = "rbac.authorization.kubernetes.io/autoupdate"
_BOOT: Final = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_AGGREGATE: Final = "rbac.authorization.k8s.io/aggregate-to-"

_READ: Final = "get list watch"
_WRITE: Final = "create delete deletecollection patch update"
_ALL: Final = "create delete deletecollection get list patch update watch"


def _rule(verbs: str, resources: str, group: str = "") -> Document:
    return {"verbs": verbs.split(), "apiGroups": [group], "resources": resources.split()}


def _paths(*paths: str, verbs: str = "get") -> Document:
    return {"verbs": [verbs], "nonResourceURLs": list(paths)}


def _meta(name: str, labels: Document | None = None) -> Document:
    return {
        "name": name,
        "labels": {**_BOOT, **(labels or {})},
        "annotations": {AUTOUPDATE: "true"},
    }


def _role(name: str, *rules: Document, labels: Document | None = None, **more: Any) -> Document:
    return {
        "apiVersion": API,
        "kind": "ClusterRole",
        "metadata": _meta(name, labels),
        "rules": list(rules),
        **more,
    }


def _binding(name: str, *groups: str, role: str = "") -> Document:
    return {
        "apiVersion": API,
        "kind": "ClusterRoleBinding",
        "metadata": _meta(name),
        "roleRef": {"apiGroup": _GROUP, "kind": "ClusterRole", "name": role or name},
        "subjects": [{"kind": "Group", "apiGroup": _GROUP, "name": group} for group in groups],
    }


_OPEN = ("/healthz", "/livez", "/readyz", "/version", "/version/")
_ISSUER = ("/.well-known/openid-configuration", "/openid/v1/jwks")
_VERSIONED = ("/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*")

_CORE = "configmaps events persistentvolumeclaims replicationcontrollers"
_SCALES = "replicationcontrollers/scale"
_APPS = (
    "daemonsets deployments deployments/scale replicasets replicasets/scale statefulsets "
    "statefulsets/scale"
)
_VIEW = (
    _rule(
        _READ,
        "configmaps endpoints events limitranges namespaces namespaces/status "
        "persistentvolumeclaims persistentvolumeclaims/status pods pods/status "
        f"replicationcontrollers {_SCALES} replicationcontrollers/status resourcequotas "
        "resourcequotas/status serviceaccounts services services/status",
    ),
    _rule(_READ, "endpointslices", "discovery.k8s.io"),
    _rule(
        _READ,
        f"controllerrevisions {_APPS} daemonsets/status deployments/status replicasets/status "
        "statefulsets/status",
        "apps",
    ),
    _rule(_READ, "horizontalpodautoscalers horizontalpodautoscalers/status", "autoscaling"),
    _rule(_READ, "cronjobs cronjobs/status jobs jobs/status", "batch"),
    _rule(_READ, "poddisruptionbudgets poddisruptionbudgets/status", "policy"),
    _rule(_READ, "ingresses ingresses/status networkpolicies", "networking.k8s.io"),
    _rule(_READ, "resourceclaims resourceclaims/status resourceclaimtemplates", "resource.k8s.io"),
)
_EDIT = (
    _rule(_READ, "secrets"),
    _rule("impersonate", "serviceaccounts"),
    _rule(_WRITE, "pods"),
    _rule("create", "pods/eviction"),
    _rule(_WRITE, f"{_CORE} {_SCALES} secrets serviceaccounts services"),
    _rule("create", "serviceaccounts/token"),
    _rule(_WRITE, _APPS, "apps"),
    _rule(_WRITE, "horizontalpodautoscalers", "autoscaling"),
    _rule(_WRITE, "cronjobs jobs", "batch"),
    _rule(_WRITE, "poddisruptionbudgets", "policy"),
    _rule(_WRITE, "ingresses networkpolicies", "networking.k8s.io"),
    _rule(_WRITE, "resourceclaims resourceclaimtemplates", "resource.k8s.io"),
    _rule(_ALL, "leases", "coordination.k8s.io"),
)
_ADMIN = (
    _rule("create", "localsubjectaccessreviews", "authorization.k8s.io"),
    _rule(_ALL, "rolebindings roles", _GROUP),
)


def _subjects(*roles: str) -> Document:
    return {f"{_AGGREGATE}{role}": "true" for role in roles}


def _aggregated_role(role: str) -> Document:
    selector = {"matchLabels": {f"{_AGGREGATE}{role}": "true"}}
    return {"clusterRoleSelectors": [selector]}


ROLES: Final[dict[str, Document]] = {
    role["metadata"]["name"]: role
    for role in (
        _role("cluster-admin", _rule("*", "*", "*"), _paths("*", verbs="*")),
        _role("system:discovery", _paths(*sorted((*_OPEN, *_VERSIONED)))),
        _role("system:public-info-viewer", _paths(*_OPEN)),
        _role("system:monitoring", _paths("/metrics", "/healthz", "/healthz/*", "/livez")),
        _role(
            "system:basic-user",
            _rule(
                "create", "selfsubjectaccessreviews selfsubjectrulesreviews", "authorization.k8s.io"
            ),
            _rule("create", "selfsubjectreviews", "authentication.k8s.io"),
        ),
        _role(
            "system:service-account-issuer-discovery",
            _paths(*(f"{page}{end}" for page in _ISSUER for end in ("", "/"))),
        ),
        _role(
            "system:auth-delegator",
            _rule("create", "tokenreviews", "authentication.k8s.io"),
            _rule("create", "subjectaccessreviews", "authorization.k8s.io"),
        ),
        _role(
            "system:node-proxier",
            _rule("list watch", "endpoints services"),
            _rule(_READ, "nodes"),
            _rule("create patch update", "events"),
            _rule("list watch", "endpointslices", "discovery.k8s.io"),
        ),
        _role(
            "system:node-bootstrapper",
            _rule("create get list watch", "certificatesigningrequests", "certificates.k8s.io"),
        ),
        _role("system:aggregate-to-view", *_VIEW, labels=_subjects("view")),
        _role("system:aggregate-to-edit", *_EDIT, labels=_subjects("edit")),
        _role("system:aggregate-to-admin", *_ADMIN, labels=_subjects("admin")),
        _role("view", *_VIEW, labels=_subjects("edit"), aggregationRule=_aggregated_role("view")),
        _role(
            "edit",
            *_EDIT,
            *_VIEW,
            labels=_subjects("admin"),
            aggregationRule=_aggregated_role("edit"),
        ),
        _role("admin", *_EDIT, *_VIEW, *_ADMIN, aggregationRule=_aggregated_role("admin")),
    )
}

_EVERYBODY = "system:authenticated"

BINDINGS: Final[dict[str, Document]] = {
    binding["metadata"]["name"]: binding
    for binding in (
        _binding("cluster-admin", "system:masters"),
        _binding("system:discovery", _EVERYBODY),
        _binding("system:public-info-viewer", _EVERYBODY, "system:unauthenticated"),
        _binding("system:basic-user", _EVERYBODY),
        _binding("system:monitoring", "system:monitoring"),
        _binding("system:service-account-issuer-discovery", "system:serviceaccounts"),
    )
}
