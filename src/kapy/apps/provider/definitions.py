"""The CRDs of a provider, printed from its Structs."""

from __future__ import annotations

from collections.abc import Sequence

from kapy.api.columns import Column
from kapy.api.crds import definition, served_version
from kapy.api.names import CLUSTER_GROUP, Label
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.sdk.provider import BadProvider, Provider


def crds_of(provider: Provider) -> list[Document]:
    """The CRDs, in the order of the provider's kinds. Raises BadProvider.

    A kind shows what its `COLUMNS` say, where it has some.
    """
    from kapy.api.schema import structural_schemas  # takes its time, and is seldom needed

    _check(provider.kinds)
    contract = list(provider.series.values())[-1]
    try:
        schemas = structural_schemas(provider.kinds)
    except TypeError as error:
        raise BadProvider(f"a kind of provider {provider.name} has no schema: {error}") from None
    return [
        definition(
            kind.RESOURCE,
            [served_version(kind, schema, _columns(kind), stored=True)],
            {
                Label.PROVIDER: provider.label,
                f"{CLUSTER_GROUP}/{contract}": kind.RESOURCE.version,
            },
        )
        for kind, schema in zip(provider.kinds, schemas, strict=True)
    ]


def _columns(kind: type[Object]) -> Sequence[Column]:
    found: Sequence[Column] = getattr(kind, "COLUMNS", ())
    return found


def _check(kinds: Sequence[type[Object]]) -> None:
    known: set[str] = set()
    for kind in kinds:
        name = kind.RESOURCE.group_resource
        if name in known:
            raise BadProvider(
                f"{name} is described twice: a kind of several versions needs a conversion, which "
                "is not supported yet; keep the newest version"
            )
        known.add(name)
