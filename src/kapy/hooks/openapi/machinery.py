"""Components that are Kubernetes' own: of our Structs they are only what we read of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kapy.hooks.openapi.components import (
    INT_OR_STRING,
    JSON,
    OBJECT_META,
    RAW_EXTENSION,
    TIME,
    reference,
)
from kapy.kube import Document

_META: Final = "k8s.io.apimachinery.pkg.apis.meta.v1"
_FIELDS: Final = f"{_META}.FieldsV1"
_MANAGED_FIELDS: Final = f"{_META}.ManagedFieldsEntry"
_OWNER: Final = f"{_META}.OwnerReference"


def _text(description: str, **more: Any) -> Document:
    return {"type": "string", "description": description, **more}


def _number(description: str) -> Document:
    return {"type": "integer", "format": "int64", "description": description}


def _texts(description: str) -> Document:
    values = {"type": "string", "default": ""}
    return {"type": "object", "additionalProperties": values, "description": description}


def _ref(component: str, description: str, **more: Any) -> Document:
    return {"$ref": reference(component), "description": description, **more}


def _listed(component: str, description: str, **more: Any) -> Document:
    items = {"$ref": reference(component), "default": {}}
    return {"type": "array", "items": items, "description": description, **more}


_OBJECT_META_FIELDS: Final[Document] = {
    "annotations": _texts("What tools have written down about the object."),
    "clusterName": _text("Not used."),
    "creationTimestamp": _ref(TIME, "When the object was created.", default={}),
    "deletionGracePeriodSeconds": _number("How long its deletion may take."),
    "deletionTimestamp": _ref(TIME, "When its deletion was asked for; finalizers may hold it."),
    "finalizers": {
        "type": "array",
        "items": {"type": "string", "default": ""},
        "description": "Who has to let go of the object before it goes.",
        "x-kubernetes-patch-strategy": "merge",
    },
    "generateName": _text("What the server made the name of."),
    "generation": _number("Counts changes of the spec."),
    "labels": _texts("What selectors choose the object by."),
    "managedFields": _listed(_MANAGED_FIELDS, "Who has set which fields."),
    "name": _text("The object's name."),
    "namespace": _text("Its namespace."),
    "ownerReferences": _listed(
        _OWNER,
        "The objects with which this one goes.",
        **{"x-kubernetes-patch-merge-key": "uid", "x-kubernetes-patch-strategy": "merge"},
    ),
    "resourceVersion": _text("Changes with each write."),
    "selfLink": _text("Not used."),
    "uid": _text("Tells the object from others that had its name."),
}

_OWNER_FIELDS: Final[Document] = {
    "apiVersion": _text("The owner's API version.", default=""),
    "kind": _text("Its kind.", default=""),
    "name": _text("Its name.", default=""),
    "uid": _text("Its UID.", default=""),
    "controller": {"type": "boolean", "description": "Whether it manages the object."},
    "blockOwnerDeletion": {
        "type": "boolean",
        "description": "Whether it waits for the object when it is deleted in the foreground.",
    },
}

MACHINERY: Final[Mapping[str, Document]] = {
    JSON: {"description": "Any JSON value."},
    TIME: _text("A time as in RFC 3339.", format="date-time"),
    RAW_EXTENSION: {"type": "object", "description": "An object of any kind."},
    INT_OR_STRING: {
        "description": "A number, or a share as in 20%.",
        "format": "int-or-string",
        "oneOf": [{"type": "integer"}, {"type": "string"}],
        "x-kubernetes-v2-schema": _text("A number or a text.", format="int-or-string"),
    },
    _FIELDS: {"type": "object", "description": "A set of fields."},
    _MANAGED_FIELDS: {
        "type": "object",
        "description": "The fields that one manager has set.",
        "properties": {
            "apiVersion": _text("The version in which the fields are named."),
            "fieldsType": _text("FieldsV1."),
            "fieldsV1": _ref(_FIELDS, "The fields."),
            "manager": _text("The manager's name."),
            "operation": _text("Apply or Update."),
            "subresource": _text("The subresource that was written; none is the object itself."),
            "time": _ref(TIME, "When the fields were set."),
        },
    },
    _OWNER: {
        "type": "object",
        "description": "An object with which another one goes.",
        "properties": _OWNER_FIELDS,
        "required": ["apiVersion", "kind", "name", "uid"],
        "x-kubernetes-map-type": "atomic",
    },
    OBJECT_META: {
        "type": "object",
        "description": "What every object has.",
        "properties": _OBJECT_META_FIELDS,
    },
}

NEEDED_BY: Final[Mapping[str, Sequence[str]]] = {
    _MANAGED_FIELDS: (_FIELDS, TIME),
    OBJECT_META: (_MANAGED_FIELDS, _OWNER, TIME),
}
"""The components that a component refers to."""
