"""Kubernetes' own resources as data, and the strategies of kinds with special rules."""

from __future__ import annotations

from functools import partial

from kapy.apiserver.resources.builtin.strategies import strategy_of
from kapy.apiserver.resources.builtin.table import ROWS, Row
from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.resources.schemas import ObjectSchema
from kapy.apiserver.resources.structs import decoder, facts, struct_of
from kapy.kube.apply import Tracker, Types
from kapy.kube.names import Resource


def _tracker(resource: Resource) -> Tracker:
    struct = struct_of(resource.group, resource.version, resource.kind)
    if not struct:
        return Tracker({resource.api_version: Types.deduce()})
    zero = decoder(struct)({}, None, [])
    types = Types.of_struct(facts()["structs"], struct, zero=zero)
    return Tracker({resource.api_version: types})


def _kind(row: Row) -> Kind:
    resource = Resource(row.group, row.version, row.plural, row.kind, row.namespaced)
    storage = (
        Resource(row.stored_group, row.version, row.plural, row.kind, row.namespaced)
        if row.stored_group is not None
        else resource
    )
    return Kind(
        resource=resource,
        table=storage.group_resource,
        storage=storage,
        strategy=strategy_of(row),
        schema=ObjectSchema(
            partial(_tracker, resource),
            struct_of(resource.group, resource.version, resource.kind) or "",
        ),
        singular=row.kind.lower(),
        list_kind=f"{row.kind}List",
        short_names=row.short,
        categories=row.categories,
        verbs=row.verbs,
        subresources=frozenset(row.subresources),
        selectable=dict(row.selectable),
        deprecation=row.deprecation,
    )


KINDS: tuple[Kind, ...] = tuple(_kind(row) for row in ROWS)
