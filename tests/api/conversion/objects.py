"""Objects of any kind and version, made at random as their schema lets them be.

Texts come from a few that fit the patterns of names, so that values repeat; durations and times
have the one form that a server gives them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from random import Random
from types import UnionType
from typing import Annotated, Any, Final, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec

from kapy.api.core_v1 import ObjectReference
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.model import Model

NAMESPACE: Final = "capybaras"

_CHANCES: Final = (0.9, 0.7, 0.6, 0.5, 0.5, *20 * (0.4,))
"""How likely it is that a field that may be absent is there, by its depth."""

_NAMES: Final = ("hostPath", "name", "path", "from")
"""Fields of parts in lists by which upstream finds the same part again."""

_TEXTS: Final = ("a", "abc", "Abc", "a.example.com", "a.example.com/v1", "[1-3]", "100Mi", "10m")
_TIMES: Final = ("2026-01-02T03:04:05Z", "2026-11-30T23:59:59Z")
_FORMS: Final[Mapping[str, tuple[str, ...]]] = {
    "duration": ("0s", "10s", "1m0s", "2h0m1s"),
    "quantity": ("1", "100Mi", "250m"),
    "token": ("abcdef.0123456789abcdef",),
}


class Field(NamedTuple):
    """A field of a Struct as it travels. needed: whether it is always there."""

    name: str
    type: Any
    needed: bool


def made(kind: type[Object], random: Random) -> Document:
    """An object of a kind in a version."""
    return {
        "apiVersion": kind.RESOURCE.api_version,
        "kind": kind.RESOURCE.kind,
        "metadata": {"name": "one", "namespace": NAMESPACE, "labels": {"a": "b"}},
        **_struct(kind, random, 0),
    }


def _struct(kind: type[Model], random: Random, depth: int) -> Document:
    if kind is ObjectReference:
        return _reference(random)
    document: Document = {}
    for name, hint, needed in _fields(kind):
        if needed or random.random() < _CHANCES[depth]:
            value = _value(hint, {}, random, depth + 1)
            if needed or value not in ({}, []):
                document[name] = value
    return document


def _reference(random: Random) -> Document:
    """With the fields that later versions kept, within the namespace."""
    return {
        "apiVersion": "a.example.com/v1beta2",
        "kind": random.choice(("Abc", "Cba")),
        "name": random.choice(("a", "b")),
        "namespace": NAMESPACE,
    }


@cache
def _fields(kind: type[Model]) -> list[Field]:
    hints = get_type_hints(kind, include_extras=True)
    fields = []
    for field in msgspec.structs.fields(kind):
        hint = hints[field.name]
        document = _rules(hint)
        if document.get("schemaless") or (field.name == "metadata" and issubclass(kind, Object)):
            continue
        needed = field.required or bool(document.get("required")) or field.name == "spec"
        fields.append(Field(field.encode_name, hint, needed))
    return fields


def _rules(hint: Any) -> Document:
    rules: Document = {}
    if get_origin(hint) is Annotated:
        inner, *metas = get_args(hint)
        for meta in metas:
            rules |= meta.extra_json_schema or {}
        rules = _rules(inner) | rules
    return rules


def _value(hint: Any, said: Document, random: Random, depth: int) -> Any:
    """said: rules from around the type."""
    if get_origin(hint) is Annotated:
        return _value(get_args(hint)[0], _rules(hint) | said, random, depth)
    if get_origin(hint) in (Union, UnionType):
        present = [arg for arg in get_args(hint) if arg is not type(None)]
        return _value(random.choice(present), said, random, depth)
    if get_origin(hint) is list:
        return _list(get_args(hint)[0], said, random, depth)
    if get_origin(hint) is dict:
        form = {"form": said["form"]} if "form" in said else {}
        return {key: _value(get_args(hint)[1], form, random, depth) for key in ("a", "b")}
    if isinstance(hint, type) and issubclass(hint, Model):
        return _struct(hint, random, depth)
    return _scalar(hint, said, random)


def _list(hint: Any, document: Document, random: Random, depth: int) -> list[Any]:
    """A list of up to two random items. Named items are unique and sorted by their names."""
    count = random.randint(document.get("minItems", 0), 2)
    entries = [_value(hint, {}, random, depth) for _ in range(count)]
    named = {_name(item, document): item for item in entries if isinstance(item, dict)}
    return [named[name] for name in sorted(named)] if any(map(any, named)) else entries


def _name(part: Document, document: Document) -> tuple[str, ...]:
    keys = document.get("x-kubernetes-list-map-keys", ())
    names = [key for key in _NAMES if key in part]
    return tuple(str(part.get(key, "")) for key in (names[:1] or keys))


def _scalar(hint: Any, document: Document, random: Random) -> Any:
    if "enum" in document:
        return random.choice(document["enum"])
    if hint is bool:
        return random.random() < 0.5
    if hint is int:
        least = document.get("minimum", 0)
        return random.choice((least, min(least + 7, document.get("maximum", least + 7))))
    if hint is float:
        return random.choice((0.5, 12.0))
    return (
        random.choice(_texts(document)) if hint is str else random.choice((1, "a", {"a": [True]}))
    )


def _texts(document: Document) -> tuple[str, ...]:
    if "form" in document:
        return _FORMS[document["form"]]
    if document.get("format") == "date-time":
        return _TIMES
    if document.get("format") == "byte":
        return ("YQ==", "YWI=")
    return tuple(text for text in _TEXTS if re.search(document.get("pattern", ""), text))
