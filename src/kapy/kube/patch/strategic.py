"""Strategic merge patch: a merge patch that knows which lists merge, and by which key.

The input has facts about Kubernetes' Go structs: by name of a struct its fields, each with `t` its
type, `ps` its patch strategies and `mk` its merge key. The directives are
`$patch`, `$retainKeys`, `$setElementOrder/<list>` and `$deleteFromPrimitiveList/<list>`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.errors import BadRequest
from kapy.kube.go_literals import go_string, go_text
from kapy.kube.patch.identity import ItemPositions, identity
from kapy.kube.patch.merge_patch import is_equal_json
from kapy.kube.patch.strategic_lists import (
    apply_item_directives,
    check_keys,
    check_order,
    check_types,
    merge_order,
    unique,
)
from kapy.kube.patch.strategic_types import (
    DELETE_FROM,
    DIRECTIVE,
    ORDER,
    RETAIN,
    Field,
    PatchFailure,
    Types,
    wrong_type,
)

_ORDER_FORMAT: Final = "invalid patch format of setElementOrder list"
_DELETE_FORMAT: Final = "invalid patch format of primitive list"
_RETAIN_FORMAT: Final = "invalid patch format of retainKeys"


def apply(live: Document, patch: Any, structs: Mapping[str, Document], struct: str) -> Document:
    """Return `live` with the patch applied; unchanged parts are shared. struct: the name of the
    kind's struct.

    Raises BadRequest if the patch is not an object, and an ApiError of 500 (as kube-apiserver
    answers) if a directive or a merge key is wrong.
    """
    return merge(live, _copy(patch), structs, struct)


def merge(live: Document, patch: Any, structs: Mapping[str, Document], struct: str) -> Document:
    """Like `apply`, but remove directives from `patch` in place, as kube-apiserver does."""
    if not isinstance(patch, dict):
        names: dict[type, str] = {list: "array", str: "string", bool: "bool"}
        kind = names.get(type(patch), "number")
        raise BadRequest(
            f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
        )
    return _Merge(Types(structs)).merge_map(live, patch, struct)


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value


class _Merge:
    def __init__(self, types: Types) -> None:
        self._types = types

    def merge_map(self, live: Document, patch: Document, kind: str) -> Document:
        """Return a map with the patch of a map applied."""
        if DIRECTIVE in patch:
            return _apply_directive(patch)
        result = dict(live)
        _retain(result, patch)
        for key in [key for key in patch if key.startswith(ORDER)]:
            self._order(result, patch, key, kind)
        for key, value in patch.items():
            name = (
                _directive_field(key, DELETE_FROM, _DELETE_FORMAT)
                if key.startswith(DELETE_FROM)
                else key
            )
            if value is None:
                result.pop(name, None)
            elif name in result and type(result[name]) is type(value):
                self._merge(result, name, value, kind, deleted=name != key)
            elif name == key:
                _set(result, name, value)
        unchanged = result.keys() == live.keys() and all(result[k] is live[k] for k in result)
        return live if unchanged else result

    def _merge(self, result: Document, name: str, value: Any, kind: str, *, deleted: bool) -> None:
        """Merge a value into an existing value of the same type."""
        old, new = result[name], value
        if isinstance(value, dict):
            field = self._types.field(kind, name)
            if "replace" not in field.strategies:
                result[name] = self.merge_map(old, value, field.kind)
                return
        elif isinstance(value, list):
            field = self._types.list_field(kind, name)
            if deleted or "merge" in field.strategies:
                new = self._list(old, value, field, deleted=deleted)
        if not is_equal_json(old, new):
            result[name] = new

    def _list(self, old: list[Any], patch: list[Any], field: Field, *, deleted: bool) -> list[Any]:
        if not old and not patch:
            return old
        if check_types(old, patch) is not dict:
            if deleted:
                removal = set(map(identity, patch))
                return [item for item in old if identity(item) not in removal]
            merged = unique([*old, *patch])
            check_keys(merged, patch, field.key)
            return merge_order(merged, patch, old, field.key)
        if not field.key:
            raise PatchFailure(f"cannot merge lists without merge key for {field.go_kind}")
        before, items = apply_item_directives(old, patch, field.key)
        merged = self._items(before, items, field)
        check_keys(merged, items, field.key)
        return merge_order(merged, items, before, field.key)

    def _items(self, before: list[Any], items: list[Any], field: Field) -> list[Any]:
        """Return the items of a list with the items of a patch merged into them or appended."""
        merged = list(before)
        positions = ItemPositions(before, field.key)
        for item in items:
            if field.key not in item:
                raise PatchFailure(
                    f"map: {go_text(item)} does not contain declared merge key: {field.key}"
                )
            at = positions.of(item)
            if at < 0:
                positions.add(item, len(merged))
                merged.append(item)
            else:
                merged[at] = self.merge_map(merged[at], item, field.kind)
        return merged

    def _order(self, result: Document, patch: Document, directive: str, kind: str) -> None:
        """Apply the order directive of a list: remove it from the patch, then merge and sort the
        list.
        """
        order = patch.pop(directive)
        if not isinstance(order, list):
            raise wrong_type([], order)
        name = _directive_field(directive, ORDER, _ORDER_FORMAT)
        old, new = result.get(name), patch.get(name)
        for holder in (result, patch):
            if name in holder and not isinstance(holder[name], list):
                raise wrong_type([], holder[name])
        field = self._types.list_field(kind, name)
        check_order(new or [], order, field.key)
        if old is None and new is None:
            return
        before = old or []
        if new is None:
            merged = before
        elif old is None:
            merged = _without_directives(new)
        elif "merge" in field.strategies:
            merged = self._list(old, new, field, deleted=False)
        else:
            merged = new
        check_keys(merged, order, field.key)
        check_types(before, new or [], needs_items=True)
        ordered = merge_order(merged, order, before, field.key)
        if not is_equal_json(old, ordered):
            result[name] = ordered
        patch.pop(name, None)


def _directive_field(key: str, prefix: str, wrong: str) -> str:
    """Return the name of the field to which a directive belongs. Raises BadRequest."""
    before, slash, name = key.partition("/")
    if before != prefix or not slash:
        raise BadRequest(wrong)
    return name


def _set(result: Document, name: str, value: Any) -> None:
    """Set a field that is new or changes its type."""
    _drop_nulls(value)
    if isinstance(value, dict) and DIRECTIVE in value:
        result.pop(name, None)
    else:
        result[name] = _without_directives(value)


def _retain(result: Document, patch: Document) -> None:
    """Remove the fields that `$retainKeys` does not list."""
    if RETAIN not in patch:
        return
    keys = patch.pop(RETAIN)
    if not isinstance(keys, list):
        raise BadRequest(_RETAIN_FORMAT)
    retained = {key for key in keys if isinstance(key, str)}
    said = (key for key, value in patch.items() if value is not None)
    if any(not key.startswith((DELETE_FROM, ORDER)) and key not in retained for key in said):
        raise BadRequest(_RETAIN_FORMAT)
    for name in [name for name in result if name not in retained]:
        del result[name]


def _apply_directive(patch: Document) -> Document:
    directive = patch[DIRECTIVE]
    if directive == "replace":
        del patch[DIRECTIVE]
        return patch
    if directive == "delete":
        return {}
    raise PatchFailure(f"unknown patch type: {go_string(directive)} in map: {go_text(patch)}")


def _drop_nulls(value: Any) -> None:
    """Remove the null members of all maps in a value, in place."""
    if isinstance(value, dict):
        for key in [key for key, element in value.items() if element is None]:
            del value[key]
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            _drop_nulls(item)


def _without_directives(value: Any) -> Any:
    """Return a new value of a patch without the `$patch` directives in it."""
    if isinstance(value, dict):
        for key in list(value):
            if isinstance(value[key], dict) and DIRECTIVE in value[key]:
                del value[key]
            else:
                value[key] = _without_directives(value[key])
        return value
    if isinstance(value, list):
        items = (item for item in value if not (isinstance(item, dict) and DIRECTIVE in item))
        return [_without_directives(item) for item in items]
    return value
