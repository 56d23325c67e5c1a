"""Sets of field paths in the form in which they travel: `FieldsV1`.

A set is a nested dict. Its keys are path elements: `f:name` a field, `k:{"name":"a"}` an item of
a list by its keys, `v:"a"` an item of a set, `i:0` an index. The value under a key holds what is
below it; `"."` says that the path itself is in the set too, and an empty dict that only the path
is. The empty set is `{}` at the top, and None where it is one result of several. Nothing is ever
changed in place: results share what they can with their arguments.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from kapy.kube.field_errors import Path
from kapy.kube.field_errors import path_text as path_spelled
from kapy.kube.foreign_json import decode_json as from_json

Fields: TypeAlias = dict[str, Any]

LEAF: Final[Fields] = {}
"""The path itself, and nothing below. Shared by all sets: never change it."""


_UNSAFE: Final = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def html_safe(text: str) -> str:
    """Return JSON with `<`, `>` and `&` escaped as Go does it, as in the path elements of
    FieldsV1.
    """
    return text.translate(_UNSAFE)


class InvalidFields(ValueError):
    """The document is not a valid set of fields; the message is kube-apiserver's."""


def member(node: Fields | None) -> Fields:
    """Return the node with its own path in the set, in addition to the paths below it."""
    if not node or "." in node:
        return node or LEAF
    return {".": LEAF, **node}


def union(left: Fields, right: Fields) -> Fields:
    """Return the union of two sets; one of them if it contains the other."""
    if left is right or not right:
        return left
    if not left:
        return right
    return _merge(left, right)


def _merge(left: Fields, right: Fields) -> Fields:
    """Merge two nodes; return `left` itself if the other adds nothing."""
    result: Fields | None = None
    for key, below in right.items():
        mine = left.get(key)
        if mine is None:
            both = below
        elif mine is below or key == ".":
            continue
        else:
            both = _merge_all(mine, below)
            if both is mine:
                continue
        if result is None:
            result = dict(left)
        result[key] = both
    return left if result is None else result


def _merge_all(left: Fields, right: Fields) -> Fields:
    if not left:
        return member(right) if right else left
    if not right:
        return member(left)
    return _merge(left, right)


def difference(left: Fields, right: Fields) -> Fields:
    """Return the difference `left` minus `right`; `left` itself if they do not overlap."""
    if not left or not right:
        return left
    return _subtract(left, right) or {}


def _subtract(left: Fields, right: Fields) -> Fields | None:
    """Return the children of `left` without those of `right`; None if none is left."""
    result: Fields | None = None
    for key, below in right.items():
        if key == ".":
            continue
        mine = left.get(key)
        if mine is None:
            continue
        remaining = _subtract_all(mine, below)
        if remaining is mine:
            continue
        if result is None:
            result = dict(left)
        if remaining is None:
            del result[key]
        else:
            result[key] = remaining
    return left if result is None else result or None


def _subtract_all(left: Fields, right: Fields) -> Fields | None:
    goes = not right or "." in right
    if not left:
        return None if goes else left
    remaining = _subtract(left, right) if right else left
    if not goes or "." not in left:
        return remaining if remaining is None or remaining.keys() != _DOT else LEAF
    assert remaining is not None
    rest = {key: below for key, below in remaining.items() if key != "."}
    return rest or None


_DOT: Final = {"."}


def intersection(left: Fields, right: Fields) -> Fields:
    """Return the intersection of two sets."""
    return _intersect(left, right) or {}


def _intersect(left: Fields, right: Fields) -> Fields | None:
    result: Fields = {}
    for key, below in left.items():
        other = right.get(key)
        if other is None or key == ".":
            continue
        both = _intersect_all(below, other)
        if both is not None:
            result[key] = both
    return result or None


def _intersect_all(left: Fields, right: Fields) -> Fields | None:
    itself = (not left or "." in left) and (not right or "." in right)
    below = _intersect(left, right) if left and right else None
    if below is None:
        return LEAF if itself else None
    return {".": LEAF, **below} if itself else below


