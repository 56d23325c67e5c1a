"""What `kubectl explain` says of the metadata that every object has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "meta.v1.ObjectMeta": {
        "annotations": "Notes of people and programs, by qualified name; nothing selects by them.",
        "creationTimestamp": "When the server stored the object for the first time.",
        "deletionGracePeriodSeconds": "How long the object has to end in good order.",
        "deletionTimestamp": (
            "When the object is to be gone; it is set when somebody deletes the object, and never "
            "taken back. The object goes once it has no finalizers."
        ),
        "finalizers": "Who has something to do before the object may go; each takes its own out.",
        "generateName": "How a name begins that the server is to complete; only without a name.",
        "generation": "Counts the changes of what is wanted, as far as the kind does.",
        "labels": "Values by qualified name, by which objects are selected.",
        "managedFields": "Which fields were set by whom; the server keeps it for apply.",
        "name": "The object's name, unique among those of its kind in its namespace.",
        "namespace": "The namespace that the object is in; empty for kinds that are in none.",
        "ownerReferences": "On behalf of which objects this one exists; it goes when all are gone.",
        "resourceVersion": (
            "Another one for every change. A write that carries it fails if the object has "
            "changed since; beyond that it means nothing to clients."
        ),
        "selfLink": "Not filled in any more.",
        "uid": "The object's identity, which no other object has, not even one of the same name.",
    },
    "meta.v1.OwnerReference": {
        "apiVersion": "The API group and version of the owner's kind.",
        "blockOwnerDeletion": (
            "Whether an owner that is deleted in the foreground waits until this object is gone."
        ),
        "controller": "Whether the owner is the one that manages this object.",
        "kind": "The owner's kind.",
        "name": "The owner's name.",
        "uid": "The owner's identity.",
    },
    "meta.v1.ManagedFieldsEntry": {
        "apiVersion": "The version of the kind in which the fields are named.",
        "fieldsType": "The form of fieldsV1; there is one, FieldsV1.",
        "fieldsV1": "The fields, as a tree of their names.",
        "manager": "Who set the fields.",
        "operation": "How they were set: by Apply, or by any other write (Update).",
        "subresource": "The subresource that was written to, as in status.",
        "time": "When the manager changed its set of fields or their values last.",
    },
}
"""A sentence for each field of a struct, by the name that the struct has in `structs.json`."""
