"""Released providers: their own CRDs and cluster templates, read in place, and what their
controllers write while a cluster comes up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from kapy.api.kinds import KINDS
from kapy.kube import Document, yaml
from kapy.kube.names import CONFIG_MAPS, SECRETS, GroupKind, Resource, split_api_version
from tests.oracle.recorded import SAMPLES
from tests.oracle.topic import records

INFRASTRUCTURE: Final = "infrastructure.cluster.x-k8s.io"
VERSION: Final = "v1.34.0"
SINCE: Final = "2026-01-01T00:00:00Z"
RELEASES: Final = SAMPLES / "upstream" / "providers"
DEFINITIONS: Final = SAMPLES / "crds"
_VARIABLE: Final = re.compile(r"\$\{(\w+)(?::[=-](.*?))?\}")


@dataclass(frozen=True)
class Cloud:
    """One released provider.

    prefix: of its kinds. pending: status of a network that is being made. network: (spec, status)
    of one that is there. instance: the same of a machine, {} stands for its name. domains: what
    the Cluster then has. contract: that of its CRDs.
    """

    name: str
    release: str
    prefix: str
    contract: str
    pending: Document
    network: tuple[Document, Document]
    instance: tuple[Document, Document]
    domains: Sequence[tuple[str, bool]] = ()
    values: dict[str, str] = field(default_factory=dict)

    @property
    def clusters(self) -> Resource:
        return self._kind("Cluster")

    @property
    def machines(self) -> Resource:
        return self._kind("Machine")

    @property
    def templates(self) -> Resource:
        return self._kind("MachineTemplate")

    def _kind(self, name: str) -> Resource:
        kind = f"{self.prefix}{name}"
        return Resource(INFRASTRUCTURE, "v1beta2", f"{kind.lower()}s", kind)

    def crds(self) -> list[Document]:
        """The CRDs that a cluster needs, as they were released."""
        crds_by_name = {
            crd["metadata"]["name"]: crd for crd in released_crds(f"infrastructure-{self.name}")
        }
        return [
            crds_by_name[resource.group_resource]
            for resource in (self.clusters, self.machines, self.templates)
        ]

    def objects(self) -> list[Document]:
        """The cluster template of the release with its variables filled in."""
        text = _VARIABLE.sub(self._value, self._file("cluster-template.yaml"))
        documents = yaml.load_all(text)
        for document in documents:
            document["metadata"]["namespace"] = "default"
        return documents

    def _value(self, variable: re.Match[str]) -> str:
        name, default = variable.groups()
        values = {"CLUSTER_NAME": self.name, "KUBERNETES_VERSION": VERSION, **self.values}
        if name in values:
            return values[name]
        if name.endswith("_COUNT"):
            return "1"
        return default or "eA=="

    def _file(self, name: str) -> str:
        return (RELEASES / f"infrastructure-{self.name}" / self.release / name).read_text()

    def instance_of(self, name: str) -> tuple[Document, Document]:
        """`instance` for one machine."""
        spec, status = self.instance
        return {key: value.format(name) for key, value in spec.items()}, status


def released_crds(provider: str) -> list[Document]:
    """Every CRD in the components of a release, without descriptions."""
    return list(records(DEFINITIONS / f"{provider}.jsonl.gz"))


def resource_of(document: Document) -> Resource:
    """Return the resource of an object of a template, in the version of the object."""
    group, version = split_api_version(document["apiVersion"])
    if not group:
        return {"Secret": SECRETS, "ConfigMap": CONFIG_MAPS}[document["kind"]]
    kind = GroupKind(group, document["kind"])
    own = {entry.type_of().RESOURCE.group_kind: entry.type_of().RESOURCE for entry in KINDS}
    if kind in own:
        return replace(own[kind], version=version)
    return Resource(group, version, f"{kind.kind.lower()}s", kind.kind)


def _legacy(status: str, **more: Any) -> list[Document]:
    return [{"type": "Ready", "status": status, "lastTransitionTime": SINCE, **more}]


def _metav1(status: str, reason: str, message: str = "") -> list[Document]:
    messages = {"reason": reason, "message": message, "observedGeneration": 1}
    return [{"type": "Ready", "status": status, "lastTransitionTime": SINCE, **messages}]


ADDRESSES: Final = [
    {"type": "Hostname", "address": "one"},
    {"type": "InternalIP", "address": "10.0.0.7"},
    {"type": "ExternalIP", "address": "198.51.100.7"},
]


def _endpoint(name: str) -> Document:
    return {"controlPlaneEndpoint": {"host": f"{name}.example.com", "port": 6443}}


AWS: Final = Cloud(
    name="aws",
    release="v2.11.0",
    prefix="AWS",
    contract="v1beta1",
    pending={
        "ready": False,
        "conditions": _legacy(
            "False", severity="Info", reason="LoadBalancerFailed", message="no DNS name yet"
        ),
    },
    network=(
        _endpoint("aws"),
        {
            "ready": True,
            "failureDomains": {
                "us-east-1b": {"controlPlane": True},
                "us-east-1a": {"controlPlane": False},
            },
            "networkStatus": {"apiServerElb": {"dnsName": "aws.example.com"}},
            "conditions": _legacy("True"),
        },
    ),
    instance=(
        {"providerID": "aws:///us-east-1b/{}", "instanceID": "i-{}"},
        {
            "ready": True,
            "instanceState": "running",
            "interruptible": True,
            "addresses": ADDRESSES,
            "conditions": _legacy("True"),
        },
    ),
    domains=(("us-east-1a", False), ("us-east-1b", True)),
)
VSPHERE: Final = Cloud(
    name="vsphere",
    release="v1.17.0",
    prefix="VSphere",
    contract="v1beta2",
    pending={"conditions": _metav1("False", "NotReady", "no DNS name yet")},
    network=(
        {},
        {
            "initialization": {"provisioned": True},
            "failureDomains": [
                {"name": "rack-2", "controlPlane": True},
                {"name": "rack-1", "controlPlane": True, "attributes": {"row": "a"}},
            ],
            "vCenterVersion": "8.0.0",
            "conditions": _metav1("True", "Ready"),
        },
    ),
    instance=(
        {"providerID": "vsphere://{}"},
        {
            "initialization": {"provisioned": True},
            "addresses": ADDRESSES,
            "network": [{"macAddr": "00:50:56:00:00:07", "networkName": "vm"}],
            "conditions": _metav1("True", "Provisioned"),
        },
    ),
    domains=(("rack-1", True), ("rack-2", True)),
    values={"CONTROL_PLANE_ENDPOINT_IP": "vsphere.example.com", "NAMESPACE": "default"},
)
OPENSTACK: Final = Cloud(
    name="openstack",
    release="v0.15.0",
    prefix="OpenStack",
    contract="v1beta2",
    pending={"conditions": _metav1("False", "OpenStackError", "no DNS name yet")},
    network=(
        _endpoint("openstack"),
        {
            "initialization": {"provisioned": True},
            "failureDomains": [{"name": "nova", "controlPlane": True}],
            "conditions": _metav1("True", "Ready"),
        },
    ),
    instance=(
        {"providerID": "openstack:///{}"},
        {
            "initialization": {"provisioned": True},
            "instanceState": "ACTIVE",
            "instanceID": "7",
            "addresses": ADDRESSES,
            "conditions": _metav1("True", "Ready"),
        },
    ),
    domains=(("nova", True),),
    values={
        "OPENSTACK_FAILURE_DOMAIN": "nova",
        "OPENSTACK_EXTERNAL_NETWORK_ID": "7c3a9f8e-1d2b-4c5d-8e9f-0a1b2c3d4e5f",
    },
)
CLOUDS: Final = (AWS, VSPHERE, OPENSTACK)
