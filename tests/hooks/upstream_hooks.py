"""kapy's hooks and messages without those parts that upstream's last release does not have."""

from __future__ import annotations

from typing import Final

from kapy.hooks.catalog import Catalog, own_catalog
from kapy.kube import Document

MORE_HOOKS: Final[frozenset[str]] = frozenset()
"""Names of hooks that upstream does not have, each with a comment that gives the reason."""
MORE_FIELDS: Final[dict[str, tuple[str, ...]]] = {}
"""Fields that upstream does not have, by kind or message, with the reason: `MachineSpec`."""


def upstream_catalog(more: frozenset[str] = MORE_HOOKS) -> Catalog:
    """Return a catalog of the hooks that upstream has, too."""
    return Catalog(hook for hook in own_catalog() if hook.name not in more)


def without_more(schemas: Document, more: dict[str, tuple[str, ...]] | None = None) -> Document:
    """Return the schemas of an OpenAPI document with the fields that upstream has, too."""
    return {
        name: _without(schema, (MORE_FIELDS if more is None else more).get(name.split(".")[-1], ()))
        for name, schema in schemas.items()
    }


def _without(schema: Document, fields: tuple[str, ...]) -> Document:
    if not fields:
        return schema
    properties = {key: value for key, value in schema["properties"].items() if key not in fields}
    required = [name for name in schema.get("required", ()) if name not in fields]
    fewer = {key: value for key, value in schema.items() if key != "required"}
    return fewer | {"properties": properties} | ({"required": required} if required else {})
