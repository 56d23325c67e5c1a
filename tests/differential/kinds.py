"""The kinds that generated cases are about: their paths, and objects of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tests.differential.case import Json
from tests.differential.draw import Draw

GROUP: Final = "oracle.example.dev"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind. make: fills in what is not metadata, legally for the most part."""

    api: str
    kind: str
    plural: str
    make: Callable[[Draw], Json]
    namespaced: bool = True
    status: bool = False
    scale: bool = False

    @property
    def path(self) -> str:
        """The collection, of the case's namespace."""
        root = f"/api/{self.api}" if "/" not in self.api else f"/apis/{self.api}"
        return f"{root}/namespaces/${{ns}}/{self.plural}" if self.namespaced else self.everywhere

    @property
    def everywhere(self) -> str:
        """The collection, of all namespaces."""
        root = f"/api/{self.api}" if "/" not in self.api else f"/apis/{self.api}"
        return f"{root}/{self.plural}"

    def named(self, name: str) -> str:
        """Return the name of an object; if it is cluster-scoped, with the word of the run."""
        return name if self.namespaced else f"${{u}}-{name}"

    def at(self, name: str, part: str = "") -> str:
        """The path of an object or of a part of it."""
        return f"{self.path}/{self.named(name)}" + (f"/{part}" if part else "")

    def object(self, draw: Draw, name: str, **metadata: Json) -> Json:
        """An object of the kind."""
        meta = {"name": self.named(name), **metadata} if name else dict(metadata)
        return {"apiVersion": self.api, "kind": self.kind, "metadata": meta, **self.make(draw)}


WORDS: Final = ("a", "b", "c", "one", "two", "x")


def _few(draw: Draw, fields: dict[str, Callable[[], Json]], most: int = 5) -> Json:
    return {name: fields[name]() for name in draw.some(list(fields), most)}


def _words(draw: Draw) -> list[str]:
    return [draw.one(WORDS) for _ in range(draw.number(1, 3))]


def _labels(draw: Draw) -> Json:
    return {draw.one(WORDS): draw.one(WORDS) for _ in range(draw.number(0, 3))}


def widget(draw: Draw) -> Json:
    """Contents of a Widget."""
    spec = {"size": draw.one(("small", "medium", "large"))}
    fields: dict[str, Callable[[], Json]] = {
        "code": lambda: draw.one(("AB1", "XY22")),
        "enabled": lambda: draw.chance(0.5),
        "even": lambda: draw.one((0, 2, 4)),
        "limits": lambda: {draw.one(WORDS): draw.number(0, 9)},
        "note": lambda: draw.one(("n", None, "")),
        "owner": lambda: {"name": "o", "team": "t"},
        "ports": lambda: [{"port": draw.number(1, 9)} for _ in range(draw.number(0, 2))],
        "ratio": lambda: draw.one((0.5, 1, 0.25)),
        "replicas": lambda: draw.number(0, 5),
        "tags": lambda: _words(draw),
        "when": lambda: "2020-01-01T00:00:00Z",
    }
    return {"spec": {**spec, **_few(draw, fields)}}


def widget_status(draw: Draw) -> Json:
    """Status of a Widget."""
    fields: dict[str, Callable[[], Json]] = {
        "phase": lambda: draw.one(("Pending", "Running", "Failed")),
        "replicas": lambda: draw.number(0, 5),
        "observedGeneration": lambda: draw.number(0, 5),
        "selector": lambda: draw.one(("a=b", "")),
        "conditions": lambda: [
            {"type": draw.one(("Ready", "Fine")), "status": draw.one(("True", "False"))}
        ],
    }
    return _few(draw, fields)


def gadget(draw: Draw) -> Json:
    """Contents of a Gadget."""
    spec = _few(draw, {"color": lambda: draw.one(WORDS), "weight": lambda: draw.number(0, 9)})
    return {"spec": spec, **({"status": {"phase": "P"}} if draw.chance(0.2) else {})}


