"""JSON merge patch (RFC 7396), applied and computed, also from three states of an object as
`kubectl apply` does for a custom kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.json import Encoder

from kapy.kube import Document

_encode = Encoder(order="sorted").encode

_Object = Mapping[str, Any]


def apply(target: Any, patch: Any) -> Any:
    """Return `target` with `patch` applied; `target` itself if nothing changes.

    A null removes a member, a map is merged, any other value replaces. Nulls in lists are kept.
    Null members of maps in lists are removed, unless the list replaces a map.
    """
    if not isinstance(patch, dict):
        return patch
    if not isinstance(target, dict):
        return without_nulls(patch)
    merged: Document | None = None
    for key, value in patch.items():
        if value is None:
            if key in target:
                merged = dict(target) if merged is None else merged
                del merged[key]
            continue
        before = target.get(key)
        if isinstance(before, dict):
            after = apply(before, value) if isinstance(value, dict) else value
            if after is before:
                continue
        else:
            after = value if value.__class__ is str else without_nulls(value)
            if is_equal_json(before, after):
                continue
        merged = dict(target) if merged is None else merged
        merged[key] = after
    return target if merged is None else merged


def difference(before: Document, after: Document) -> Document:
    """Return the smallest merge patch from `before` to `after`; {} if they are equal.

    The patch shares parts of `after`. A merge patch cannot set a null in a map, so a null in
    `after` counts as absent.
    """
    patch: Document = {}
    for key, new in after.items():
        old = before.get(key)
        if new is old:
            continue
        if isinstance(new, dict) and isinstance(old, dict):
            if inner := difference(old, new):
                patch[key] = inner
        elif new is None:
            if old is not None:
                patch[key] = None
        elif not is_equal_json(old, new):
            patch[key] = new
    for key in before:
        if key not in after:
            patch[key] = None
    return patch


def without_nulls(value: Any) -> Any:
    """Return `value` in the form that a merge patch adds: without null members of maps, also inside
    lists.
    """
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value


def is_equal_json(left: Any, right: Any) -> bool:
    """Return whether two JSON values are equal.

    Unlike Python's `==`, true does not equal 1 (but 1 equals 1.0).
    """
    if left is right:
        return True
    if left != right:
        return False
    if isinstance(left, (dict, list)):
        return _encode(left) == _encode(right) or _is_equal_inside(left, right)
    return isinstance(left, bool) is isinstance(right, bool)


def _is_equal_inside(left: Any, right: Any) -> bool:
    """Return whether two containers have equal JSON, given that Python's `==` finds them equal."""
    if isinstance(left, dict):
        return all(is_equal_json(value, right[key]) for key, value in left.items())
    return all(map(is_equal_json, left, right))


def three_way(original: _Object, modified: _Object, current: _Object) -> Document:
    """Return the patch from `current` to `modified` that also removes what only `original` has.

    original: the last applied object. modified: the object to apply. Lists are replaced as a whole;
    fields that neither of the two sets stay unchanged.
    """
    return _merge(_removals(original, modified), _additions(current, modified))


def _additions(current: _Object, modified: _Object) -> Document:
    """Return new and changed fields. Nulls and objects of nulls add nothing."""
    patch: Document = {}
    for name, value in modified.items():
        before = current.get(name)
        if name in current and is_equal_json(before, value):
            continue
        if isinstance(value, dict) and value:
            inner = _additions(before if isinstance(before, dict) else {}, value)
            if inner:
                patch[name] = inner
        elif isinstance(value, dict) and isinstance(before, dict):
            continue  # an empty object does not change an existing one
        elif value is not None:
            patch[name] = without_nulls(value)
    return patch


def _removals(original: _Object, modified: _Object) -> Document:
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


def _merge(removals: Document, additions: Document) -> Document:
    patch = dict(removals)
    for name, value in additions.items():
        there = patch.get(name)
        if isinstance(there, dict) and isinstance(value, dict):
            patch[name] = _merge(there, value)
        else:
            patch[name] = value
    return patch
