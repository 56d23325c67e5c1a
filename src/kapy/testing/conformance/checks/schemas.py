"""Checks of schema fields, in the version that core reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from kapy.contract.fields import Types, Version
from kapy.kube.nested import value_at
from kapy.testing.conformance.checks.check import CannotTell, Check, fault
from kapy.testing.conformance.checks.definitions import Subjects
from kapy.testing.conformance.definitions import Definition, Reading
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.release import Release

_OPEN: Final = ("x-kubernetes-preserve-unknown-fields", "additionalProperties")
_ANY: Final[Mapping[str, Any]] = {"x-kubernetes-preserve-unknown-fields": True}


@dataclass(frozen=True)
class Shape:
    """Required fields, by contract.

    shown: the shape applies to a kind only if it has one of these fields; none: always.
    """

    v1beta2: Types
    v1beta1: Types
    shown: tuple[str, ...] = ()


def same(types: Types, *shown: str) -> Shape:
    """Return a shape that is the same in both contracts."""
    return Shape(types, types, shown)


def fields(subjects: Subjects, shape: Shape) -> Check[tuple[Definition, Reading]]:
    """Check that the fields of a shape exist and have the right types."""
    result = partial(_readings, subjects, shape.shown)
    return Check(result, partial(_faults, shape), _nothing(shape.shown))


def stored_fields(subjects: Subjects, types: Types) -> Check[tuple[Definition, Reading]]:
    """Check the fields in the storage version: for kinds that need no contract label."""
    return Check(
        lambda release: [
            (subject, subject.stored) for subject in subjects(release) if subject.stored
        ],
        partial(_faults, same(types)),
        _nothing(()),
    )


def one_of(
    subjects: Subjects, shown: tuple[str, ...], types: Types
) -> Check[tuple[Definition, Reading]]:
    """Check that at least one field exists, and that those which exist have the right types."""
    return Check(
        partial(_readings, subjects, shown), partial(_alternatives, types), _nothing(shown)
    )


def optional(subjects: Subjects, types: Types) -> Check[tuple[Definition, Reading]]:
    """Check that those fields which exist have the right types."""
    entries = tuple(types)
    return Check(partial(_readings, subjects, entries), partial(_types, types), _nothing(entries))


def scale(subjects: Subjects, shown: str) -> Check[tuple[Definition, Reading]]:
    """Check the subresource scale."""
    return Check(partial(_readings, subjects, (shown,)), _scale, _nothing((shown,)))


def metadata(subjects: Subjects) -> Check[Definition]:
    """Check apiVersion, kind and metadata of every version; the API server adds missing ones."""
    return Check(subjects, _metadata, _nothing(()))


def _nothing(entries: tuple[str, ...]) -> str:
    return f"no CRD has {' or '.join(entries)}" if entries else "there is no CRD of such a kind"


def _readings(
    subjects: Subjects, entries: tuple[str, ...], release: Release
) -> Iterator[tuple[Definition, Reading]]:
    result = subjects(release)
    readable = [(item, reading) for item in result for reading in item.readings]
    if result and not readable:
        kinds = ", ".join(item.kind for item in result)
        raise CannotTell(f"no label says which version of {kinds} keeps a contract")
    for definition, reading in readable:
        if not entries or any(_declares(reading.schema, path) for path in entries):
            yield definition, reading


def _declares(schema: Any, path: str) -> bool:
    """Return whether a schema names a field; preserving unknown fields does not count."""
    return node_at(schema, path) not in (None, _ANY)


def _faults(shape: Shape, judged: tuple[Definition, Reading]) -> Iterator[Finding]:
    definition, reading = judged
    types = shape.v1beta1 if reading.contract is Version.V1BETA1 else shape.v1beta2
    for path, wanted in types.items():
        node = node_at(reading.schema, path)
        if node is None:
            yield _lacks(definition, reading, path, f"add it, with the type {wanted}")
        else:
            yield from _wrong_type(definition, reading, path, node, wanted)


def _alternatives(types: Types, judged: tuple[Definition, Reading]) -> Iterator[Finding]:
    definition, reading = judged
    if all(node_at(reading.schema, path) is None for path in types):
        yield _lacks(definition, reading, " or ".join(types), "add one of them")
    yield from _types(types, judged)


def _types(types: Types, judged: tuple[Definition, Reading]) -> Iterator[Finding]:
    definition, reading = judged
    for path, wanted in types.items():
        node = node_at(reading.schema, path)
        if node is not None:
            yield from _wrong_type(definition, reading, path, node, wanted)


def _lacks(definition: Definition, reading: Reading, path: str, remedy: str) -> Finding:
    return fault(
        definition.object,
        _field(reading),
        f"has no {path} (contract {reading.contract})",
        remedy,
    )


def _wrong_type(
    definition: Definition, reading: Reading, path: str, node: Mapping[str, Any], wanted: str
) -> Iterator[Finding]:
    text = node.get("type")
    if text and text != wanted:
        yield fault(
            definition.object,
            _field(reading),
            f"{path} is of type {text}, and not {wanted} (contract {reading.contract})",
            f"make it of type {wanted}",
        )


def _field(reading: Reading) -> str:
    return f"spec.versions[{reading.version}].schema"


_SCALE: Final = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}


def _scale(judged: tuple[Definition, Reading]) -> Iterator[Finding]:
    definition, reading = judged
    text = value_at(reading.subresources, ("scale",))
    for key, wanted in _SCALE.items():
        result = value_at(text, (key,))
        if result != wanted:
            yield fault(
                definition.object,
                f"spec.versions[{reading.version}].subresources.scale.{key}",
                f"is {result}" if result else "is missing",
                f"set it to {wanted}",
            )


_METADATA: Final = {"apiVersion": "string", "kind": "string", "metadata": "object"}


def _metadata(definition: Definition) -> Iterator[Finding]:
    for version, document in definition.versions.items():
        for name, wanted in _METADATA.items():
            node = value_at(document, ("schema", "openAPIV3Schema", "properties", name))
            text = value_at(node, ("type",))
            if text not in (None, wanted):
                yield fault(
                    definition.object,
                    f"spec.versions[{version}].schema",
                    f"{name} is of type {text}",
                    f"make it of type {wanted}",
                )


def node_at(schema: Any, path: str) -> Mapping[str, Any] | None:
    """Return the schema of a field; None if there is none.

    Parts of a schema that preserve unknown fields, and maps, have every field.
    """
    node = schema
    for part in path.split("."):
        if not isinstance(node, dict):
            return None
        below = node.get("items") if part == "[]" else value_at(node, ("properties", part))
        if below is None and any(map(node.get, _OPEN)):
            return _ANY
        node = below
    return node if isinstance(node, dict) else None
