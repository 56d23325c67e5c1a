"""The merge patch with which `kubectl apply` updates an object of a custom kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kapy.kube import Document

Object = Mapping[str, Any]


def three_way(original: Object, modified: Object, current: Object) -> Document:
    """Return the patch from `current` to `modified` that also removes what only `original` has.

    original: the last applied object. modified: the object to apply. Lists are replaced as a whole;
    fields that neither of the two sets stay unchanged.
    """
    return _merge(_removals(original, modified), _additions(current, modified))


def _additions(current: Object, modified: Object) -> Document:
    """Return new and changed fields. Nulls and objects of nulls add nothing."""
    patch: Document = {}
    for name, value in modified.items():
        before = current.get(name)
        if name in current and _is_equal(before, value):
            continue
        if isinstance(value, dict) and value:
            inner = _additions(before if isinstance(before, dict) else {}, value)
            if inner:
                patch[name] = inner
        elif isinstance(value, dict) and isinstance(before, dict):
            continue  # an empty object does not change an existing one
        elif value is not None:
            patch[name] = _without_nulls(value)
    return patch


def _removals(original: Object, modified: Object) -> Document:
    """Return null for every field that is no longer set."""
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
    """Return a value without null fields; nulls in lists are kept."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _merge(removals: Document, additions: Document) -> Document:
    patch = dict(removals)
    for name, value in additions.items():
        there = patch.get(name)
        if isinstance(there, dict) and isinstance(value, dict):
            patch[name] = _merge(there, value)
        else:
            patch[name] = value
    return patch


def _is_equal(left: Any, right: Any) -> bool:
    """Compare two JSON values; true does not equal 1."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_is_equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_is_equal, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return bool(left == right)
