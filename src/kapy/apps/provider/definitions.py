"""Generates the CRDs of a provider from its Structs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kapy.api.columns import Column
from kapy.api.crds import definition, served_version
from kapy.api.names import CLUSTER_GROUP, Label
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.names import Resource
from kapy.sdk.admission_configurations import crd_conversion
from kapy.sdk.provider import BadProvider, Provider


def crds_of(provider: Provider, client: Document | None = None) -> list[Document]:
    """Return the CRDs, in the order of the provider's kinds. Raises BadProvider.

    Printer columns come from a kind's `COLUMNS`. client: the `clientConfig` of the provider's
    webhooks, without a path; None if the provider converts in its own process.
    """
    from kapy.api.schema import structural_schemas  # slow to import, and seldom needed

    _check(provider.kinds)
    contract = list(provider.series.values())[-1]
    value = [
        (kind, version)
        for kind in provider.kinds
        for version in (kind, *_other_versions(provider, kind))
    ]
    try:
        schemas = structural_schemas([element for _, element in value])
    except TypeError as error:
        raise BadProvider(f"a kind of provider {provider.name} has no schema: {error}") from None
    versions: dict[Resource, list[Document]] = {kind.RESOURCE: [] for kind in provider.kinds}
    for (kind, item), schema in zip(value, schemas, strict=True):
        printed = served_version(item, schema, _columns(item), stored=item is kind)
        versions[kind.RESOURCE].append(printed)
    labels = {Label.PROVIDER: provider.label}
    if provider.type == "ipam":  # pools have no owner and are moved with their users
        labels[Label.CLUSTERCTL_MOVE_HIERARCHY] = ""
    return [
        with_conversion(
            definition(
                resource, served, labels | {f"{CLUSTER_GROUP}/{contract}": resource.version}
            ),
            crd_conversion(provider.admission, resource, client) if client else None,
        )
        for resource, served in versions.items()
    ]


def with_conversion(crd: Document, conversion: Document | None) -> Document:
    """Return the CRD with `spec.conversion`; unchanged without a conversion."""
    if conversion is None:
        return crd
    return {**crd, "spec": {**crd["spec"], "conversion": conversion}}


def _other_versions(provider: Provider, kind: type[Object]) -> list[type[Object]]:
    """Return the other versions of a kind. Raises BadProvider."""
    ruled = provider.admission.kinds.get(kind.RESOURCE.group_kind)
    result = [] if ruled is None else list(ruled.versions.items())
    for name, version in result:
        if version.kind is None or replace(kind.RESOURCE, version=name) != version.kind.RESOURCE:
            raise BadProvider(
                f"version {name} of {kind.RESOURCE.kind} has no Struct of that version: name it "
                "as `kind` of the Version"
            )
    return [version.kind for _, version in result if version.kind is not None]


def _columns(kind: type[Object]) -> Sequence[Column]:
    columns: Sequence[Column] = getattr(kind, "COLUMNS", ())
    return columns


def _check(kinds: Sequence[type[Object]]) -> None:
    names: set[str] = set()
    for kind in kinds:
        name = kind.RESOURCE.group_resource
        if name in names:
            raise BadProvider(
                f"{name} is described twice: keep the version that is stored, and name the others "
                "in `versions` of its KindRules"
            )
        names.add(name)
