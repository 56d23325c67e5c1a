"""Values for a structural schema: legal, at the edges, and a little beyond them."""

from __future__ import annotations

import copy
from typing import Final

from tests.differential.case import Json
from tests.differential.draw import Draw

FORMATS: Final[dict[str, tuple[Json, ...]]] = {
    "byte": ("aGk=", "a", "", "****"),
    "cidr": ("10.0.0.0/8", "10.0.0.0", "::/0", "10.0.0.1/33", "010.0.0.0/8"),
    "date": ("2020-01-31", "2020-1-1", "2020-13-01", "x"),
    "date-time": (
        "2020-01-01T00:00:00Z",
        "2020-01-01T00:00:00+01:00",
        "2020-01-01",
        "x",
        "2020-01-01 00:00:00Z",
    ),
    "double": (1.5, 1, 0),
    "duration": ("1h", "1.5s", "1d", "x", "", "1 h", "10"),
    "email": ("a@b.c", "a@b", "x", "A <a@b.c>"),
    "hostname": ("a.b", "A", "-a", "a_b", "a" * 64),
    "int32": (1, 2147483647, 2147483648, -2147483649),
    "int64": (1, 9223372036854775807, 9223372036854775808),
    "ipv4": ("10.0.0.1", "::1", "x", "010.0.0.1", "1.2.3"),
    "ipv6": ("::1", "10.0.0.1", "x", "::ffff:1.2.3.4"),
    "mac": ("01:02:03:04:05:06", "x", "01-02-03-04-05-06", "0102.0304.0506"),
    "uri": ("http://a/b", "a", "", "/x", "://"),
    "uuid": ("123e4567-e89b-12d3-a456-426614174000", "x", "123E4567E89B12D3A456426614174000"),
    "password": ("x", ""),
}
STRINGS: Final = (
    "", "a", "b", "abc", "AB1", "x" * 11, "x" * 300, "new-a", "10.0.0.1", "::1", "10.0.0.0/8", "https://a/b", "all",
    "a@b.c", "200Mi", "1.2.3", "Done", "small", "TCP", "100%", "50", "é", "special", "1h", "2021-01-01T00:00:00Z",
    "TRUE", "true", "null", "a b", "a\nb", '"q"', "x/y",
)  # fmt: skip
NUMBERS: Final = (0, 1, -1, 2, 3, 5, 6, 7, 10, 15, 50, 51, 99, 100, 65535, 65536)
ODD: Final[tuple[Json, ...]] = (
    None, "", "x", 0, 1, 1.5, 1.0, True, [], {}, ["a"], [None], [1, 1], {"a": 1}, {"a": None}, 1e30, -0.0, [[]],
)  # fmt: skip


def contents_of(draw: Draw, schema: Json) -> Json:
    """An object of a schema, most of it legal."""
    value = value_of(draw, {"type": "object", **schema}, 0)
    return value if isinstance(value, dict) else {}


def value_of(draw: Draw, schema: Json, depth: int) -> Json:
    """A value of a schema."""
    if draw.chance(0.03):
        return copy.deepcopy(draw.one(ODD))
    if schema.get("enum") and draw.chance(0.85):
        return copy.deepcopy(draw.one(schema["enum"]))
    if schema.get("nullable") and draw.chance(0.2):
        return None
    if schema.get("x-kubernetes-int-or-string"):
        return draw.one((1, "1", "50%", "all", 0, -1))
    kind = schema.get("type", "")
    if kind == "object" or "properties" in schema:
        return _object(draw, schema, depth)
    if kind == "array":
        count = draw.weighted({0: 1, 1: 3, 2: 3, 3: 1, 5: 0.4})
        return [value_of(draw, schema.get("items", {}), depth + 1) for _ in range(count)]
    return _scalar(draw, schema, kind)


def _scalar(draw: Draw, schema: Json, kind: str) -> Json:
    if schema.get("format") in FORMATS and draw.chance(0.85):
        return draw.one(FORMATS[schema["format"]])
    if kind == "string":
        return draw.one(STRINGS)
    if kind == "integer":
        edges = [schema[key] for key in ("minimum", "maximum", "multipleOf") if key in schema]
        return draw.one((*NUMBERS, *edges, *(edge + 1 for edge in edges)))
    if kind == "number":
        return draw.one((*NUMBERS, 0.5, 0.25, 1.5, 1e3, -0.1))
    if kind == "boolean":
        return draw.chance(0.5)
    return copy.deepcopy(draw.one(ODD))


def _object(draw: Draw, schema: Json, depth: int) -> Json:
    result: Json = {}
    properties, required = schema.get("properties", {}), schema.get("required", [])
    share = 0.9 if depth == 0 else 0.4 if len(properties) < 6 else 0.15
    for name, subschema in properties.items():
        if name in ("apiVersion", "kind", "metadata") and depth == 0:
            continue
        if draw.chance(0.95 if name in required else share):
            result[name] = value_of(draw, subschema, depth + 1)
    more = schema.get("additionalProperties")
    if isinstance(more, dict):
        for name in draw.some(("a", "b", "cpu", "memory", "x/y", ""), 3):
            result[name] = value_of(draw, more, depth + 1)
    if schema.get("x-kubernetes-embedded-resource"):
        result |= draw.one(
            (
                {"apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}},
                {"apiVersion": "v1", "kind": "X"},
                {"apiVersion": "v1"},
                {"kind": "x y", "apiVersion": "a/b/c", "metadata": {"name": "X_"}},
                {"apiVersion": "v1", "kind": "X", "metadata": {"labels": {"a": 1}, "other": 1}},
                {},
            )
        )
    if schema.get("x-kubernetes-preserve-unknown-fields") and draw.chance(0.5):
        result["anything"] = copy.deepcopy(draw.one(ODD))
    return result


def near(draw: Draw, schema: Json, value: Json) -> Json:
    """The value, some of whose fields are unknown to the schema."""
    if draw.chance(0.12) and isinstance(value.get("spec"), dict):
        value["spec"][draw.one(("unknown", "unknown2"))] = copy.deepcopy(draw.one(ODD))
    if draw.chance(0.04):
        value[draw.one(("unknown", "status"))] = copy.deepcopy(draw.one(ODD))
    return value
