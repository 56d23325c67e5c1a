"""CustomResourceDefinitions of our kinds, printed from their Structs.

They equal the released ones except for descriptions and `spec.conversion`, which the server sets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any, Final

from kapy.api.columns import Column
from kapy.api.kinds import KINDS, STORED, Kind
from kapy.api.names import CLUSTER_GROUP, Label
from kapy.api.print_cache import load_or_print
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.model import struct_fields
from kapy.kube.names import CRDS, Resource

_PROVIDERS: Final[Mapping[str, str]] = {
    "cluster.x-k8s.io": "cluster-api",
    "addons.cluster.x-k8s.io": "cluster-api",
    "ipam.cluster.x-k8s.io": "cluster-api",
    "runtime.cluster.x-k8s.io": "cluster-api",
    "bootstrap.cluster.x-k8s.io": "bootstrap-kubeadm",
    "controlplane.cluster.x-k8s.io": "control-plane-kubeadm",
    "infrastructure.cluster.x-k8s.io": "infrastructure-docker",
}
_SERVICES: Final[Mapping[str, str]] = {
    "cluster-api": "capi",
    "bootstrap-kubeadm": "capi-kubeadm-bootstrap",
    "control-plane-kubeadm": "capi-kubeadm-control-plane",
    "infrastructure-docker": "capd",
}
_CONTRACTS: Final = frozenset(
    key for key, provider in _PROVIDERS.items() if provider != "cluster-api"
)
_OBJECT: Final[Document] = {
    "apiVersion": {
        "type": "string",
        "description": (
            "apiVersion is the API group and version of this representation of the object. Servers "
            "convert between the versions of a group."
        ),
    },
    "kind": {
        "type": "string",
        "description": "kind is the kind of the object. It cannot be changed after creation.",
    },
    "metadata": {"type": "object"},
}


@cache
def crds() -> list[Document]:
    """Return the CRDs of all our kinds, in the order of KINDS. They are shared: do not
    change them.
    """
    return load_or_print("crds", print_crds)


def print_crds() -> list[Document]:
    """Print the CRDs without using the cache."""
    # Both take their time, and are seldom needed.
    from kapy.api.descriptions import descriptions
    from kapy.api.schema import structural_schemas

    types = [(kind, version, kind.type_of(version)) for kind in KINDS for version in kind.versions]
    schemas = structural_schemas([element for _, _, element in types], descriptions())
    served: dict[Kind, list[Document]] = {kind: [] for kind in KINDS}
    for (kind, version, item), schema in zip(types, schemas, strict=True):
        served[kind].append(_version(kind, version, item, schema))
    return [_crd(kind, versions) for kind, versions in served.items()]


def for_kubernetes(crd: Document) -> Document:
    """Return the CRD for a Kubernetes API server: the webhook of the provider's manager converts
    older versions, as in upstream's components.
    """
    provider = _PROVIDERS[crd["spec"]["group"]]
    service = {
        "name": f"{_SERVICES[provider]}-webhook-service",
        "namespace": f"{_SERVICES[provider]}-system",
        "path": "/convert",
    }
    webhook = {"clientConfig": {"service": service}, "conversionReviewVersions": ["v1"]}
    return _with_spec(crd, conversion={"strategy": "Webhook", "webhook": webhook})


def drop_older_versions(crd: Document) -> Document:
    """Return the CRD without the older versions, so that nothing has to convert."""
    versions = [version for version in crd["spec"]["versions"] if version["storage"]]
    return _with_spec(crd, versions=versions)


def _with_spec(crd: Document, **more: Any) -> Document:
    return {**crd, "spec": {**crd["spec"], **more}}


def _crd(kind: Kind, versions: list[Document]) -> Document:
    labels = {Label.PROVIDER: _PROVIDERS[kind.group]}
    if kind.group in _CONTRACTS:
        # The labels name the contract of each version; core reads objects by it.
        labels |= {f"{CLUSTER_GROUP}/{item}": item for item in ("v1beta1", "v1beta2")}
    return definition(kind.type_of().RESOURCE, versions, labels, kind.short_names)


def definition(
    resource: Resource,
    versions: list[Document],
    labels: Mapping[str, str],
    short_names: Sequence[str] = (),
) -> Document:
    """Return the CRD of any kind. versions: the versions of the kind, each from
    `served_version`.
    """
    names: Document = {
        "kind": resource.kind,
        "listKind": f"{resource.kind}List",
        "plural": resource.plural,
        "singular": resource.kind.lower(),
        "categories": ["cluster-api"],
    }
    if short_names:
        names["shortNames"] = list(short_names)
    return {
        "apiVersion": CRDS.api_version,
        "kind": CRDS.kind,
        "metadata": {"name": resource.group_resource, "labels": dict(labels)},
        "spec": {
            "group": resource.group,
            "names": names,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "versions": versions,
        },
    }


def _version(kind: Kind, version: str, type_: type[Object], schema: Document) -> Document:
    columns = import_module(
        "kapy.api.columns" if version == STORED else f"kapy.api.{version}.columns"
    )
    printed = served_version(
        type_, schema, columns.COLUMNS.get(kind.name) or (), stored=version == STORED
    )
    return {**printed, "deprecated": True} if version in kind.deprecated else printed


def served_version(
    type_: type[Object], schema: Document, shown: Sequence[Column] = (), *, stored: bool
) -> Document:
    """Return one version of a kind for its CRD. schema: the structural schema of its Struct. shown:
    the columns of `kubectl get`.
    """
    return {
        "name": type_.RESOURCE.version,
        "served": True,
        "storage": stored,
        **({"additionalPrinterColumns": [column.document() for column in shown]} if shown else {}),
        "schema": {"openAPIV3Schema": schema | {"properties": schema["properties"] | _OBJECT}},
        "subresources": _subresources(type_),
    }


def has_status_subresource(kind: type[Object]) -> bool:
    """Return whether the CRD of a kind has the status subresource."""
    return bool(_fields(kind, "status")) or bool(getattr(kind, "STATUS_SUBRESOURCE", False))


def _subresources(kind: type[Object]) -> Document:
    subresources: Document = {}
    status = _fields(kind, "status")
    if has_status_subresource(kind):
        subresources["status"] = {}
    if "replicas" in status and "replicas" in _fields(kind, "spec"):
        subresources["scale"] = {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            **({"labelSelectorPath": ".status.selector"} if "selector" in status else {}),
        }
    return subresources


def _fields(kind: type[Object], part: str) -> tuple[str, ...]:
    """Return the names of the fields of `spec` or `status`; none if the kind does not have that
    part.
    """
    for field in struct_fields(kind):
        if field.name == part:
            inner: Any = getattr(field.type, "__origin__", field.type)  # without Annotated
            return tuple(inner.__struct_fields__)
    return ()
