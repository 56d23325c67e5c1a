"""Strategic merge patch: a merge patch that knows which lists merge, and by which key.

Which fields are what comes as facts about Kubernetes' Go structs: by name of a struct its fields,
each with `t` its type, `ps` its patch strategies and `mk` its merge key. The directives are
`$patch`, `$retainKeys`, `$setElementOrder/<list>` and `$deleteFromPrimitiveList/<list>`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from operator import itemgetter
from typing import Any, Final, NamedTuple

from kapy.kube import Document
from kapy.kube.errors import ApiError, BadRequest
from kapy.kube.patch.identity import Positions, identity
from kapy.kube.patch.merge_patch import same, without_nulls

_PATCH: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_ORDER: Final = "$setElementOrder/"
_DELETE_FROM: Final = "$deleteFromPrimitiveList/"


class _Strategy(NamedTuple):
    """How one field merges: what it holds, its strategies, the key of its items."""

    kind: str
    strategies: frozenset[str] = frozenset()
    key: str = ""

    @property
    def merges(self) -> bool:
        return "merge" in self.strategies


def apply(live: Document, patch: Any, structs: Mapping[str, Document], struct: str) -> Document:
    """`live` (a kind whose struct is `struct`) with the patch; parts that stay are shared.

    Raises BadRequest when the patch is no object, and an ApiError of 500 (as kube-apiserver
    answers) when a directive or a merge key is wrong.
    """
    if not isinstance(patch, dict):
        names: dict[type, str] = {list: "array", str: "string", bool: "bool"}
        kind = names.get(type(patch), "number")
        raise BadRequest(
            f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
        )
    return _Merge(structs).mapped(live, patch, struct)


class _Failure(ApiError):
    """A patch that kube-apiserver fails at (500 without a reason)."""


def _failure(message: str) -> ApiError:
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "code": 500,
    }
    return _Failure(message, status=status)


class _Merge:
    def __init__(self, structs: Mapping[str, Document]) -> None:
        self._structs = structs

    def _strategy(self, kind: str, field: str) -> _Strategy:
        if kind.startswith("{}"):
            return _Strategy(kind[2:])
        facts = self._structs.get(kind, {}).get(field)
        if facts is None:
            return _Strategy("any")
        return _Strategy(facts["t"], frozenset(facts.get("ps", "").split(",")), facts.get("mk", ""))

    def mapped(self, live: Document, patch: Document, kind: str) -> Document:
        """A map with the patch of a map."""
        if _PATCH in patch:
            return _directed(patch)
        result = dict(live)
        rest = dict(patch)
        _retain(result, rest)
        self._ordered(result, rest, kind)
        for key, value in rest.items():
            name = key.removeprefix(_DELETE_FROM)
            if name != key:
                self._delete_from(result, name, value)
            elif value is None:
                result.pop(name, None)
            else:
                old = result.get(name)
                new = self._merged(old, value, self._strategy(kind, name))
                merged_maps = isinstance(old, dict) and isinstance(value, dict)
                if new is not old and (merged_maps or not same(old, new)):
                    result[name] = new
        unchanged = result.keys() == live.keys() and all(result[k] is live[k] for k in result)
        return live if unchanged else result

    def _merged(self, old: Any, value: Any, how: _Strategy) -> Any:
        if isinstance(old, dict) and isinstance(value, dict):
            if "replace" in how.strategies:
                return value
            return self.mapped(old, value, how.kind)
        if isinstance(old, list) and isinstance(value, list):
            return self._list(old, value, how) if how.merges else value
        return _plain(value)

    def _delete_from(self, result: Document, name: str, value: Any) -> None:
        old = result.get(name)
        if not isinstance(value, list):
            raise BadRequest("invalid patch format of primitive list")
        if isinstance(old, list):
            if value and any(type(one) is not type(value[0]) for one in (*old, *value)):
                raise _failure(f"list element types are not identical: {_go([old, value])}")
            gone = set(map(identity, value))
            result[name] = [one for one in old if identity(one) not in gone]

    def _list(self, old: list[Any], patch: list[Any], how: _Strategy) -> list[Any]:
        items = [*old, *patch]
        if items and any(type(one) is not type(items[0]) for one in items):
            raise _failure(f"list element types are not identical: {_go([old, patch])}")
        if not any(isinstance(one, dict) for one in items):
            merged = _without_repeats(items)
            return _in_order(merged, patch, old, "")
        if not how.key:
            raise _failure(f"cannot merge lists without merge key for {how.kind}")
        before, items = _special(old, patch, how.key)
        return _in_order(self._items(before, items, how), items, before, how.key)

    def _items(self, before: list[Any], items: list[Any], how: _Strategy) -> list[Any]:
        """The items of a list with those of a patch merged into them, or added."""
        merged = list(before)
        known = Positions(before, how.key)
        kind = how.kind.removeprefix("[]")
        for item in items:
            at = known.of(item)
            if at < 0:
                new = _plain(item)
                known.add(new, len(merged))
                merged.append(new)
                continue
            merged[at] = self.mapped(merged[at], item, kind)
            if how.key not in merged[at]:
                known.forget(item)
        return merged

    def _ordered(self, result: Document, patch: Document, kind: str) -> None:
        """Take the lists with an order out of the patch, and merge and order them."""
        for directive in [key for key in patch if key.startswith(_ORDER)]:
            order = patch.pop(directive)
            name = directive.removeprefix(_ORDER)
            old, new = result.get(name), patch.pop(name, None)
            if not all(isinstance(one, list) for one in (order, old or [], new or [])):
                raise BadRequest("invalid patch format of setElementOrder list")
            if old is None and new is None:
                continue
            how = self._strategy(kind, name)
            before = old or []
            _check_order(new or [], order, how.key)
            merged = before if new is None else self._merged(old, new, how)
            result[name] = _in_order(merged, order, before, how.key)


def _check_order(patch: list[Any], order: list[Any], key: str) -> None:
    known = Positions(order, key)
    for item in patch:
        directed = isinstance(item, dict) and _PATCH in item
        if not directed and known.of(item) < 0:
            raise _failure(
                "The order in patch list:\n"
                f"{_go(patch)}\n doesn't match $setElementOrder list:\n{_go(order)}\n"
            )


def _retain(result: Document, patch: Document) -> None:
    """Drop what `$retainKeys` does not name."""
    keys = patch.pop(_RETAIN, None)
    if keys is None:
        return
    if not isinstance(keys, list):
        raise BadRequest("invalid patch format of retainKeys")
    kept = {key for key in keys if isinstance(key, str)}
    said = (key for key, value in patch.items() if value is not None)
    if any(not key.startswith((_DELETE_FROM, _ORDER)) and key not in kept for key in said):
        raise BadRequest("invalid patch format of retainKeys")
    for name in [name for name in result if name not in kept]:
        del result[name]


def _directed(patch: Document) -> Document:
    directive = patch[_PATCH]
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != _PATCH}
    if directive == "delete":
        return {}
    raise _failure(f"unknown patch type: {_go(directive)} in map: {_go(patch)}")


def _special(old: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """The list without the items that the patch deletes, and the patch without directives."""
    items, replaces = [], False
    gone = set()
    for item in patch:
        directive = item.get(_PATCH)
        if directive is None:
            if key not in item:
                raise _no_key(item, key)
            items.append(item)
        elif directive == "delete":
            if key not in item:
                raise _no_key(item, key)
            gone.add(identity(item[key]))
        elif directive == "replace":
            replaces = True
        elif directive == "merge":
            raise _failure("merging lists cannot yet be specified in the patch")
        else:
            raise _failure(f"unknown patch type: {_go(directive)} in map: {_go(item)}")
    if replaces or not gone:
        return ([] if replaces else old), items
    return [one for one in old if identity(one.get(key)) not in gone], items


def _no_key(item: Document, key: str) -> ApiError:
    return _failure(f"map: {_go(item)} does not contain declared merge key: {key}")


def _in_order(merged: list[Any], order: list[Any], before: list[Any], key: str) -> list[Any]:
    """Items that the patch names in its order, the others in the server's; an item of the server
    comes before one of the patch only if it did before."""
    wanted, known = Positions(order, key), Positions(before, key)
    placed = [(wanted.of(one), known.of(one), one) for one in merged]
    named = sorted((one for one in placed if one[0] >= 0), key=itemgetter(0))
    others = sorted((one for one in placed if one[0] < 0), key=itemgetter(1))
    result = []
    left = right = 0
    while left < len(others) and right < len(named):
        if 0 <= others[left][1] < named[right][1]:
            result.append(others[left][2])
            left += 1
        else:
            result.append(named[right][2])
            right += 1
    return [*result, *(one for _, _, one in (*others[left:], *named[right:]))]


def _without_repeats(items: list[Any]) -> list[Any]:
    known: dict[Hashable, Any] = {}
    for item in items:
        known.setdefault(identity(item), item)
    return list(known.values())


def _plain(value: Any) -> Any:
    """A value that is new: without directives and without nulls."""
    value = without_nulls(value)
    if isinstance(value, dict):
        return {
            key: _plain(one)
            for key, one in value.items()
            if not key.startswith((_ORDER, _DELETE_FROM)) and key not in (_PATCH, _RETAIN)
        }
    if isinstance(value, list):
        kept = (one for one in value if not (isinstance(one, dict) and _PATCH in one))
        return [_plain(one) for one in kept]
    return value


def _go(value: Any) -> str:
    """A value as Go's %v prints it."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{_go(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(_go, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "<nil>" if value is None else str(value)
