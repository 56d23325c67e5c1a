"""Merges, checks and searches in lists compare each item a few times, however long the lists are.

Counted are the comparisons of texts, which C code (`in`, `count`, `index`) does without a call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kapy.apiserver.resources.metadata import deduplicate_owners
from kapy.kube.apply.merging import merge
from kapy.kube.apply.no_op import is_no_op
from kapy.kube.apply.types import STRING, ListType, MapType, item_key
from kapy.kube.patch import strategic

STRUCTS: dict[str, Any] = {
    "T": {
        "items": {"t": "[]I", "ps": "merge", "mk": "name"},
        "set": {"t": "[]string", "ps": "merge"},
    },
    "I": {"name": {"t": "string"}, "value": {"t": "string"}},
}
SET = MapType({"set": ListType(STRING, ())})
ITEMS = MapType({"items": ListType(MapType({"name": STRING, "value": STRING}), ("name",))})


class Text(str):
    """A text that counts how often it is compared."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        Text.compared += 1
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        Text.compared += 1
        return str.__ne__(self, other)

    __hash__ = str.__hash__


def texts(count: int, prefix: str = "t") -> list[str]:
    return [Text(f"{prefix}{at}") for at in range(count)]


def items(count: int, value: str = "v", prefix: str = "t") -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name in texts(count, prefix)]


def patched(live: Any, patch: Any) -> None:
    strategic.apply(live, patch, STRUCTS, "T")


def settled(count: int) -> bool:
    fields: dict[str, Any] = {
        f'k:{{"name":"t{at}"}}': {"f:name": {}, "f:value": {}} for at in range(count)
    }
    words: dict[str, Any] = {f'v:"t{at}"': {} for at in range(count)}
    managed = {"f:spec": {"f:items": fields, "f:set": words}}
    entry = {"manager": "m", "operation": "Apply", "fieldsV1": managed}
    spec = {"items": items(count), "set": texts(count)}
    intent = {"metadata": {"name": "a"}, "spec": {"items": items(count), "set": texts(count)}}
    live = {"metadata": {"name": "a", "managedFields": [entry]}, "spec": spec}
    return is_no_op(live, intent, "m")


def owners(count: int) -> Any:
    return {"metadata": {"ownerReferences": [{"uid": uid, "kind": "A"} for uid in texts(count)]}}


WORK: dict[str, Callable[[int], Any]] = {
    "items changed": lambda n: patched({"items": items(n)}, {"items": items(n, "w")}),
    "items added": lambda n: patched({"items": items(n)}, {"items": items(n, "w", "u")}),
    "items to nothing": lambda n: patched({}, {"items": items(n)}),
    "items deleted": lambda n: patched(
        {"items": items(n)}, {"items": [{"name": text, "$patch": "delete"} for text in texts(n)]}
    ),
    "items in order": lambda n: patched(
        {"items": items(n)},
        {"items": items(n, "w")[::-1], "$setElementOrder/items": items(n)[::-1]},
    ),
    "only an order": lambda n: patched(
        {"items": items(n)}, {"$setElementOrder/items": items(n)[::-1]}
    ),
    "values added": lambda n: patched({"set": texts(n)}, {"set": texts(n, "u")}),
    "values in order": lambda n: patched(
        {"set": texts(n)}, {"$setElementOrder/set": texts(n)[::-1]}
    ),
    "values deleted": lambda n: patched(
        {"set": texts(n)}, {"$deleteFromPrimitiveList/set": texts(n)}
    ),
    "keys retained": lambda n: patched(
        dict.fromkeys(texts(n), 1), {"$retainKeys": texts(n)[: n // 2]}
    ),
    "applied set": lambda n: merge(SET, {"set": texts(n)}, {"set": texts(n, "u")}),
    "applied items": lambda n: merge(ITEMS, {"items": items(n)}, {"items": items(n, "w")}),
    "applied over repeats": lambda n: merge(
        ITEMS, {"items": items(n) + items(n)}, {"items": items(n, "w")}
    ),
    "owners": lambda n: deduplicate_owners(owners(n)),
    "settled": settled,
}


def comparisons(work: Callable[[int], Any], count: int) -> int:
    before = Text.compared
    work(count)
    return Text.compared - before


@pytest.mark.parametrize("name", WORK)
def test_comparisons_grow_linearly_with_lists(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spell = "kapy.kube.apply.merging.item_key"
    monkeypatch.setattr(spell, lambda node, item: Text(item_key(node, item)))
    small, large = comparisons(WORK[name], 200), comparisons(WORK[name], 400)
    assert large <= max(2.2 * small, 10 * 400), (small, large)


def test_an_unchanged_object_needs_no_apply() -> None:
    assert settled(50)


def test_duplicate_owner_references_are_removed() -> None:
    document = owners(30)
    document["metadata"]["ownerReferences"] *= 2
    (warning,) = deduplicate_owners(document)
    assert len(document["metadata"]["ownerReferences"]) == 30
    assert "t0, t1, t2" in warning
