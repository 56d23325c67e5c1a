"""Running expressions about a small object that has one field of every kind."""

from __future__ import annotations

from typing import Any, Final

from kapy.kube import Document
from kapy.kube.cel import compile_expression, declared_type

SCHEMA: Final[Document] = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "maxLength": 63},
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "on": {"type": "boolean"},
        "since": {"type": "string", "format": "date-time"},
        "day": {"type": "string", "format": "date"},
        "period": {"type": "string", "format": "duration"},
        "raw": {"type": "string", "format": "byte"},
        "port": {"x-kubernetes-int-or-string": True},
        "words": {"type": "array", "items": {"type": "string"}},
        "set": {
            "type": "array",
            "x-kubernetes-list-type": "set",
            "items": {"type": "string"},
        },
        "pairs": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            "items": {
                "type": "object",
                "properties": {"k": {"type": "string"}, "v": {"type": "integer"}},
            },
        },
        "times": {"type": "array", "items": {"type": "string", "format": "date-time"}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "inner": {"type": "object", "properties": {"x": {"type": "integer"}}},
        "maybe": {"type": "object", "nullable": True, "properties": {"x": {"type": "integer"}}},
        "loose": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "a.b/c-d": {"type": "integer"},
        "namespace": {"type": "string"},
        "under__score": {"type": "string"},
        "no good": {"type": "string"},
    },
}

OBJECT: Final[Document] = {
    "name": "capy",
    "count": 3,
    "ratio": 2,
    "on": True,
    "since": "2024-02-29T12:30:15.5+02:00",
    "day": "2024-02-29",
    "period": "1h30m",
    "raw": "aGVsbG8=",
    "port": "http",
    "words": ["b", "a", "b"],
    "set": ["x", "y"],
    "pairs": [{"k": "a", "v": 1}, {"k": "b", "v": 2}],
    "times": ["2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z"],
    "labels": {"app": "web", "tier": "front"},
    "inner": {"x": 1},
    "maybe": None,
    "loose": {"y": 1},
    "a.b/c-d": 7,
    "namespace": "ns",
    "under__score": "u",
    "no good": "n",
}


def value(expression: str, self: Any = OBJECT, old: Any = None) -> Any:
    """Return the value of an expression. Raises CompileError, EvaluationError."""
    kind = declared_type(SCHEMA)
    assert kind is not None
    return compile_expression(expression, {"self": kind, "oldSelf": kind}).run(self, old)[0]
