"""Every field of every kind in every version, with its description and those around it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from kapy.api.crds import print_crds
from kapy.kube import Document


class Described(NamedTuple):
    """A field of a kind. above: the fields that contain it, the outermost first."""

    kind: str
    version: str
    path: str
    schema: Document
    above: tuple[Described, ...] = ()

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2].removesuffix("[]").removesuffix("{}")

    @property
    def text(self) -> str:
        return str(self.schema.get("description", ""))

    def below(self, *paths: str) -> Iterator[str]:
        """The descriptions of the field and of what contains it, up to one of the paths."""
        yield self.text
        for entry in reversed(self.above):
            if entry.path in paths:
                return
            yield entry.text

    def __str__(self) -> str:
        return f"{self.kind} {self.version} {self.path}: {self.text}"


def described() -> list[Described]:
    """All fields that are ours: `apiVersion`, `kind` and `metadata` belong to every kind."""
    return [
        entry
        for crd in print_crds()
        for version in crd["spec"]["versions"]
        for entry in _inside(
            crd["spec"]["names"]["kind"],
            version["name"],
            "",
            version["schema"]["openAPIV3Schema"],
            (),
        )
        if entry.path not in ("apiVersion", "kind", "metadata")
    ]


def by_path(kind: str, version: str = "v1beta2") -> dict[str, Described]:
    """The fields of one kind by their paths."""
    return {entry.path: entry for entry in ALL if entry.kind == kind and entry.version == version}


def names(text: str, value: Any) -> bool:
    """Whether a text names a value, as a word of its own."""
    return re.search(rf"(?<![\w-]){re.escape(str(value))}(?![\w-])", text) is not None


def _inside(
    kind: str, version: str, path: str, schema: Document, above: tuple[Described, ...]
) -> Iterator[Described]:
    for name, inner in schema.get("properties", {}).items():
        here = f"{path}.{name}" if path else name
        entry = Described(kind, version, here, inner, above)
        yield entry
        yield from _inside(kind, version, here, inner, (*above, entry))
    for key, mark in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(schema.get(key), dict):
            yield from _inside(kind, version, f"{path}{mark}", schema[key], above)


ALL = described()
