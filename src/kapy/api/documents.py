"""Defaults, validation and conversion of documents in any served version: the public functions.

They are pure and need no server. They do not check the schema unless `schema=True` asks for it, and
they do not apply the rules for which an API server reads other objects.
"""

from __future__ import annotations

from functools import cache

import msgspec

from kapy.api import defaults, validation
from kapy.api.conversion import ReferenceVersion, convert
from kapy.api.features import DEFAULT_GATES, FeatureGates
from kapy.api.kinds import BY_GROUP_KIND, STORED, Kind
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.field_errors import FieldError, invalid
from kapy.kube.model import decode_problem
from kapy.kube.names import GroupKind, split_api_version
from kapy.kube.schema import Structural


class UnknownKind(KapyError):
    """The object is of no kind that is defined here."""


def default(
    document: Document,
    old: Document | None = None,
    *,
    reference_version: ReferenceVersion | None = None,
) -> Document:
    """Return the object with the defaults that the server would set; the object itself if there are
    none.

    old: the stored object, on an update. reference_version: as for `convert`; it is needed when an
    object of an older version changes. Raises UnknownKind, CannotDefault, ConversionError.
    """
    stored = _to_stored(document)
    filled = defaults.default(stored, None if old is None else _to_stored(old))
    if filled is stored or filled == stored:
        return document
    return convert(filled, document["apiVersion"], reference_version=reference_version)


def validate(
    new: Document,
    old: Document | None = None,
    *,
    gates: FeatureGates = DEFAULT_GATES,
    schema: bool = False,
) -> list[FieldError]:
    """Return all errors of an object, or of the change from `old` to it.

    Paths are those of the stored version. schema: check types, bounds and CEL rules first, in the
    version of the object, as a server does; further rules are checked only if these hold. Raises
    UnknownKind, ConversionError.
    """
    if schema and (errors := _structural(new).validate(new, _to_version_of(new, old), [])):
        return errors
    try:
        before = None if old is None else _to_stored(old)
        return validation.validate(_to_stored(new), before, gates=gates)
    except msgspec.ValidationError as error:
        path, why = decode_problem(error)
        return [invalid(path or "(object)", None, why)]


def _to_stored(document: Document) -> Document:
    kind, _ = _find_kind(document)
    return convert(document, f"{kind.group}/{STORED}")


def _find_kind(document: Document) -> tuple[Kind, str]:
    group, version = split_api_version(str(document.get("apiVersion", "")))
    kind = BY_GROUP_KIND.get(GroupKind(group, str(document.get("kind", ""))))
    if kind is None:
        raise UnknownKind(
            f"{document.get('apiVersion')} {document.get('kind')} is no kind of Cluster API"
        )
    return kind, version


def _to_version_of(new: Document, old: Document | None) -> Document | None:
    """Return the old object in the version of the new one, for rules about a change."""
    if old is None or old.get("apiVersion") == new.get("apiVersion"):
        return old
    return convert(old, new["apiVersion"])


def _structural(document: Document) -> Structural:
    kind, version = _find_kind(document)
    return _compile_schema(kind, version if version in kind.versions else STORED)


@cache
def _compile_schema(kind: Kind, version: str) -> Structural:
    from kapy.api.schema import structural_schema
    from kapy.kube.cel import rule_checker

    return Structural.compile(structural_schema(kind.type_of(version)), rules=rule_checker)
