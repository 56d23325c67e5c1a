"""The merge patch with which `kubectl apply` updates an object of a custom kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kapy.kube import Document

Object = Mapping[str, Any]


def three_way(original: Object, modified: Object, current: Object) -> Document:
    """What takes `current` to `modified`, and removes what only `original` has.

    original: what was applied last. modified: what is applied now. Lists are replaced as a whole;
    fields that neither of them names stay as they are.
    """
    return _merged(_removals(original, modified), _additions(current, modified))


def _additions(current: Object, modified: Object) -> Document:
    """New and changed fields. A null adds nothing, and neither does an object of nulls."""
    patch: Document = {}
    for name, value in modified.items():
        before = current.get(name)
        if name in current and _same(before, value):
            continue
        if isinstance(value, dict) and value:
            inner = _additions(before if isinstance(before, dict) else {}, value)
            if inner:
                patch[name] = inner
        elif isinstance(value, dict) and isinstance(before, dict):
            continue  # an empty object changes nothing of one that is there
        elif value is not None:
            patch[name] = _without_nulls(value)
    return patch


def _removals(original: Object, modified: Object) -> Document:
    """Null for every field that is not wanted any more."""
    patch: Document = {}
    for name, value in modified.items():
        before = original.get(name)
        if value is None:
            if name not in original or before is not None:
                patch[name] = None
        elif isinstance(value, dict):
            inner = _removals(before if isinstance(before, dict) else {}, value)
            if inner:
                patch[name] = inner
    return patch | {name: None for name in original if name not in modified}


def _without_nulls(value: Any) -> Any:
    """A value without null fields; nulls in lists stay."""
    if isinstance(value, dict):
        return {key: _without_nulls(one) for key, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value


def _merged(removals: Document, additions: Document) -> Document:
    patch = dict(removals)
    for name, value in additions.items():
        there = patch.get(name)
        if isinstance(there, dict) and isinstance(value, dict):
            patch[name] = _merged(there, value)
        else:
            patch[name] = value
    return patch


def _same(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same; true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)
