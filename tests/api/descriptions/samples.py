"""Objects with every field set, made of their schemas, and the same with one field changed.

They need not be valid: what is asked of them is what a change makes of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from kapy.api.crds import print_crds
from kapy.kube import Document

Path = tuple[str | int, ...]

_WORDS: Final = (
    "abc", "abd", "v1.30.1", "v1.30.2", "a.example/v1", "b.example/v1", "[1-2]", "[1-3]",
    "abcdef.0123456789abcdef", "abcdef.0123456789abcdff", "/spec/a", "/spec/b",
)  # fmt: skip
_TIMES: Final = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")
_VERSIONS: Final = ("v1.30.1", "v1.30.2")
_NAMED: Final = {
    "version": _VERSIONS,
    "kubernetesVersion": _VERSIONS,
    "startupDuration": ("1s", "2s"),
    "startupJitter": ("0.1", "0.2"),
    "bootstrapTimeout": ("1m0s", "2m0s"),
    "imageTag": ("1.10.0", "1.10.1"),
    "caBundle": ("YQ==", "Yg=="),
    "certificateAuthorityData": ("YQ==", "Yg=="),
}
_SCHEMAS: Final = frozenset(
    ("properties", "additionalProperties", "items", "allOf", "oneOf", "anyOf", "not")
)
"""Fields of a schema that hold schemas, of which a CRD says nothing."""


@cache
def schemas() -> dict[str, Document]:
    """The schema of the stored version of every kind."""
    return {
        crd["spec"]["names"]["kind"]: {
            "apiVersion": f"{crd['spec']['group']}/{version['name']}",
            **version["schema"]["openAPIV3Schema"],
        }
        for crd in print_crds()
        for version in crd["spec"]["versions"]
        if version["storage"]
    }


def sample(kind: str) -> Document:
    """An object of the kind with a value in every field of its spec."""
    schema = schemas()[kind]
    return {
        "apiVersion": schema["apiVersion"],
        "kind": kind,
        "metadata": {"name": "abc", "namespace": "default", "uid": "1"},
        "spec": _value(schema["properties"]["spec"], "spec", 0),
    }


def changes(kind: str) -> Iterator[tuple[str, Document]]:
    """The sample with another value in one of its fields, for each of them: its path and that."""
    whole = sample(kind)
    schema = schemas()[kind]["properties"]["spec"]
    for path, dotted in _leaves(whole["spec"], ("spec",), "spec"):
        name = dotted.rpartition(".")[2].removesuffix("[]").removesuffix("{}")
        other = _value(_at(schema, path[1:]), name, 1)
        if other != _get(whole, path):
            yield dotted, _with(whole, path, other)


def removals(kind: str) -> Iterator[tuple[str, Document]]:
    """The sample without one of the objects in its spec, for each of them."""
    whole = sample(kind)
    for name, value in whole["spec"].items():
        if isinstance(value, dict):
            rest = {key: item for key, item in whole["spec"].items() if key != name}
            yield f"spec.{name}", {**whole, "spec": rest}


def _value(schema: Document, name: str, which: int) -> Any:
    """One of two values of a schema."""
    if "properties" in schema:
        inner = schema["properties"]
        return {
            key: _value(value, key, which) for key, value in inner.items() if key not in _SCHEMAS
        }
    if isinstance(schema.get("additionalProperties"), dict):
        return {"abc": _value(schema["additionalProperties"], name, which)}
    if "items" in schema:
        return [_value(schema["items"], name, which)]
    match schema.get("type"):
        case "string":
            return _text(schema, name, which)
        case "boolean":
            return bool(which)
        case "integer":
            return int(schema.get("minimum", 1)) + which
        case "object":
            return {}
        case _:
            return which


def _text(schema: Document, name: str, which: int) -> str:
    if "enum" in schema:
        return str(schema["enum"][min(which, len(schema["enum"]) - 1)])
    if schema.get("format") == "date-time":
        return _TIMES[which]
    if name in _NAMED:
        return _NAMED[name][which]
    pattern = re.compile(schema.get("pattern", ""))
    return [word for word in _WORDS if pattern.search(word)][which]


def _leaves(value: Any, path: Path, dotted: str) -> Iterator[tuple[Path, str]]:
    if isinstance(value, dict) and value:
        mark = "{}" if set(value) == {"abc"} else ""
        for key, item in value.items():
            yield from _leaves(item, (*path, key), f"{dotted}{mark}" if mark else f"{dotted}.{key}")
    elif isinstance(value, list):
        yield from _leaves(value[0], (*path, 0), f"{dotted}[]")
    elif value != {}:
        yield path, re.sub(r"(\[\]|\{\})+$", "", dotted)


def _at(schema: Document, path: Path) -> Document:
    for step in path:
        if isinstance(step, int):
            schema = schema["items"]
        elif "properties" in schema:
            schema = schema["properties"][step]
        else:
            schema = schema["additionalProperties"]
    return schema


def _get(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def _with(value: Any, path: Path, other: Any) -> Any:
    """A copy with another value at the path."""
    if not path:
        return other
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        return [_with(item, rest, other) if at == step else item for at, item in enumerate(value)]
    return {**value, step: _with(value[step], rest, other)}
