"""The fields of a Struct while an older version of it is derived."""

from __future__ import annotations

from types import NoneType, UnionType
from typing import Annotated, Any, Final, NamedTuple, TypeAlias, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT

from kapy.kube.model import Model

_ZEROS: Final[dict[Any, Any]] = {str: "", int: 0, bool: False}


class Field(NamedTuple):
    """A field of a Struct, from which that of an older version is derived. encoded: the name of the
    field in documents. factory: a function that makes the default value.
    """

    encoded: str
    hint: Any
    default: Any = NODEFAULT
    factory: Any = NODEFAULT

    @property
    def required(self) -> bool:
        return self.default is NODEFAULT and self.factory is NODEFAULT


Fields: TypeAlias = dict[str, Field]


def camel_case(name: str) -> str:
    """Return the name that a field without an explicit name has in documents."""
    head, *tail = name.removesuffix("_").split("_")
    return head + "".join(word.capitalize() for word in tail)


def optional_field(name: str, hint: Any) -> Field:
    """Return a field whose default is the zero value of its type."""
    kind = plain(hint)
    origin = get_origin(kind) or kind
    if kind is Any or NoneType in get_args(kind):
        return Field(name, hint, default=None)
    if kind in _ZEROS:
        return Field(name, hint, default=_ZEROS[kind])
    return Field(name, hint, factory=origin)


def plain(hint: Any) -> Any:
    """Return a type hint without its `rules(…)`."""
    return plain(get_args(hint)[0]) if get_origin(hint) is Annotated else hint


def with_type(hint: Any, kind: Any) -> Any:
    """Return a type hint with another type and the same rules."""
    if get_origin(hint) is Annotated:
        inner, *rules = get_args(hint)
        return Annotated[(with_type(inner, kind), *rules)]
    return kind


def without_none(kind: Any) -> Any:
    """Return the type of a pointer field without `None`."""
    if get_origin(kind) not in (Union, UnionType):
        return kind
    return Union[tuple(arg for arg in get_args(kind) if arg is not NoneType)]  # noqa: UP007


def without_rules(hint: Any, *keys: str) -> Any:
    """Return a type hint without the rules that have one of these keys."""
    if get_origin(hint) is not Annotated:
        return hint
    inner, *metas = get_args(hint)
    remaining = [_without_keys(meta, keys) for meta in metas]
    return Annotated[(without_rules(inner, *keys), *remaining)]


def _without_keys(meta: Any, keys: tuple[str, ...]) -> Any:
    if not isinstance(meta, msgspec.Meta):
        return meta
    extra = {key: value for key, value in (meta.extra_json_schema or {}).items() if key not in keys}
    return msgspec.Meta(extra_json_schema=extra)


def with_description(hint: Any, text: str) -> Any:
    """Return a type hint with a description."""
    return Annotated[hint, msgspec.Meta(extra_json_schema={"description": text})]


def rule(hint: Any, key: str) -> Any:
    """Return the value of the rule `key` of a type hint, None if there is none."""
    result = None
    while get_origin(hint) is Annotated:
        hint, *metas = get_args(hint)
        for meta in metas:
            if result is None and isinstance(meta, msgspec.Meta):
                result = (meta.extra_json_schema or {}).get(key)
    return result


def nested_types(hint: Any) -> Any:
    """Return every Struct in a type hint."""
    if isinstance(hint, type) and issubclass(hint, Model):
        return [hint]
    inner = get_args(hint)[:1] if get_origin(hint) is Annotated else get_args(hint)
    return [element for item in inner for element in nested_types(item)]


def substitute(hint: Any, exchange: Any) -> Any:
    """Return a type hint in which `exchange` has replaced every Struct."""
    origin = get_origin(hint)
    if origin is Annotated:
        inner, *metas = get_args(hint)
        return Annotated[(substitute(inner, exchange), *metas)]
    if origin in (Union, UnionType):
        return Union[tuple(substitute(arg, exchange) for arg in get_args(hint))]  # noqa: UP007
    if origin in (list, dict):
        return origin[tuple(substitute(arg, exchange) for arg in get_args(hint))]
    if isinstance(hint, type) and issubclass(hint, Model):
        return exchange(hint)
    return hint
