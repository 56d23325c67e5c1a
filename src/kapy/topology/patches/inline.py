"""Inline patches of a ClusterClass, compiled once, then evaluated for the templates they select.

A value may come from a variable (`valueFrom.variable`), by a path into it
(`builtin.cluster.network.pods[0]`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET

from kapy.api.cluster_class_patches import (
    ClusterClassPatch,
    JSONPatch,
    PatchDefinition,
    PatchSelector,
)
from kapy.api.validation.cluster_class_patches import is_class_named
from kapy.contract.control_plane import ControlPlane
from kapy.contract.fields import Version
from kapy.kube.digits import parse_digits, parse_integer
from kapy.kube.patch.strict_json_patch import Operation, operation
from kapy.kube.text_cache import text_cache
from kapy.topology.patches.errors import MissingValue, NoValue
from kapy.topology.patches.item import (
    BOOTSTRAP_REF,
    CONTROL_PLANE_REF,
    INFRASTRUCTURE_REF,
    MACHINE_INFRASTRUCTURE_REF,
    Item,
)
from kapy.topology.patches.values import Values

_INDEX: Final = re.compile(r"[+-]?[0-9]+")


class _Segment(NamedTuple):
    name: str
    item: int | None = None


def value_of(variables: Mapping[str, Any], path: str) -> Any:
    """Return the value at a path. Raises MissingValue if nothing is there, NoValue if the path is
    invalid: its syntax is wrong, or it treats a scalar as a list or map.
    """
    segments = _segments(path)
    first = _valid(segments[0])
    if first.name not in variables:
        raise MissingValue(f'variable "{first.name}" does not exist')
    result = _item(variables[first.name], first, path)
    for item in segments[1:]:
        segment = _valid(item)
        result = _item(_part(result, segment.name, path), segment, path)
    return result


def _part(value: Any, name: str, path: str) -> Any:
    if isinstance(value, dict) and name in value:
        return value[name]
    number = parse_digits(name) if isinstance(value, list) else None
    if number is not None and number < len(value):
        return value[number]
    raise MissingValue(f'variable "{path}" does not exist: failed to lookup segment "{name}"')


def _item(value: Any, segment: _Segment, path: str) -> Any:
    if segment.item is None:
        return value
    if not isinstance(value, list):
        raise NoValue(f'variable "{path}" is invalid: "{segment.name}" is no array')
    if segment.item >= len(value):
        raise NoValue(f'variable "{path}" is invalid: array does not have index {segment.item}')
    return value[segment.item]


def _valid(segment: _Segment | NoValue) -> _Segment:
    if isinstance(segment, NoValue):
        raise NoValue(str(segment))
    return segment


@text_cache(1024)
def _segments(path: str) -> tuple[_Segment | NoValue, ...]:
    """Return the segments of a path. The error of an invalid one stands in its place: whatever is
    missing before it is reported first.
    """
    result: list[_Segment | NoValue] = []
    for part in path.split("."):
        try:
            result.append(_segment(part, path))
        except NoValue as error:
            result.append(error)
    return tuple(result)


def _segment(text: str, path: str) -> _Segment:
    opened, closed = text.find("["), text.find("]")
    if opened < 0 and closed < 0:
        return _Segment(text)
    problem = f'variable "{path}" has invalid syntax: path segment "{text}"'
    if opened < 0 or closed < opened:
        raise NoValue(f"{problem} does not close what it opens")
    index = text[opened + 1 : closed]
    if not _INDEX.fullmatch(index):
        raise NoValue(f'{problem} has "{index}" where the index of an array belongs')
    if parse_integer(index) < 0:
        raise NoValue(f"{problem} has an array index below zero: {index}")
    return _Segment(text[:opened], parse_integer(index))


_CONTROL_PLANE_MACHINES: Final = tuple(
    ControlPlane.infrastructure_ref.path(version) for version in Version
)


def selects(selector: PatchSelector, item: Item, values: Values) -> bool:
    """Return whether a selector matches a template in the place where it is used."""
    if (item.api_version, item.kind) != (selector.api_version, selector.kind):
        return False
    matches, holder = selector.match_resources, item.holder
    path = holder.field_path
    if holder.kind == "Cluster":
        return bool(
            (matches.infrastructure_cluster and path == INFRASTRUCTURE_REF)
            or (matches.control_plane and path == CONTROL_PLANE_REF)
        )
    if matches.control_plane and path in _CONTROL_PLANE_MACHINES:
        return True
    if path not in (BOOTSTRAP_REF, MACHINE_INFRASTRUCTURE_REF):
        return False
    if holder.kind == "MachineDeployment" and matches.machine_deployment_class is not None:
        return _names(matches.machine_deployment_class.names, values.machine_deployment_class)
    if holder.kind == "MachinePool" and matches.machine_pool_class is not None:
        return _names(matches.machine_pool_class.names, values.machine_pool_class)
    return False


def _names(names: Iterable[str], class_: str | None) -> bool:
    return class_ is not None and any(is_class_named(class_, name) for name in names)


class GeneratedPatch(NamedTuple):
    """The result of one patch definition for one template.

    definition: the index of the definition. sources: the origin of each operation's value, as text
    for users.
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
    """Return the value of a change. Raises NoValue."""
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
    """Return the patches with definitions, by name. They are compiled once for all clusters of a
    class and cached by their content.
    """
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
