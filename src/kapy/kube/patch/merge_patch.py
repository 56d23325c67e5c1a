"""JSON merge patch (RFC 7396), applied and computed."""

from __future__ import annotations

from typing import Any

from msgspec.json import Encoder

from kapy.kube import Document

_encode = Encoder(order="sorted").encode


def apply(target: Any, patch: Any) -> Any:
    """`target` with `patch` applied; `target` itself when nothing changes.

    A null removes a member, a map merges, everything else replaces. Nulls that are items of lists
    stay; null members of maps in lists go, but for a list that replaces a map.
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
            if same(before, after):
                continue
        merged = dict(target) if merged is None else merged
        merged[key] = after
    return target if merged is None else merged


def difference(before: Document, after: Document) -> Document:
    """The smallest merge patch that makes `before` equal to `after`; {} when they are equal.

    The patch shares parts of `after`. A null that `after` holds in a map cannot be said by a merge
    patch: it is taken for absent.
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
        elif not same(old, new):
            patch[key] = new
    for key in before:
        if key not in after:
            patch[key] = None
    return patch


def without_nulls(value: Any) -> Any:
    """`value` as a merge patch adds it: maps without null members (also those inside lists)."""
    if isinstance(value, dict):
        return {key: without_nulls(one) for key, one in value.items() if one is not None}
    if isinstance(value, list):
        return [without_nulls(one) for one in value]
    return value


def same(one: Any, two: Any) -> bool:
    """Equality of JSON values: unlike Python's, it tells true from 1 (but 1 is 1.0)."""
    if one is two:
        return True
    if one != two:
        return False
    if isinstance(one, (dict, list)):
        return _encode(one) == _encode(two) or _same_inside(one, two)
    return isinstance(one, bool) is isinstance(two, bool)


def _same_inside(one: Any, two: Any) -> bool:
    """Of two containers that Python finds equal, but that are written differently."""
    if isinstance(one, dict):
        return all(same(value, two[key]) for key, value in one.items())
    return all(map(same, one, two))
