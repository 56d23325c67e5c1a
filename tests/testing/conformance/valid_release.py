"""A release of a made-up provider that keeps every static rule, to be broken one by one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kapy.contract.resolve import crd_name
from kapy.testing.conformance.files import File
from kapy.testing.conformance.release import Release

Objects = dict[str, list[dict[str, Any]]]
"""The objects of each file."""

DOMAIN: Final = "meadow.example"
VERBS: Final = ["create", "delete", "get", "list", "patch", "update", "watch"]
CONDITIONS: Final = {
    "status.conditions": "array",
    "status.conditions.[].type": "string",
    "status.conditions.[].status": "string",
}
DOMAINS: Final = "status.failureDomains"
TIMEOUT: Final = "spec.machineTemplate.spec.deletion.node{}TimeoutSeconds"
MOVED: Final = "clusterctl.cluster.x-k8s.io/move-hierarchy"
FIELDS: Final[Mapping[str, Mapping[str, str]]] = {
    "MeadowCluster": {
        **CONDITIONS,
        "spec.controlPlaneEndpoint.host": "string",
        "spec.controlPlaneEndpoint.port": "integer",
        DOMAINS: "array",
        f"{DOMAINS}.[].name": "string",
        "status.initialization.provisioned": "boolean",
    },
    "MeadowMachine": {
        **CONDITIONS,
        "spec.providerID": "string",
        "status.failureDomain": "string",
        "status.addresses": "array",
        "status.addresses.[].type": "string",
        "status.addresses.[].address": "string",
        "status.initialization.provisioned": "boolean",
    },
    "MeadowMachinePool": {
        **CONDITIONS,
        "spec.providerID": "string",
        "spec.providerIDList": "array",
        "spec.providerIDList.[]": "string",
        "status.instances": "array",
        "status.infrastructureMachineKind": "string",
        "status.initialization.provisioned": "boolean",
        "status.replicas": "integer",
    },
    "MeadowConfig": {
        **CONDITIONS,
        "status.dataSecretName": "string",
        "status.initialization.dataSecretCreated": "boolean",
    },
    "MeadowControlPlane": {
        **CONDITIONS,
        "spec.controlPlaneEndpoint.host": "string",
        "spec.controlPlaneEndpoint.port": "integer",
        "spec.replicas": "integer",
        "spec.version": "string",
        "spec.rollout.after": "string",
        "spec.machineTemplate.metadata": "object",
        "spec.machineTemplate.spec.infrastructureRef": "object",
        TIMEOUT.format("Drain"): "integer",
        TIMEOUT.format("VolumeDetach"): "integer",
        TIMEOUT.format("Deletion"): "integer",
        "status.selector": "string",
        "status.replicas": "integer",
        "status.readyReplicas": "integer",
        "status.availableReplicas": "integer",
        "status.upToDateReplicas": "integer",
        "status.versions": "array",
        "status.externalManagedControlPlane": "boolean",
        "status.initialization.controlPlaneInitialized": "boolean",
    },
}
_OLD_TIMEOUT: Final = "spec.machineTemplate.node{}Timeout"
OLD: Final[Mapping[str, Mapping[str, str]]] = {
    "MeadowCluster": {DOMAINS: "object", "status.ready": "boolean"},
    "MeadowMachine": {"status.ready": "boolean"},
    "MeadowMachinePool": {},
    "MeadowConfig": {"status.ready": "boolean"},
    "MeadowControlPlane": {
        "spec.rolloutAfter": "string",
        "spec.machineTemplate.infrastructureRef": "object",
        _OLD_TIMEOUT.format("Drain"): "string",
        _OLD_TIMEOUT.format("VolumeDetach"): "string",
        _OLD_TIMEOUT.format("Deletion"): "string",
        "status.updatedReplicas": "integer",
        "status.unavailableReplicas": "integer",
        "status.initialized": "boolean",
    },
}
"""Fields that the contract v1beta1 requires in addition, or in another form."""
TEMPLATES: Final[dict[str, dict[str, str]]] = {
    f"{kind}Template": {"spec.template.spec": "object"} for kind in FIELDS
}
for _path in ("status.capacity", "status.nodeInfo"):
    TEMPLATES["MeadowMachineTemplate"][_path] = "object"
KINDS: Final = {
    "infra-cluster": "MeadowCluster",
    "infra-machine": "MeadowMachine",
    "infra-machinepool": "MeadowMachinePool",
    "bootstrap-config": "MeadowConfig",
    "control-plane": "MeadowControlPlane",
}
_WORDS: Final = {"MeadowConfig": "bootstrap", "MeadowControlPlane": "controlplane"}
_SCALE: Final = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}


@dataclass
class Draft:
    """A release that can still be changed. word: the type of the provider."""

    word: str = "infrastructure"
    objects: Objects = field(default_factory=dict)
    version: str = "v1.2.3"
    extra: dict[str, str] = field(default_factory=dict)
    """Files as text."""

    def __post_init__(self) -> None:
        self.objects = {
            "metadata.yaml": [_metadata()],
            self.components_file: [
                *_controllers(),
                *map(crd, [*FIELDS, *TEMPLATES]),
                _rights(),
                *_own(),
            ],
            "cluster-template.yaml": _template(),
            "clusterclass-meadow.yaml": _class("meadow"),
            "clusterclass-brook.yaml": _class("brook"),
        }
        for component in self.components:
            component["metadata"].setdefault("labels", {})["cluster.x-k8s.io/provider"] = self.label

    @property
    def label(self) -> str:
        return f"{self.word}-meadow"

    @property
    def components_file(self) -> str:
        return f"{self.word}-components.yaml"

    @property
    def components(self) -> list[dict[str, Any]]:
        return self.objects[self.components_file]

    def crd(self, kind: str) -> dict[str, Any]:
        return next(component for component in self.components if _defines(component) == kind)

    def drop(self, *kinds: str) -> None:
        """Without the CRDs of some kinds."""
        self.components[:] = [
            component for component in self.components if _defines(component) not in kinds
        ]

    def of(self, kind: str, file: str = "") -> dict[str, Any]:
        """The first object of a kind, in a file or in the components."""
        objects = self.objects[file or self.components_file]
        return next(obj for obj in objects if obj["kind"] == kind)

    def schema(self, kind: str, path: str, type_: str | None) -> None:
        """A field of the newest schema of a kind: of another type, or (None) not there."""
        self.schema_of(self.crd(kind)["spec"]["versions"][-1], path, type_)

    def schema_of(self, version: dict[str, Any], path: str, type_: str | None) -> None:
        """The same, in a version of a CRD."""
        *parents, last = path.split(".")
        node = version["schema"]["openAPIV3Schema"]
        for part in parents:
            node = node["items"] if part == "[]" else node["properties"][part]
        if type_ is None:
            del node["properties"][last]
        else:
            (node["items"] if last == "[]" else node["properties"][last])["type"] = type_

    def release(self) -> Release:
        texts = {name: "\n---\n".join(map(json.dumps, obj)) for name, obj in self.objects.items()}
        files = tuple(File(name, text) for name, text in (texts | self.extra).items())
        return Release(f"{self.label}/{self.version}", files, (self.label, self.version))


def ipam() -> Draft:
    """An IPAM provider, with one kind of pools."""
    draft = Draft("ipam")
    pool = crd("MeadowPool", CONDITIONS)
    pool["metadata"]["labels"] = {
        "cluster.x-k8s.io/provider": draft.label,
        MOVED: "",
    }
    draft.drop(*FIELDS, *TEMPLATES)
    draft.components.append(pool)
    for name in ("cluster-template.yaml", "clusterclass-meadow.yaml", "clusterclass-brook.yaml"):
        del draft.objects[name]
    return draft


def group_of(kind: str) -> str:
    """The API group of a kind."""
    return f"{_WORDS.get(kind.removesuffix('Template'), 'infrastructure')}.{DOMAIN}"


def crd(kind: str, fields: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The CRD of a kind, with two versions."""
    fields = fields or FIELDS.get(kind) or TEMPLATES[kind]
    old = {"status.ready": "boolean", **fields, **OLD.get(kind, {})}
    versions: list[dict[str, Any]] = [
        {"name": name, "served": True, "storage": name == "v1beta2", "schema": _schema(entry)}
        for name, entry in (("v1beta1", old), ("v1beta2", fields))
    ]
    for version in versions:
        version["subresources"] = {"status": {}}
        if kind == "MeadowControlPlane":
            version["subresources"]["scale"] = dict(_SCALE)
    name = crd_name(group_of(kind), kind)
    labels = {f"cluster.x-k8s.io/{item}": item for item in ("v1beta1", "v1beta2")}
    plural = name.partition(".")[0]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "group": group_of(kind),
            "scope": "Namespaced",
            "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural},
            "versions": versions,
        },
    }


