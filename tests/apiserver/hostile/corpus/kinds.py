"""A custom kind with every sort of field that a schema can have."""

from __future__ import annotations

from kapy.kube import Document

_STRING: Document = {"type": "string"}
_LONG = {f"d{at}": {"type": "string", "default": "x" * 50} for at in range(40)}

SPEC: Document = {
    "type": "object",
    "properties": {
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "any": {"x-kubernetes-preserve-unknown-fields": True},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": _STRING},
        "numbers": {
            "type": "array",
            "x-kubernetes-list-type": "set",
            "items": {"type": "integer"},
        },
        "map": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": _STRING,
                    "value": _STRING,
                    "count": {"type": "integer", "default": 1},
                },
            },
        },
        "pairs": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["port", "protocol"],
            "items": {
                "type": "object",
                "required": ["port"],
                "properties": {
                    "port": {"type": "integer"},
                    "protocol": {"type": "string", "default": "TCP"},
                },
            },
        },
        "atoms": {"type": "array", "items": {"type": "integer", "minimum": 0}},
        "bounded": {"type": "array", "maxItems": 10, "items": {"type": "integer"}},
        "words": {
            "type": "array",
            "items": {"type": "string", "maxLength": 63, "pattern": "^[a-z]([-a-z0-9]*[a-z0-9])?$"},
        },
        "colors": {"type": "array", "items": {"type": "string", "enum": ["red", "blue"]}},
        "times": {"type": "array", "items": {"type": "string", "format": "date-time"}},
        "dict": {"type": "object", "additionalProperties": _STRING},
        "lists": {
            "type": "object",
            "additionalProperties": {
                "type": "array",
                "items": {"type": "object", "properties": {"a": {"type": "integer"}}},
            },
        },
        "either": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
            },
        },
        "filled": {"type": "array", "items": {"type": "object", "properties": _LONG}},
        "objects": {
            "type": "array",
            "items": {
                "type": "object",
                "x-kubernetes-embedded-resource": True,
                "x-kubernetes-preserve-unknown-fields": True,
            },
        },
        "amounts": {"type": "array", "items": {"x-kubernetes-int-or-string": True}},
        "replicas": {"type": "integer"},
    },
}

CRD: Document = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.hostile.dev"},
    "spec": {
        "group": "hostile.dev",
        "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {
                    "status": {},
                    "scale": {
                        "specReplicasPath": ".spec.replicas",
                        "statusReplicasPath": ".status.replicas",
                        "labelSelectorPath": ".status.selector",
                    },
                },
                "selectableFields": [{"jsonPath": ".spec.replicas"}],
                "additionalPrinterColumns": [
                    {"name": "Names", "type": "string", "jsonPath": ".spec.map[*].name"},
                    {"name": "Last", "type": "string", "jsonPath": ".spec.words[-1:]"},
                    {"name": "Free", "type": "string", "jsonPath": ".spec.free"},
                ],
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": SPEC,
                            "status": {
                                "type": "object",
                                "x-kubernetes-preserve-unknown-fields": True,
                                "properties": {
                                    "replicas": {"type": "integer"},
                                    "selector": _STRING,
                                },
                            },
                        },
                    }
                },
            }
        ],
    },
}
