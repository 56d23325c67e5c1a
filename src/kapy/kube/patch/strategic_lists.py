"""Lists of a strategic merge patch: their types, their order and the items with directives."""

from __future__ import annotations

from collections.abc import Hashable
from operator import itemgetter
from typing import Any

from kapy.kube import Document
from kapy.kube.errors import Invalid
from kapy.kube.go_literals import go_string, go_text
from kapy.kube.patch.identity import ItemPositions, identity
from kapy.kube.patch.strategic_types import DIRECTIVE, PatchFailure, wrong_type


def check_types(*lists: list[Any], needs_items: bool = False) -> type:
    """Return the common type of all items. needs_items: an empty list is an error. Raises
    PatchFailure, Invalid.
    """
    kinds = [type(item) for items in lists for item in items]
    if kinds and kinds[0] is list:
        raise Invalid("the server rejected our request due to an error in our request", details={})
    if any(kind is not kinds[0] for kind in kinds):
        raise PatchFailure(f"list element types are not identical: {go_text(list(lists))}")
    if not kinds and needs_items:
        raise PatchFailure("no elements in any of the given slices")
    return kinds[0] if kinds else dict


def check_order(patch: list[Any], order: list[Any], key: str) -> None:
    """Check that the items of a patch have the order of the directive. Raises PatchFailure."""
    if not patch or not order:
        return
    items = patch
    if key:
        strange = next((item for item in patch if not isinstance(item, dict)), None)
        if strange is not None:
            raise wrong_type({}, strange)
        items = [item for item in patch if item.get(DIRECTIVE) != "delete"]
    at = 0
    for wanted in order:
        while at < len(items) and isinstance(items[at], dict) and DIRECTIVE in items[at]:
            at += 1
        if at == len(items):
            return
        at += _equal(items[at], wanted, key)
    while at < len(items) and isinstance(items[at], dict) and DIRECTIVE in items[at]:
        at += 1
    if at < len(items):
        raise PatchFailure(
            f"The order in patch list:\n{go_text(patch)}\n doesn't match $setElementOrder list:\n"
            f"{go_text(order)}\n"
        )


def _equal(left: Any, right: Any, key: str) -> bool:
    if not key:
        return identity(left) == identity(right)
    for item in (left, right):
        if not isinstance(item, dict):
            raise wrong_type({}, item)
    for item in (left, right):
        if key not in item:
            raise _no_key(item, key)
    return identity(left[key]) == identity(right[key])


def check_keys(items: list[Any], order: list[Any], key: str) -> None:
    """Check that all items of a list with a merge key have it, also those of the order directive.
    Raises PatchFailure.
    """
    if not key:
        return
    for item in items:
        if not isinstance(item, dict):
            raise wrong_type({}, item)
        if key not in item:
            raise _no_key(item, key)
    strange = next((at for at, element in enumerate(order) if not isinstance(element, dict)), None)
    if items and strange is not None:
        named = {identity(element.get(key)) for element in order[:strange]}
        if any(identity(element[key]) not in named for element in items):
            raise PatchFailure(f"value for key {strange} is not a map")


def _no_key(item: Document, key: str) -> PatchFailure:
    return PatchFailure(f"map: {go_text(item)} does not contain declared merge key: {key}")


def apply_item_directives(
    old: list[Any], patch: list[Any], key: str
) -> tuple[list[Any], list[Any]]:
    """Apply the directives in items: returns the list without deleted items, and the patch without
    directives.
    """
    items, replaces = [], False
    directives = set()
    for item in patch:
        directive = item.get(DIRECTIVE)
        if DIRECTIVE not in item:
            items.append(item)
        elif directive == "delete":
            if key not in item:
                raise _no_key(item, key)
            directives.add(identity(item[key]))
        elif directive == "replace":
            replaces = True
        elif directive == "merge":
            raise PatchFailure("merging lists cannot yet be specified in the patch")
        else:
            raise PatchFailure(
                f"unknown patch type: {go_string(directive)} in map: {go_text(item)}"
            )
    if replaces:
        return items, []
    if not directives:
        return old, items
    return [
        element for element in old if key not in element or identity(element[key]) not in directives
    ], items


def merge_order(merged: list[Any], order: list[Any], before: list[Any], key: str) -> list[Any]:
    """Return the merged items sorted: those of the patch in the patch's order, the others in the
    server's order. An item of the server precedes an item of the patch only if it did so before.
    """
    wanted, old_positions = ItemPositions(order, key), ItemPositions(before, key)
    placed = [(wanted.of(item), old_positions.of(item), item) for item in merged]
    named = sorted((entry for entry in placed if entry[0] >= 0), key=itemgetter(0))
    others = sorted((entry for entry in placed if entry[0] < 0), key=itemgetter(1))
    result = []
    left = right = 0
    while left < len(others) and right < len(named):
        if 0 <= others[left][1] < named[right][1]:
            result.append(others[left][2])
            left += 1
        else:
            result.append(named[right][2])
            right += 1
    return [*result, *(item for _, _, item in (*others[left:], *named[right:]))]


def unique(items: list[Any]) -> list[Any]:
    """Return the items without duplicates."""
    distinct: dict[Hashable, Any] = {}
    for item in items:
        distinct.setdefault(identity(item), item)
    return list(distinct.values())
