"""Descriptions of fields and types: one text for all versions and templates of a kind.

A description is written once, in the Struct of the newest version: `rules("…")` for a field, the
docstring for a type. It is inherited in two ways:

- A Struct of an older version that says nothing has the description of the Struct of the same name
  in the newest version, and so has each of its fields that has the same name there.
- `rules(same_as="MachineSpec.version")` names another field whose description this one has, even
  if the type of this one has a description. When the text begins with the name of that field, the
  printed text begins with the name of this one.

Descriptions are looked up when CRDs and reference pages are printed, never when an object is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from inspect import cleandoc
from typing import Any, Final

import msgspec
from msgspec import inspect

from kapy.api.kinds import KINDS

SAME_AS: Final = "sameAs"
"""The key of `rules(same_as=…)` in the extra schema of a field."""


class Descriptions:
    """The descriptions of Structs and of their fields, by the name of the Struct."""

    def __init__(self, newest: Iterable[type[msgspec.Struct]]) -> None:
        self.types: dict[str, str] = {}
        self.fields: dict[str, dict[str, Any]] = {}
        for info in inspect.multi_type_info(newest):
            for of in structs_in(info, set()):
                name = of.cls.__name__
                self.types[name] = _docstring(of.cls)
                self.fields[name] = {
                    field.encode_name: extra_schema(field.type) for field in of.fields
                }

    def of_type(self, struct: type[msgspec.Struct]) -> str:
        """Return the description of a Struct; "" if it has none."""
        return _docstring(struct) or self.types.get(struct.__name__, "")

    def of_field(self, struct: str, name: str, extra: dict[str, Any]) -> str:
        """Return the description of a field; "" if it has none, or inherits it from an unknown
        Struct. extra: the `rules` of the field. Raises LookupError.
        """
        if SAME_AS not in extra:
            if "description" in extra:
                return str(extra["description"])
            inherited = self.fields.get(struct, {}).get(name, {})
            return self.of_field(struct, name, inherited) if inherited else ""
        owner, _, source = str(extra[SAME_AS]).partition(".")
        if owner not in self.fields:
            return ""
        if source not in self.fields[owner]:
            raise LookupError(f"{struct}.{name} is the same as {owner}.{source}, which is unknown")
        text = self.of_field(owner, source, self.fields[owner][source])
        return f"{name}{text.removeprefix(source)}" if text.startswith(f"{source} ") else text


@cache
def descriptions() -> Descriptions:
    """Return the descriptions of all our kinds."""
    return Descriptions([kind.type_of() for kind in KINDS])


def structs_in(of: inspect.Type, shapes: set[type]) -> Iterator[inspect.StructType]:
    """Yield every Struct in a type once."""
    match of:
        case inspect.StructType(cls=cls):
            if cls not in shapes:
                shapes.add(cls)
                yield of
                for field in of.fields:
                    yield from structs_in(field.type, shapes)
        case inspect.Metadata(type=inner):
            yield from structs_in(inner, shapes)
        case inspect.UnionType(types=types):
            for item in types:
                yield from structs_in(item, shapes)
        case inspect.ListType(item_type=inner) | inspect.DictType(value_type=inner):
            yield from structs_in(inner, shapes)


def _docstring(struct: type[msgspec.Struct]) -> str:
    """Return the docstring of a Struct, with one line per paragraph."""
    paragraphs = cleandoc(struct.__doc__ or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def extra_schema(of: inspect.Type) -> dict[str, Any]:
    """Return the `rules` of a field, also those of an optional alias (`Alias | None`)."""
    match of:
        case inspect.Metadata(type=inner, extra_json_schema=extra):
            return extra_schema(inner) | (extra or {})
        case inspect.UnionType(types=types):
            return next((schema for item in types if (schema := extra_schema(item))), {})
        case _:
            return {}
