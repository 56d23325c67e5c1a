"""CustomResourceDefinitions of our kinds, printed from their Structs.

Everything but the words is the released CRD; what this server does not serve yet (v1beta1 and the
conversion to it) is not in there.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import msgspec

from kapy.api.cluster import Cluster
from kapy.api.columns import COLUMNS
from kapy.api.dev_cluster import DevCluster, DevClusterTemplate
from kapy.api.dev_machine import DevMachine, DevMachineTemplate
from kapy.api.kubeadm_config import KubeadmConfig, KubeadmConfigTemplate
from kapy.api.kubeadm_control_plane import KubeadmControlPlane, KubeadmControlPlaneTemplate
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.api.names import CLUSTER_GROUP, Label
from kapy.api.schema import structural_schemas
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.names import CRDS

KINDS: Final[tuple[type[Object], ...]] = (
    Cluster,
    Machine,
    MachineSet,
    MachineDeployment,
    KubeadmConfig,
    KubeadmConfigTemplate,
    KubeadmControlPlane,
    KubeadmControlPlaneTemplate,
    DevCluster,
    DevClusterTemplate,
    DevMachine,
    DevMachineTemplate,
)
"""Every kind that is defined here."""

_SHORT_NAMES: Final[Mapping[str, str]] = {
    "Cluster": "cl",
    "Machine": "ma",
    "MachineSet": "ms",
    "MachineDeployment": "md",
    "KubeadmControlPlane": "kcp",
}
_PROVIDERS: Final[Mapping[str, str]] = {
    "cluster.x-k8s.io": "cluster-api",
    "bootstrap.cluster.x-k8s.io": "bootstrap-kubeadm",
    "controlplane.cluster.x-k8s.io": "control-plane-kubeadm",
    "infrastructure.cluster.x-k8s.io": "infrastructure-docker",
}
_OBJECT: Final[Document] = {
    "apiVersion": {
        "type": "string",
        "description": "The group and version of the API that this representation keeps to.",
    },
    "kind": {"type": "string", "description": "What kind of object this is."},
    "metadata": {"type": "object"},
}


@cache
def crds() -> list[Document]:
    """The CRDs of all our kinds, in the order of KINDS. Shared: do not change."""
    return [
        _crd(kind, schema) for kind, schema in zip(KINDS, structural_schemas(KINDS), strict=True)
    ]


def _crd(kind: type[Object], schema: Document) -> Document:
    resource = kind.RESOURCE
    names: Document = {
        "kind": resource.kind,
        "listKind": f"{resource.kind}List",
        "plural": resource.plural,
        "singular": resource.kind.lower(),
        "categories": ["cluster-api"],
    }
    if short := _SHORT_NAMES.get(resource.kind):
        names["shortNames"] = [short]
    labels = {Label.PROVIDER: _PROVIDERS[resource.group]}
    if resource.group != CLUSTER_GROUP:
        # Which contract the objects of this version keep to: core reads them by it.
        labels[f"{CLUSTER_GROUP}/{resource.version}"] = resource.version
    return {
        "apiVersion": CRDS.api_version,
        "kind": CRDS.kind,
        "metadata": {"name": resource.group_resource, "labels": labels},
        "spec": {
            "group": resource.group,
            "names": names,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "versions": [_version(kind, schema)],
        },
    }


def _version(kind: type[Object], schema: Document) -> Document:
    return {
        "name": kind.RESOURCE.version,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": [one.document() for one in COLUMNS[kind.RESOURCE.kind]],
        "schema": {"openAPIV3Schema": schema | {"properties": schema["properties"] | _OBJECT}},
        "subresources": _subresources(kind),
    }


def _subresources(kind: type[Object]) -> Document:
    subresources: Document = {}
    status: Any = {one.name: one for one in msgspec.structs.fields(kind)}.get("status")
    if status is not None:
        subresources["status"] = {}
        inner = getattr(status.type, "__origin__", status.type)  # without Annotated
        if "selector" in inner.__struct_fields__:
            subresources["scale"] = {
                "specReplicasPath": ".spec.replicas",
                "statusReplicasPath": ".status.replicas",
                "labelSelectorPath": ".status.selector",
            }
    return subresources