def shape_spec(draw: Draw, most: int = 5) -> Json:
    """The spec of a Shape: every type of list and map."""

    def named() -> Json:
        fields: dict[str, Callable[[], Json]] = {
            "value": lambda: draw.one(WORDS),
            "size": lambda: draw.number(0, 3),
            "tags": lambda: sorted(set(_words(draw))),
            "inner": lambda: _few(draw, {"a": lambda: "1", "b": lambda: draw.one(WORDS)}),
        }
        return {"name": draw.one(WORDS[:4]), **_few(draw, fields, 3)}

    def port() -> Json:
        more = _few(
            draw, {"name": lambda: draw.one(WORDS), "protocol": lambda: draw.one(("TCP", "UDP"))}
        )
        return {"port": draw.number(1, 3), **more}

    def unique(make: Callable[[], Json], *keys: str) -> list[Json]:
        entries = [make() for _ in range(draw.number(0, 3))]
        return list({tuple(str(item.get(key)) for key in keys): item for item in entries}.values())

    pair = {"a": lambda: draw.one(WORDS), "b": lambda: draw.one(WORDS)}
    fields: dict[str, Callable[[], Json]] = {
        "amount": lambda: draw.one((1, "1", "50%")),
        "byName": lambda: unique(named, "name"),
        "byPort": lambda: unique(port, "port", "protocol"),
        "count": lambda: draw.number(0, 3),
        "flag": lambda: draw.chance(0.5),
        "granular": lambda: _labels(draw),
        "labels": lambda: _labels(draw),
        "loose": lambda: draw.one(({}, {"x": 1}, {"x": {"y": [1]}}, {"z": None})),
        "mode": lambda: draw.one(("auto", "hand")),
        "name": lambda: draw.one(WORDS),
        "nested": lambda: _few(draw, {"left": lambda: _few(draw, pair), "right": dict}),
        "note": lambda: draw.one(("n", None)),
        "numbers": lambda: sorted({draw.number(0, 4) for _ in range(3)}),
        "selector": lambda: _few(
            draw, {"key": lambda: draw.one(WORDS), "value": lambda: draw.one(WORDS)}
        ),
        "steps": lambda: [{"run": draw.one(WORDS)} for _ in range(draw.number(0, 2))],
        "tags": lambda: sorted(set(_words(draw))),
        "words": lambda: _words(draw),
    }
    return _few(draw, fields, most)


def shape(draw: Draw) -> Json:
    """Contents of a Shape."""
    return {"spec": shape_spec(draw)}


def shape_status(draw: Draw) -> Json:
    """Status of a Shape."""
    kinds = [{"type": draw.one(("Ready", "Fine")), "status": draw.one(("True", "False"))}]
    fields: dict[str, Callable[[], Json]] = {
        "conditions": lambda: kinds,
        "phase": lambda: draw.one(WORDS),
        "ready": lambda: draw.chance(0.5),
    }
    return _few(draw, fields)


def versioned(draw: Draw) -> Json:
    """Contents of a Versioned, in any version."""
    fields: dict[str, Callable[[], Json]] = {
        name: lambda: draw.one(WORDS) for name in ("a", "b", "c")
    }
    return {"spec": _few(draw, {**fields, "replicas": lambda: draw.number(0, 5)})}


def config_map(draw: Draw) -> Json:
    """Contents of a ConfigMap."""
    fields: dict[str, Callable[[], Json]] = {
        "data": lambda: _labels(draw),
        "binaryData": lambda: {"bin": draw.one(("aGk=", ""))},
        "immutable": lambda: draw.chance(0.4),
    }
    return _few(draw, fields, 2)


def secret(draw: Draw) -> Json:
    """Contents of a Secret."""
    fields: dict[str, Callable[[], Json]] = {
        "data": lambda: {draw.one(WORDS): draw.one(("aGk=", ""))},
        "stringData": lambda: _labels(draw),
        "type": lambda: draw.one(("Opaque", "example.com/own", "kubernetes.io/basic-auth")),
        "immutable": lambda: draw.chance(0.4),
    }
    return _few(draw, fields, 3)


def lease(draw: Draw) -> Json:
    """Contents of a Lease."""
    fields: dict[str, Callable[[], Json]] = {
        "holderIdentity": lambda: draw.one(WORDS),
        "leaseDurationSeconds": lambda: draw.one((1, 15)),
        "leaseTransitions": lambda: draw.one((0, 1)),
        "acquireTime": lambda: "2020-01-01T00:00:00.000000Z",
        "renewTime": lambda: "2020-01-01T00:00:00.123456Z",
    }
    return {"spec": _few(draw, fields)}


