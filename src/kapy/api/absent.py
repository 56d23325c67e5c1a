"""Sets required fields that are absent to their zero value.

Objects of the stored version have all required fields, but an object that was converted from an
older version may lack some. Go's types have zeros there, and upstream's error messages quote them.
"""

from __future__ import annotations

from typing import Any, Final, get_origin

import msgspec

from kapy.kube import Document
from kapy.kube.meta import O, read
from kapy.kube.model import Model, bare_type, model_in, struct_fields

_ZEROS: Final[dict[Any, Any]] = {str: "", int: 0, bool: False, list: [], dict: {}}


def read_with_zeros(document: Document, kind: type[O]) -> O:
    """Decode the document like `read`, with zeros for absent fields. Raises
    msgspec.ValidationError.
    """
    try:
        return read(document, kind)
    except msgspec.ValidationError:
        return read(fill_zeros(document, kind), kind)


def fill_zeros(document: Document, kind: type[Model]) -> Document:
    """Return the document with zeros for absent required fields, in its parts too."""
    whole = dict(document)
    for field in struct_fields(kind):
        value = whole.get(field.encode_name)
        if value is None and field.required:
            value = _zero(field.type)
        if value is not None:
            whole[field.encode_name] = _with_absent_fields(value, field.type)
    return whole


def _zero(hint: Any) -> Any:
    hint = bare_type(hint)
    return _ZEROS.get(get_origin(hint) or hint, {})


def _with_absent_fields(value: Any, hint: Any) -> Any:
    inner = model_in(hint)
    if inner is None:
        return value
    if isinstance(value, list):
        return [_with_absent_fields(item, inner) for item in value]
    if not isinstance(value, dict):
        return value
    if get_origin(bare_type(hint)) is dict:
        return {key: _with_absent_fields(item, inner) for key, item in value.items()}
    return fill_zeros(value, inner)


def is_defined(part: Model | None) -> bool:
    """Return whether a part of an object has any value but zeros.

    Go has no nil for a nested struct, so upstream takes one of zeros for absent (`IsDefined`).
    """
    return part is not None and _has_value(msgspec.to_builtins(part))


def _has_value(value: Any) -> bool:
    return any(map(_has_value, value.values())) if isinstance(value, dict) else bool(value)
