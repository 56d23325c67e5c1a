"""Differences between providers: contract version, conditions, failure domains, groups.

A dialect is everything about a provider that core must not care about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from kapy.kube import Document
from kapy.kube.names import Resource

Style = Literal["legacy", "metav1", "custom"]
ADDRESS_TYPES: Final = ("Hostname", "ExternalIP", "InternalIP", "ExternalDNS", "InternalDNS")
DOMAINS: Final = {"east": True, "west": True, "edge": False}
"""Failure domains, and whether they are for control planes."""

TEXT: Final = {"type": "string"}
FLAG: Final = {"type": "boolean"}
COUNT: Final = {"type": "integer", "format": "int32"}
ANYTHING: Final[Document] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


@dataclass(frozen=True)
class Dialect:
    """One provider: `name` begins the names of its kinds.

    contract: the version that its CRDs are labelled with. version: of its own API, in which
    nothing of core's shows. groups: of infrastructure, bootstrap and control plane. own_plane: it
    brings its own bootstrap and (managed) control plane, which then gives the endpoint.
    """

    name: str
    contract: Literal["v1beta1", "v1beta2"]
    version: str
    style: Style
    label: str
    group: str = "cluster.x-k8s.io"
    own_plane: bool = False

    def resource(self, role: str, kind: str) -> Resource:
        full = f"{self.name}{kind}"
        return Resource(f"{role}.{self.group}", self.version, f"{full.lower()}s", full)

    @property
    def clusters(self) -> Resource:
        return self.resource("infrastructure", "Cluster")

    @property
    def machines(self) -> Resource:
        return self.resource("infrastructure", "Machine")

    @property
    def machine_templates(self) -> Resource:
        return self.resource("infrastructure", "MachineTemplate")

    @property
    def configs(self) -> Resource:
        return self.resource("bootstrap", "Config")

    @property
    def config_templates(self) -> Resource:
        return self.resource("bootstrap", "ConfigTemplate")

    @property
    def control_planes(self) -> Resource:
        return self.resource("controlplane", "ControlPlane")

    @property
    def resources(self) -> Sequence[Resource]:
        """All kinds that the provider brings."""
        own = (self.configs, self.config_templates, self.control_planes)
        shared = (self.clusters, self.machines, self.machine_templates)
        return (*shared, *own) if self.own_plane else shared

    # Documents that the provider writes.

    def done(self, flag: str) -> Document:
        """`status` of what is initialized. flag: as v1beta2 calls it."""
        if self.contract == "v1beta2":
            return {"initialization": {flag: True}}
        return {"ready": True, **({"initialized": True} if flag == INITIALIZED else {})}

    def condition(self, status: str, reason: str, message: str, now: str) -> Document:
        """The condition that says how the object is."""
        of = "Available" if reason == "Running" else "Ready"
        results = {"type": of, "status": status, "message": message}
        match self.style:
            case "legacy":
                severity = {} if status == "True" else {"severity": "Info", "reason": reason}
                return {**results, **severity, "lastTransitionTime": now}
            case "metav1":
                metadata_fields = {"observedGeneration": 1, "lastTransitionTime": now}
                return {**results, "reason": reason, **metadata_fields}
            case "custom":
                return {**results, "mood": "cheerful", "since": 7}

    @property
    def failure_domains(self) -> Any:
        if self.contract == "v1beta1":
            return {
                name: {"controlPlane": flag, "attributes": {"zone": name}}
                for name, flag in DOMAINS.items()
            }
        return [
            {"name": name, "controlPlane": flag, "attributes": {"zone": name}}
            for name, flag in DOMAINS.items()
        ]

    def counts(self, replicas: int) -> Document:
        """The counters of a control plane."""
        counts = {"replicas": replicas, "readyReplicas": replicas}
        if self.contract == "v1beta2":
            return {**counts, "availableReplicas": replicas, "upToDateReplicas": replicas}
        return {**counts, "unavailableReplicas": 0, "updatedReplicas": replicas}

    # Definitions of its kinds.

    def crds(self) -> list[Document]:
        """The CRDs, with schemas that have the contract's fields and nothing to spare."""
        return [
            self._crd(item, schema) for item, schema in self._schemas() if item in self.resources
        ]

    def _schemas(self) -> Sequence[tuple[Resource, Document]]:
        endpoint = _object(host=TEXT, port=COUNT)
        metadata = _object(labels=_map(TEXT), annotations=_map(TEXT))
        machine = _object(providerID=TEXT, failureDomain=TEXT, size=TEXT)
        words = _object(words=TEXT)
        domain = _object(controlPlane=FLAG, attributes=_map(TEXT))
        domains = _map(domain)
        if self.contract == "v1beta2":
            domains = _list(_object(name=TEXT, **domain["properties"]))
        placed = {
            "addresses": _list(_object(type=TEXT, address=TEXT)),
            "failureDomain": TEXT,
        }
        failed = {"failureReason": TEXT, "failureMessage": TEXT}
        counters = dict.fromkeys(self.counts(0), COUNT)
        return (
            (
                self.clusters,
                self._schema(
                    _object(controlPlaneEndpoint=endpoint, region=TEXT),
                    PROVISIONED,
                    failureDomains=domains,
                    network=TEXT,
                    **failed,
                ),
            ),
            (
                self.machines,
                self._schema(machine, PROVISIONED, **placed, **failed),
            ),
            (self.machine_templates, _template(machine, metadata)),
            (self.configs, self._schema(words, CREATED, dataSecretName=TEXT, **failed)),
            (self.config_templates, _template(words, metadata)),
            (
                self.control_planes,
                self._schema(
                    _object(controlPlaneEndpoint=endpoint, version=TEXT, replicas=COUNT),
                    INITIALIZED,
                    version=TEXT,
                    externalManagedControlPlane=FLAG,
                    **counters,
                    **failed,
                ),
            ),
        )

    def _schema(self, spec: Document, flag: str, **status: Document) -> Document:
        flags = dict.fromkeys(self.done(flag), FLAG)
        if self.contract == "v1beta2":
            flags = {"initialization": _object(**{flag: FLAG})}
        conditions = _list(ANYTHING)
        return _object(spec=spec, status=_object(**flags, conditions=conditions, **status))

    def _crd(self, resource: Resource, schema: Document) -> Document:
        version = {
            "served": True,
            "schema": {"openAPIV3Schema": schema},
            "subresources": {"status": {}},
        }
        old = {**version, "name": "v1alpha1", "storage": False, "served": False}
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {
                "name": resource.group_resource,
                "labels": {f"cluster.x-k8s.io/{self.contract}": self.label},
            },
            "spec": {
                "group": resource.group,
                "scope": "Namespaced",
                "names": {
                    "plural": resource.plural,
                    "singular": resource.kind.lower(),
                    "kind": resource.kind,
                    "listKind": f"{resource.kind}List",
                },
                "versions": [{**version, "name": self.version, "storage": True}, old],
            },
        }


PROVISIONED: Final = "provisioned"
CREATED: Final = "dataSecretCreated"
INITIALIZED: Final = "controlPlaneInitialized"

ALDER: Final = Dialect("Alder", "v1beta1", "v1beta1", "legacy", "v1alpha1_v1beta1")
"""As most providers still are: the old contract, and kubeadm for the rest."""

BIRCH: Final = Dialect(
    "Birch", "v1beta2", "v1", "metav1", "v1_v1alpha1", group="birch.example.com", own_plane=True
)
"""The new contract, API groups of its own, a managed control plane."""

CEDAR: Final = Dialect("Cedar", "v1beta1", "v2", "custom", "v2", own_plane=True)
"""The old contract with conditions of a form of its own, and a managed control plane."""

DIALECTS: Final = (ALDER, BIRCH, CEDAR)


def _object(**properties: Document) -> Document:
    return {"type": "object", "properties": properties}


def _map(of: Mapping[str, Any]) -> Document:
    return {"type": "object", "additionalProperties": dict(of)}


def _list(of: Mapping[str, Any]) -> Document:
    return {"type": "array", "items": dict(of)}


def _template(spec: Document, metadata: Document) -> Document:
    return _object(spec=_object(template=_object(metadata=metadata, spec=spec)))