def service_account(draw: Draw) -> Json:
    """Contents of a ServiceAccount."""
    fields: dict[str, Callable[[], Json]] = {
        "secrets": lambda: [{"name": draw.one(WORDS)}],
        "imagePullSecrets": lambda: [{"name": draw.one(WORDS)}],
        "automountServiceAccountToken": lambda: draw.chance(0.5),
    }
    return _few(draw, fields, 2)


def container(draw: Draw, name: str = "main") -> Json:
    """A container of a pod."""
    fields: dict[str, Callable[[], Json]] = {
        "env": lambda: [
            {"name": word.upper(), "value": draw.one(WORDS)} for word in sorted(set(_words(draw)))
        ],
        "ports": lambda: [{"containerPort": draw.number(80, 82)}],
        "args": lambda: _words(draw),
        "imagePullPolicy": lambda: draw.one(("Always", "IfNotPresent")),
    }
    return {"name": name, "image": draw.one(("nginx", "nginx:1")), **_few(draw, fields, 2)}


def deployment(draw: Draw) -> Json:
    """Contents of a Deployment."""
    names = ["main", *draw.some(("side", "log"), 1)]
    template = {
        "metadata": {"labels": {"app": "x"}},
        "spec": {"containers": [container(draw, name) for name in names]},
    }
    fields: dict[str, Callable[[], Json]] = {
        "replicas": lambda: draw.number(0, 4),
        "paused": lambda: draw.chance(0.5),
        "minReadySeconds": lambda: draw.number(0, 3),
        "strategy": lambda: {"type": draw.one(("Recreate", "RollingUpdate"))},
    }
    selector = {"matchLabels": {"app": "x"}}
    return {"spec": {"selector": selector, "template": template, **_few(draw, fields, 2)}}


def service(draw: Draw) -> Json:
    """Contents of a Service."""
    fields: dict[str, Callable[[], Json]] = {
        "selector": lambda: _labels(draw),
        "clusterIP": lambda: "None",
        "sessionAffinity": lambda: draw.one(("None", "ClientIP")),
        "type": lambda: draw.one(("ClusterIP", "NodePort", "ExternalName")),
        "publishNotReadyAddresses": lambda: draw.chance(0.5),
    }
    ports = [
        {"name": name, "port": 80 + number, "protocol": draw.one(("TCP", "UDP"))}
        for number, name in enumerate(("a", "b")[: draw.number(1, 2)])
    ]
    return {"spec": {"ports": ports, **_few(draw, fields, 2)}}


def role(draw: Draw) -> Json:
    """Contents of a Role."""
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": draw.some(("get", "list", "*"))}
    rule["verbs"] = rule["verbs"] or ["get"]
    return {"rules": [rule]}


def nothing(draw: Draw) -> Json:
    """Contents of a kind whose fields are left out."""
    return {}


WIDGET: Final = Kind(f"{GROUP}/v1", "Widget", "widgets", widget, status=True, scale=True)
GADGET: Final = Kind(f"{GROUP}/v1", "Gadget", "gadgets", gadget, namespaced=False)
SHAPE: Final = Kind(f"{GROUP}/v1", "Shape", "shapes", shape, status=True)
LOOSE: Final = Kind(f"{GROUP}/v1", "Loose", "looses", nothing)
DEFAULT: Final = Kind(f"{GROUP}/v1", "Default", "defaults", nothing)
VERSIONED: Final = tuple(
    Kind(f"{GROUP}/{version}", "Versioned", "versioneds", versioned, status=True, scale=True)
    for version in ("v1", "v1beta1", "v1alpha1")
)
CONFIG_MAP: Final = Kind("v1", "ConfigMap", "configmaps", config_map)
SECRET: Final = Kind("v1", "Secret", "secrets", secret)
SERVICE: Final = Kind("v1", "Service", "services", service)
SERVICE_ACCOUNT: Final = Kind("v1", "ServiceAccount", "serviceaccounts", service_account)
LEASE: Final = Kind("coordination.k8s.io/v1", "Lease", "leases", lease)
DEPLOYMENT: Final = Kind(
    "apps/v1", "Deployment", "deployments", deployment, status=True, scale=True
)
ROLE: Final = Kind("rbac.authorization.k8s.io/v1", "Role", "roles", role)
CUSTOM: Final = (WIDGET, SHAPE, GADGET, *VERSIONED)
SMALL: Final = (CONFIG_MAP, SECRET, LEASE, SERVICE_ACCOUNT)
