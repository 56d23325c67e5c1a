"""Components of Kubernetes' own types; kapy's Structs have only the fields that it reads."""

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


def _list_schema(component: str, description: str, **more: Any) -> Document:
    items = {"$ref": reference(component), "default": {}}
    return {"type": "array", "items": items, "description": description, **more}


_OBJECT_META_FIELDS: Final[Document] = {
    "annotations": _texts("annotations are key-value pairs of tools."),
    "clusterName": _text("clusterName is not used."),
    "creationTimestamp": _ref(
        TIME, "creationTimestamp is the time at which the object was created.", default={}
    ),
    "deletionGracePeriodSeconds": _number(
        "deletionGracePeriodSeconds is the time in seconds for a graceful deletion."
    ),
    "deletionTimestamp": _ref(
        TIME,
        "deletionTimestamp is the time of the request for deletion. The object exists until "
        "its finalizers are removed.",
    ),
    "finalizers": {
        "type": "array",
        "items": {"type": "string", "default": ""},
        "description": "finalizers name controllers that clean up before the removal.",
        "x-kubernetes-patch-strategy": "merge",
    },
    "generateName": _text("generateName is the prefix of a generated name."),
    "generation": _number("generation is a number that grows with each change of the spec."),
    "labels": _texts("labels are key-value pairs by which selectors select the object."),
    "managedFields": _list_schema(
        _MANAGED_FIELDS, "managedFields record which manager has set which fields."
    ),
    "name": _text("name is the name of the object."),
    "namespace": _text("namespace is the namespace of the object."),
    "ownerReferences": _list_schema(
        _OWNER,
        "ownerReferences are the objects with which this object is deleted.",
        **{"x-kubernetes-patch-merge-key": "uid", "x-kubernetes-patch-strategy": "merge"},
    ),
    "resourceVersion": _text("resourceVersion is a value that changes with each write."),
    "selfLink": _text("selfLink is not used."),
    "uid": _text("uid identifies the object among all objects that ever had its name."),
}

_OWNER_FIELDS: Final[Document] = {
    "apiVersion": _text("apiVersion is the API group and version of the owner.", default=""),
    "kind": _text("kind is the kind of the owner.", default=""),
    "name": _text("name is the name of the owner.", default=""),
    "uid": _text("uid is the unique identifier of the owner.", default=""),
    "controller": {
        "type": "boolean",
        "description": "controller tells whether the owner manages the object.",
    },
    "blockOwnerDeletion": {
        "type": "boolean",
        "description": ("blockOwnerDeletion makes a foreground deletion of the owner wait."),
    },
}

MACHINERY: Final[Mapping[str, Document]] = {
    JSON: {"description": "JSON is any JSON value."},
    TIME: _text("Time is a time in the format of RFC 3339.", format="date-time"),
    RAW_EXTENSION: {"type": "object", "description": "RawExtension is an object of any kind."},
    INT_OR_STRING: {
        "description": "IntOrString is an integer, or a string, for example a percentage.",
        "format": "int-or-string",
        "oneOf": [{"type": "integer"}, {"type": "string"}],
        "x-kubernetes-v2-schema": _text(
            "IntOrString is an integer or a string.", format="int-or-string"
        ),
    },
    _FIELDS: {"type": "object", "description": "FieldsV1 is a set of fields."},
    _MANAGED_FIELDS: {
        "type": "object",
        "description": "ManagedFieldsEntry records the fields that one manager has set.",
        "properties": {
            "apiVersion": _text(
                "apiVersion is the API version to which the names of the fields belong."
            ),
            "fieldsType": _text(
                "fieldsType is the format of the fields. The only value is FieldsV1."
            ),
            "fieldsV1": _ref(_FIELDS, "fieldsV1 are the fields that the manager has set."),
            "manager": _text("manager is the name of the manager."),
            "operation": _text(
                "operation is the operation of the manager. Values are Apply and Update."
            ),
            "subresource": _text("subresource is the subresource that was written, if any."),
            "time": _ref(TIME, "time is the time at which the fields were set."),
        },
    },
    _OWNER: {
        "type": "object",
        "description": "OwnerReference is a reference to the owner of an object.",
        "properties": _OWNER_FIELDS,
        "required": ["apiVersion", "kind", "name", "uid"],
        "x-kubernetes-map-type": "atomic",
    },
    OBJECT_META: {
        "type": "object",
        "description": "ObjectMeta is the metadata of every object.",
        "properties": _OBJECT_META_FIELDS,
    },
}

NEEDED_BY: Final[Mapping[str, Sequence[str]]] = {
    _MANAGED_FIELDS: (_FIELDS, TIME),
    OBJECT_META: (_MANAGED_FIELDS, _OWNER, TIME),
}
"""The components that a component refers to."""
