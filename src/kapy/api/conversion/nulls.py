"""Null as Go reads it: an absent member, and the zero of its type where a list or map has one."""

from __future__ import annotations

from typing import Any, Final, get_args, get_origin

from kapy.kube.model import Model, bare_type, struct_fields

_ZEROS: Final[dict[Any, Any]] = {str: "", int: 0, bool: False, float: 0.0}


def without_nulls(node: Any, hint: Any) -> Any:
    """Return a copy of decoded JSON without its nulls. hint: the type that it is decoded to."""
    hint = bare_type(hint)
    if isinstance(node, dict) and _is_part(hint):
        types = {field.encode_name: field.type for field in struct_fields(hint)}
        return {
            key: without_nulls(value, types[key])
            for key, value in node.items()
            if value is not None and key in types
        }
    inner = (get_args(hint) or (Any,))[-1]
    if isinstance(node, dict) and get_origin(hint) is dict:
        return {key: _item(value, inner) for key, value in node.items()}
    if isinstance(node, list) and get_origin(hint) is list:
        return [_item(value, inner) for value in node]
    return node


def _item(value: Any, hint: Any) -> Any:
    if value is not None:
        return without_nulls(value, hint)
    return {} if _is_part(hint) else _ZEROS.get(bare_type(hint))


def _is_part(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Model)