def _schema(fields: Mapping[str, str]) -> dict[str, Any]:
    root: dict[str, Any] = {"type": "object", "properties": {"metadata": {"type": "object"}}}
    for path, type_ in fields.items():
        node = root
        for part in path.split("."):
            if part == "[]":
                node = node.setdefault("items", {"type": "object"})
            else:
                node = node.setdefault("properties", {}).setdefault(part, {"type": "object"})
        node["type"] = type_
    return {"openAPIV3Schema": root}


def _defines(entry: Mapping[str, Any]) -> str:
    names: Mapping[str, str] = entry.get("spec", {}).get("names", {})
    return names.get("kind", "")


def _metadata() -> dict[str, Any]:
    return {
        "apiVersion": "clusterctl.cluster.x-k8s.io/v1alpha3",
        "kind": "Metadata",
        "releaseSeries": [{"major": 1, "minor": 2, "contract": "v1beta1"}],
    }


def _controllers() -> list[dict[str, Any]]:
    container = {
        "name": "manager",
        "image": "registry.example/meadow/controller:v1.2.3",
        "args": ["--zone=${MEADOW_ZONE:=north}", "--feature-gates=MachinePool=${EXP_MACHINE_POOL}"],
    }
    containers = {"containers": [container]}
    metadata = {"name": "meadow-controller", "namespace": "meadow-system"}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "meadow-system"}},
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata,
            "spec": {"template": {"spec": {"serviceAccountName": "meadow", **containers}}},
        },
    ]


