"""Structural schemas made at random, of the features that people use."""

from __future__ import annotations

from typing import Final

from tests.differential.areas.contents import FORMATS
from tests.differential.case import Json
from tests.differential.draw import Draw

RULES: Final[dict[str, tuple[Json, ...]]] = {
    "string": (
        {"rule": "self.size() < 5", "message": "too long"},
        {"rule": "self != 'abc'"},
        {"rule": "self == oldSelf", "message": "immutable"},
        {"rule": "self.startsWith('a')", "messageExpression": "'is ' + self"},
        {"rule": "self.matches('^[a-z]*$')", "reason": "FieldValueForbidden"},
    ),
    "integer": (
        {"rule": "self >= 0", "message": "negative"},
        {"rule": "self >= oldSelf", "message": "shrinks"},
        {"rule": "self % 2 == 0"},
        {"rule": "self > 5", "messageExpression": "'is ' + string(self)"},
    ),
    "array": ({"rule": "self.size() != 1", "message": "one is none"},),
    "object": ({"rule": "true"},),
    "boolean": ({"rule": "self", "message": "must be true"}, {"rule": "self || !oldSelf"}),
    "number": ({"rule": "self < 2.5", "message": "too much"},),
}
DEFAULTS: Final[dict[str, tuple[Json, ...]]] = {
    "string": ("", "a", "abc"),
    "integer": (0, 1, 6),
    "boolean": (True, False),
    "number": (1, 0.5),
}
BOUNDS: Final = {"format", "pattern", "enum", "minimum", "maximum", "multipleOf", "minLength"}
"""Constraints that a default value could violate."""


def schema(draw: Draw) -> Json:
    """The schema of a kind: a spec, and now and then a status."""
    properties = {"spec": _object(draw, 0)}
    if draw.chance(0.4):
        properties["status"] = _object(draw, 1)
    result: Json = {"type": "object", "properties": properties}
    if draw.chance(0.1):
        result["required"] = ["spec"]
    return result


def _any(draw: Draw, depth: int) -> Json:
    kinds = {"string": 4.0, "integer": 3.0, "boolean": 1.0, "number": 1.0, "int-or-string": 0.7}
    if depth < 3:
        kinds |= {"object": 2.0, "array": 2.5, "map": 1.0}
    kind = draw.weighted(kinds)
    if kind == "int-or-string":
        return {"x-kubernetes-int-or-string": True}
    if kind == "map":
        result: Json = {
            "type": "object",
            "additionalProperties": _any(draw, depth + 1),
            "maxProperties": 4,
        }
        if draw.chance(0.2):
            result["minProperties"] = 1
        return result
    result = (
        _object(draw, depth)
        if kind == "object"
        else _array(draw, depth)
        if kind == "array"
        else _scalar(draw, kind)
    )
    if draw.chance(0.15):
        result["nullable"] = True
    if draw.chance(0.12):
        result["x-kubernetes-validations"] = [dict(draw.one(RULES[kind]))]
    return result


def _scalar(draw: Draw, kind: str) -> Json:
    result: Json = {"type": kind}
    if kind == "string":
        result["maxLength"] = draw.one((4, 10, 20))
        if draw.chance(0.2):
            result["minLength"] = 1
        if draw.chance(0.15):
            result["pattern"] = draw.one(("^[a-z]*$", "^x", "[0-9]+"))
        if draw.chance(0.15):
            result["enum"] = draw.one((["a", "b"], ["", "abc"]))
        if draw.chance(0.25):
            names = [name for name in FORMATS if not name.startswith(("int", "double"))]
            result["format"] = draw.one(names)
            result.pop("enum", None)
    elif kind in ("integer", "number"):
        if draw.chance(0.3):
            result["minimum"] = draw.one((0, 1, -5))
        if draw.chance(0.3):
            result["maximum"] = draw.one((5, 10, 100))
        if draw.chance(0.1):
            result["multipleOf"] = draw.one((2, 5))
        if draw.chance(0.2) and "minimum" in result:
            result["exclusiveMinimum"] = True
        if draw.chance(0.2) and kind == "integer":
            result["format"] = draw.one(("int32", "int64"))
        if draw.chance(0.08):
            result["enum"] = [1, 2, 3]
    if draw.chance(0.15) and not BOUNDS & set(result):
        result["default"] = draw.one(DEFAULTS[kind])
    return result


def _array(draw: Draw, depth: int) -> Json:
    result: Json = {"type": "array", "maxItems": draw.one((3, 5))}
    how = draw.weighted({"": 2, "set": 1, "map": 1.5, "atomic": 0.5})
    result["items"] = _any(draw, depth + 1)
    if how == "set":
        result["items"] = _scalar(draw, draw.one(("string", "integer")))
        result["items"].pop("default", None)
    elif how == "map":
        item = _object(draw, depth + 1)
        item["properties"]["k"] = {"type": "string", "maxLength": 10}
        item["required"] = sorted({"k", *item.get("required", [])})
        item.pop("nullable", None)
        result |= {"items": item, "x-kubernetes-list-map-keys": ["k"]}
    result["items"].pop("nullable", None)
    if how:
        result["x-kubernetes-list-type"] = how
    if draw.chance(0.2):
        result["minItems"] = 1
    return result


def _object(draw: Draw, depth: int) -> Json:
    names = draw.some(("a", "b", "c", "d", "e"), 5) or ["a"]
    result: Json = {
        "type": "object",
        "properties": {name: _any(draw, depth + 1) for name in sorted(names)},
    }
    if draw.chance(0.25):
        result["required"] = [draw.one(names)]
    if draw.chance(0.1):
        result["x-kubernetes-preserve-unknown-fields"] = True
    if draw.chance(0.08):
        result["x-kubernetes-map-type"] = "atomic"
    if draw.chance(0.1) and "required" not in result:
        result["default"] = {}
    if draw.chance(0.1):
        text = names[0]
        result["x-kubernetes-validations"] = [
            {"rule": f"has(self.{text})", "message": f"needs {text}"}
        ]
        result.pop("default", None)
    if depth == 0 and draw.chance(0.1):
        result["minProperties"] = 1
    return result
