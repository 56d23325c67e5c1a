"""Inline patches of a ClusterClass: compiled once, then evaluated for many templates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET

from kapy.api.cluster_class_patches import ClusterClassPatch, JSONPatch, PatchDefinition
from kapy.kube.patch.strict_json_patch import Operation, operation
from kapy.topology.patches.errors import NoValue
from kapy.topology.patches.item import Item
from kapy.topology.patches.selection import selects
from kapy.topology.patches.values import Values
from kapy.topology.patches.variable_path import value_of


class GeneratedPatch(NamedTuple):
    """The result of one patch definition for one template.

    definition: its index. sources: by operation, the origin of its value, as text for users.
    """

    definition: int
    operations: Sequence[Operation]
    sources: Sequence[str]


@dataclass(frozen=True, slots=True)
class _Change:
    """One JSON patch of a definition: the part that is the same for all templates."""

    patch: JSONPatch
    operation: Operation
    source: str


class InlinePatch:
    """One patch with definitions. Each definition is compiled at its first use, so that a wrong one
    does not affect clusters without the templates that it selects."""

    def __init__(self, patch: ClusterClassPatch) -> None:
        self.name = patch.name
        self._enabled_if = patch.enabled_if
        self._definitions = patch.definitions
        self._changes: dict[int, list[_Change]] = {}

    def generate(self, item: Item, values: Values) -> Iterator[GeneratedPatch]:
        """The JSON patches for a template. Raises NoValue or BadPatch."""
        matching = [
            (number, element)
            for number, element in enumerate(self._definitions)
            if selects(element.selector, item, values)
        ]
        if matching and self._is_enabled(values):
            for number, definition in matching:
                changes = self._compile(number, definition)
                yield GeneratedPatch(
                    number,
                    [_with_value(change, number, values) for change in changes],
                    [change.source for change in changes],
                )

    def _is_enabled(self, values: Values) -> bool:
        if not self._enabled_if:
            return True
        try:
            return values.render(self._enabled_if) is True
        except NoValue as error:
            raise NoValue(f"enabledIf: {error}") from None

    def _compile(self, number: int, definition: PatchDefinition) -> list[_Change]:
        change = self._changes.get(number)
        if change is None:
            change = [
                _Change(
                    patch,
                    operation(patch.op, patch.path, None if patch.value is UNSET else patch.value),
                    _source(patch),
                )
                for patch in definition.json_patches
            ]
            self._changes[number] = change
        return change


_OPERATIONS_WITH_VALUE: Final = ("add", "replace")


def calculated_value(change: JSONPatch, values: Values) -> Any:
    """The value of a change. Raises NoValue."""
    source = change.value_from
    if source is None:
        if change.value is UNSET:
            raise NoValue("neither value nor valueFrom is set")
        return change.value
    if change.value is not UNSET:
        raise NoValue("both value and valueFrom are set")
    if bool(source.variable) == bool(source.template):
        which = "both" if source.variable else "neither"
        raise NoValue(f"valueFrom is set, and {which} of its variable and template")
    if source.variable:
        return value_of(values.all, source.variable)
    return values.render(source.template)


def _with_value(change: _Change, number: int, values: Values) -> Operation:
    patch = change.patch
    if patch.op not in _OPERATIONS_WITH_VALUE or (
        patch.value_from is None and patch.value is not UNSET
    ):
        return change.operation
    try:
        return replace(change.operation, value=calculated_value(patch, values))
    except NoValue as error:
        raise NoValue(f"definitions[{number}], {patch.op} {patch.path}: {error}") from None


def _source(change: JSONPatch) -> str:
    source = change.value_from
    if source is None:
        return ""
    return f"variable {source.variable}" if source.variable else f"template {source.template}"


_COMPILED: Final[dict[bytes, Mapping[str, InlinePatch]]] = {}
_MAX_COMPILED: Final = 64


def inline_patches(patches: Sequence[ClusterClassPatch]) -> Mapping[str, InlinePatch]:
    """The patches with definitions, by name. They are compiled once for all clusters of a class and
    cached by their content."""
    key = msgspec.json.encode(patches)
    results = _COMPILED.get(key)
    if results is None:
        if len(_COMPILED) >= _MAX_COMPILED:
            _COMPILED.clear()
        own = msgspec.json.decode(key, type=list[ClusterClassPatch])
        results = {
            class_patch.name: InlinePatch(class_patch)
            for class_patch in own
            if class_patch.definitions
        }
        _COMPILED[key] = results
    return results