def _rights() -> dict[str, Any]:
    names = [crd_name(group_of(kind), kind) for kind in (*FIELDS, *TEMPLATES)]
    plurals = [name.partition(".")[0] for name in names]
    groups = sorted({group_of(kind) for kind in FIELDS})
    labels = {"cluster.x-k8s.io/aggregate-to-manager": "true"}
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "meadow-for-core", "labels": labels},
        "rules": [{"apiGroups": groups, "resources": plurals, "verbs": list(VERBS)}],
    }


def _own() -> list[dict[str, Any]]:
    """The rights of the manager."""
    api = {"apiVersion": "rbac.authorization.k8s.io/v1"}
    claims = ["ipaddressclaims", "ipaddressclaims/status", "ipaddresses"]
    rule = {"apiGroups": ["ipam.cluster.x-k8s.io"], "resources": claims, "verbs": list(VERBS)}
    account = {"kind": "ServiceAccount", "name": "meadow", "namespace": "meadow-system"}
    return [
        {**api, "kind": "ClusterRole", "metadata": {"name": "meadow"}, "rules": [rule]},
        {
            **api,
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "meadow"},
            "roleRef": {"kind": "ClusterRole", "name": "meadow"},
            "subjects": [account],
        },
    ]


def _template() -> list[dict[str, Any]]:
    pool = {"apiGroup": group_of("MeadowMachinePool"), "kind": "MeadowMachinePool", "name": "a"}
    return [
        _core("Cluster", "${CLUSTER_NAME}", {"topology": {"version": "${KUBERNETES_VERSION}"}}),
        _core(
            "MachinePool",
            "${CLUSTER_NAME}-pool",
            {"template": {"spec": {"infrastructureRef": pool}}},
        ),
    ]


def _core(kind: str, name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "${NAMESPACE}"}
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": kind,
        "metadata": metadata,
        "spec": dict(spec),
    }


def _class(name: str) -> list[dict[str, Any]]:
    pool = {"class": "default", "infrastructure": _ref("MeadowMachinePool", name)}
    document = _core(
        "ClusterClass",
        name,
        {
            "infrastructure": _ref("MeadowCluster", name),
            "controlPlane": {
                **_ref("MeadowControlPlane", name),
                "machineInfrastructure": _ref("MeadowMachine", name),
            },
            "workers": {"machinePools": [pool]},
        },
    )
    del document["metadata"]["namespace"]
    api_version = f"{group_of('MeadowCluster')}/v1beta2"
    template = {"apiVersion": api_version, "kind": "MeadowClusterTemplate"}
    return [document, {**template, "metadata": {"name": name}}]


def _ref(kind: str, name: str) -> dict[str, Any]:
    version = f"{group_of(kind)}/v1beta2"
    return {"templateRef": {"apiVersion": version, "kind": f"{kind}Template", "name": name}}
