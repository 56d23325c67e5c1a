"""CustomResourceDefinitions of our kinds, printed from their Structs.

Everything but the words is the released CRD, and who converts: that is for the server to know.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final

import msgspec

from kapy.api.kinds import KINDS, STORED, Kind
from kapy.api.names import CLUSTER_GROUP, Label
from kapy.api.schema import structural_schemas
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.names import CRDS

_PROVIDERS: Final[Mapping[str, str]] = {
    "cluster.x-k8s.io": "cluster-api",
    "bootstrap.cluster.x-k8s.io": "bootstrap-kubeadm",
    "controlplane.cluster.x-k8s.io": "control-plane-kubeadm",
    "infrastructure.cluster.x-k8s.io": "infrastructure-docker",
}
_CONTRACTS: Final = frozenset(_PROVIDERS) - {CLUSTER_GROUP}
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
    types = [(kind, version, kind.type_of(version)) for kind in KINDS for version in kind.versions]
    schemas = structural_schemas([one for _, _, one in types])
    served: dict[Kind, list[Document]] = {kind: [] for kind in KINDS}
    for (kind, version, one), schema in zip(types, schemas, strict=True):
        served[kind].append(_version(kind, version, one, schema))
    return [_crd(kind, versions) for kind, versions in served.items()]


def _crd(kind: Kind, versions: list[Document]) -> Document:
    resource = kind.type_of().RESOURCE
    names: Document = {
        "kind": kind.name,
        "listKind": f"{kind.name}List",
        "plural": resource.plural,
        "singular": kind.name.lower(),
        "categories": ["cluster-api"],
    }
    if kind.short_names:
        names["shortNames"] = list(kind.short_names)
    labels = {Label.PROVIDER: _PROVIDERS[kind.group]}
    if kind.group in _CONTRACTS:
        # Which contract the objects of each version keep to: core reads them by it.
        labels |= {f"{CLUSTER_GROUP}/{one}": one for one in ("v1beta1", "v1beta2")}
    return {
        "apiVersion": CRDS.api_version,
        "kind": CRDS.kind,
        "metadata": {"name": resource.group_resource, "labels": labels},
        "spec": {
            "group": kind.group,
            "names": names,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "versions": versions,
        },
    }


def _version(kind: Kind, version: str, type_: type[Object], schema: Document) -> Document:
    columns = import_module(
        "kapy.api.columns" if version == STORED else f"kapy.api.{version}.columns"
    )
    shown = columns.COLUMNS.get(kind.name)
    return {
        "name": version,
        "served": True,
        "storage": version == STORED,
        **({"deprecated": True} if version in kind.deprecated else {}),
        **({"additionalPrinterColumns": [one.document() for one in shown]} if shown else {}),
        "schema": {"openAPIV3Schema": schema | {"properties": schema["properties"] | _OBJECT}},
        "subresources": _subresources(type_),
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