def exclude(fields: Fields | None, prefixes: Fields | None) -> Fields | None:
    """Return the set without the paths of `prefixes` and all their descendants."""
    if not fields or not prefixes:
        return fields or None
    result: Fields | None = None
    for key, prefix in prefixes.items():
        mine = fields.get(key)
        if mine is None or key == ".":
            continue
        covered = not prefix or "." in prefix
        rest = None if covered else exclude(mine, prefix) if mine else mine
        if rest is mine:
            continue
        if result is None:
            result = dict(fields)
        if rest is None:
            del result[key]
        else:
            result[key] = rest
    if result is None:
        return fields
    return result if result.keys() - _DOT else (LEAF if result else None)


def contains(fields: Fields, path: tuple[str, ...]) -> bool:
    """Report whether a path (of path elements) is in the set."""
    for element in path:
        below = fields.get(element)
        if below is None:
            return False
        fields = below
    return not fields or "." in fields


def of_path(path: tuple[str, ...]) -> Fields:
    """Return a set that contains only this path."""
    fields = LEAF
    for element in reversed(path):
        fields = {element: fields}
    return fields


def paths(fields: Fields) -> Iterator[str]:
    """Return all paths in readable form (`.spec.ports[port=80].name`), in kube-apiserver's
    order.
    """
    return map(path_spelled, _paths(fields, ""))


def _paths(fields: Fields, prefix: Path) -> Iterator[Path]:
    below = sorted((_order(key), key) for key in fields if key != ".")
    for _, key in below:
        if not fields[key] or "." in fields[key]:
            yield prefix, element_text(key)
    for _, key in below:
        if fields[key]:
            yield from _paths(fields[key], (prefix, element_text(key)))


def count(fields: Fields) -> int:
    """Return the number of paths in a set."""
    own = "." in fields
    return own + sum(count(field) if field else 1 for key, field in fields.items() if key != ".")


def _order(element: str) -> tuple[int, str]:
    return "fkvi".index(element[0]), element


def element_text(element: str) -> str:
    """Return one path element in the readable form of conflict messages."""
    kind, value = element[0], element[2:]
    if kind == "f":
        return f".{value}"
    if kind == "k":
        values = json.loads(value).items()
        return f"[{','.join(f'{name}={_key_text(item)}' for name, item in values)}]"
    return f"[={_key_text(json.loads(value))}]" if kind == "v" else f"[{value}]"


def _key_text(value: Any) -> str:
    """Return the value of a key in the form of conflict messages."""
    if isinstance(value, dict):
        return "".join(f"{name}={_key_text(item)}" for name, item in value.items())
    if isinstance(value, list):
        return f"[{','.join(map(_key_text, value))}]"
    return json.dumps(value, ensure_ascii=False)


def decode(document: Any) -> Fields:
    """Validate a set from outside and convert it to this module's form. Raises InvalidFields."""
    if not isinstance(document, dict):
        raise InvalidFields("expected a map of field paths")
    result: Fields = {}
    for key, below in document.items():
        if key == "." or not _is_known(key):
            continue
        if key[0] in "kv":
            key = html_safe(key)
        inner = decode(below)
        has_dot = "." in below
        if inner:
            result[key] = {".": LEAF, **inner} if has_dot else inner
        else:
            result[key] = LEAF
    return result


def _is_known(element: str) -> bool:
    """Report whether the type of a path element is known; unknown ones are ignored."""
    kind, colon, value = element[:1], element[1:2], element[2:]
    if colon != ":":
        raise InvalidFields("missing colon")
    if kind not in ("f", "k", "v", "i"):
        return False
    try:
        parsed = None if kind == "f" else from_json(value)
    except ValueError as error:
        raise InvalidFields(f"path element {element!r} is not valid: {error}") from error
    if kind == "k" and not isinstance(parsed, dict):
        raise InvalidFields(f"path element {element!r} has no keys")
    if kind == "i" and (not isinstance(parsed, int) or isinstance(parsed, bool)):
        raise InvalidFields(f"path element {element!r} has no index")
    return True
