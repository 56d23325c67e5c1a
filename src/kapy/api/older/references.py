"""References, which had a version (and a namespace) in older versions."""

from __future__ import annotations

from typing import get_args

from kapy.api.core_v1 import ObjectReference
from kapy.api.older.difference import CannotConvert, Downgrade, Place, Row, Upgrade
from kapy.api.older.fields import Field, Fields, optional_field, plain
from kapy.kube import Document
from kapy.kube.names import GroupKind


def reference(name: str) -> Row:
    """Return a reference with a group had a version and a namespace."""

    def shape(fields: Fields) -> Fields:
        field = fields[name]
        if get_args(plain(field.hint)):
            return fields | {name: optional_field(field.encoded, ObjectReference | None)}
        return fields | {name: Field(field.encoded, ObjectReference, field.default, field.factory)}

    def convert(newest: Fields) -> tuple[Upgrade, Downgrade]:
        key = newest[name].encoded

        def upgrade(part: Document, _: Document | None, place: Place) -> None:
            if (result := part.get(key)) is not None:
                part[key] = contract_reference(result, place.of(key).path)

        def downgrade(part: Document, place: Place) -> None:
            if result := part.get(key):
                part[key] = object_reference(result, place.of(key))

        return upgrade, downgrade

    return Row(shape, convert)


def contract_reference(reference: Document, path: str) -> Document:
    """Return a reference with a group instead of a version (and a namespace)."""
    api_version = reference.get("apiVersion", "")
    if api_version.count("/") > 1:
        raise CannotConvert(
            f"{path}.apiVersion", f"{api_version} is no apiVersion: it has more than one slash"
        )
    result = {
        "kind": reference.get("kind", ""),
        "name": reference.get("name", ""),
        "apiGroup": api_version.rpartition("/")[0],
    }
    return {key: value for key, value in result.items() if value}


def object_reference(reference: Document, place: Place) -> Document:
    """Return a reference with the version that the CRD of its kind names. Raises CannotConvert."""
    kind = GroupKind(reference.get("apiGroup", ""), reference.get("kind", ""))
    try:
        api_version = place.reference_version(kind)
    except LookupError as error:
        why = error.args[0] if error.args else "the version of its kind is not known"
        raise CannotConvert(place.path, f"{kind} {reference.get('name', '')}: {why}") from None
    result = {
        "kind": kind.kind,
        "namespace": place.namespace,
        "name": reference.get("name", ""),
        "apiVersion": api_version,
    }
    return {key: value for key, value in result.items() if value}
