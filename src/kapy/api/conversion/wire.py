"""Documents in the very form in which upstream's programs write a kind.

Go decodes what it knows of an object and writes it again with its own rules about what is left
out: absent and zero are the same for most fields, and a field without `omitempty` is written even
when it is zero. Converted objects must agree with that, so both ends of a conversion pass through
`normalize`. Null is an absent member, and the zero of its type where a list or map has one.

The rules follow from the Structs. A field with a default is left out while it has that default;
`X | None` is a pointer, and keeps a zero. In a Struct with `ZEROS = True` (the older versions, and
Kubernetes' own types) required fields and parts are always written, a list or map that is absent as
null.

`rules(zero=…)` says otherwise for one field: "written" and "omitted" (also of a part that is
`X | None`), and "kept" for a pointer to what is required: absent and zero are different.
`rules(form=…)` names values that Go's types bring into one form, or refuse: "duration", "quantity"
(also for a map of them), "token" for a bootstrap token.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    ForwardRef,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import NODEFAULT

from kapy.kube import Document
from kapy.kube.duration import canonical as duration
from kapy.kube.model import Model, bare_type, model_in, struct_fields
from kapy.kube.quantity import canonical as quantity

_ITSELF: Final = ForwardRef("ITSELF")
"""A placeholder for the shape that is being built, for kinds that contain themselves."""

_INTEGERS: Final[Mapping[str, Any]] = {
    f"int{bits}": Annotated[int, msgspec.Meta(ge=-(2 ** (bits - 1)), le=2 ** (bits - 1) - 1)]
    for bits in (32, 64)
}
"""Ranges of Go's integer types; decoding in Go fails beyond them."""

_ZEROS: Final[dict[Any, Any]] = {str: "", int: 0, bool: False, float: 0.0}


_TOKEN: Final = re.compile(r"[a-z0-9]{6}\.[a-z0-9]{16}")


def _quantity(amount: Any) -> str | dict[str, str]:
    if isinstance(amount, dict):
        return {name: quantity(value) for name, value in amount.items()}
    return quantity(amount)


def _token(token: str) -> str:
    if _TOKEN.fullmatch(token):
        return token
    # The token is a secret: it is not repeated here.
    raise ValueError(f"a bootstrap token has the form {_TOKEN.pattern}, this one has not")


_FORMS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "duration": duration,
    "quantity": _quantity,
    "token": _token,
}


def normalize(document: Document, kind: type[Model]) -> Document:
    """Return a private copy of the fields of `document` that `kind` has, without `metadata`, in
    upstream's form.

    Raises msgspec.ValidationError for a value of another type.
    """
    shape = shape_of(kind)
    try:
        model = msgspec.convert(document, shape)
    except msgspec.ValidationError:
        # Nulls are rare and searching for them is slow, so they are removed only after an error.
        model = msgspec.convert(_without_nulls(document, shape), shape)
    return _to_document(model)


def normalize_json(text: str, kind: type[Model]) -> Document:
    """Decode JSON and return it like `normalize`. Raises msgspec.DecodeError, too."""
    try:
        return _to_document(msgspec.json.decode(text, type=shape_of(kind)))
    except msgspec.ValidationError:
        return normalize(msgspec.json.decode(text, type=dict), kind)


def _to_document(model: Model) -> Document:
    shape = type(model)
    written: Document = msgspec.to_builtins(model)
    if (tidy := _tidier(shape)) is not None:
        tidy(written)
    return written


@cache
def shape_of(kind: type[Model]) -> type[Model]:
    """Return a Struct with the fields of `kind`, all of which are optional."""
    hints = get_type_hints(kind, include_extras=True)
    fields = []
    forms = {}
    omitted = set()
    for field in struct_fields(kind):
        if field.name == "metadata" and hasattr(kind, "RESOURCE"):
            continue  # carried over unchanged
        rules = _rules(hints[field.name])
        hint = _wire_type(hints[field.name], rules, kind)
        if get_origin(hint) in (list, dict) and _is_written(kind, field, rules):
            hint = hint | None
        elif _is_part(hint) and not _is_written(kind, field, rules, part=True):
            omitted.add(field.encode_name)
            hint = hint | None
        fields.append((field.name, hint, _field(kind, field, rules, hint)))
        if "form" in rules:
            absent = "" if field.default is NODEFAULT else field.default
            forms[field.name] = (field.encode_name, absent, _FORMS[rules["form"]])
    more: dict[str, Any] = {"__omitted__": frozenset(omitted)}
    if forms:
        more["__post_init__"] = _form_setter(forms)
    shape = msgspec.defstruct(kind.__name__, fields, bases=(Model,), namespace=more, kw_only=True)
    assert issubclass(shape, Model)
    setattr(shape, _ITSELF.__forward_arg__, shape)
    return shape


class InvalidForm(ValueError):
    """A value does not have the form that its field requires, such as that of a duration. It is the
    cause of msgspec's error.
    """

    def __init__(self, field: str, why: str) -> None:
        super().__init__(f"{field}: {why}")
        self.field, self.why = field, why


def _form_setter(
    forms: Mapping[str, tuple[str, str | None, Callable[[Any], Any]]],
) -> Callable[[Model], None]:
    """Return a function that brings values of fields into their form as soon as they are decoded.

    msgspec adds the path of the Struct to its errors. forms: maps each field to its name in
    documents, its value when it is absent, and its form.
    """

    def set_forms(model: Model) -> None:
        for name, (field, absent, form) in forms.items():
            if (value := getattr(model, name)) != absent:
                try:
                    setattr(model, name, form(value))
                except ValueError as error:
                    raise InvalidForm(field, str(error)) from None

    return set_forms


Tidier: TypeAlias = Callable[[Any], None]


@cache
def _tidier(shape: Any) -> Tidier | None:
    """Return a function that removes empty parts from a document in place; None if no part can be
    empty.
    """
    parts: list[tuple[str, Tidier | None, bool]] = []

    def tidy(document: Document) -> None:
        for name, inner, omitted in parts:
            part = document.get(name)
            if part is not None:
                if inner is not None:
                    inner(part)
                if omitted and not part:
                    del document[name]

    result = list(_nested_parts(shape))
    for name, nested, many, omitted in result:
        if nested is shape:
            continue
        if (inner := _tidier(nested)) is not None or omitted:
            parts.append((name, inner and _each(many, inner), omitted))
    if not parts and not any(omitted for _, _, _, omitted in result):
        return None
    parts += [
        (name, _each(many, tidy), omitted)
        for name, nested, many, omitted in result
        if nested is shape
    ]
    return tidy


def _nested_parts(shape: Any) -> Iterator[tuple[str, Any, Any, bool]]:
    """Yield the fields that hold Structs: name, Struct, whether it is a list or map of them, and
    whether an empty one is left out.
    """
    for field in struct_fields(shape):
        if (nested := model_in(field.type)) is not None:
            omitted = field.encode_name in shape.__omitted__
            yield field.encode_name, nested, get_origin(bare_type(field.type)), omitted


def _each(many: Any, tidy: Tidier) -> Tidier:
    """Return a function that applies `tidy` to a part, or to each item of a list or map of
    parts.
    """

    def tidy_all(parts: Any) -> None:
        for part in parts if many is list else parts.values():
            tidy(part)

    return tidy_all if many in (list, dict) else tidy


def _wire_type(hint: Any, rules: Document, within: type[Model]) -> Any:
    """Return the type of a field in a shape (`shape_of`). It is optional only where absent and zero
    are written differently.
    """
    if rules.get("format") == "date-time":
        return str | None  # a missing time is written as null, if it is written
    shaped = _shape_hint(hint, within)
    if integer := _INTEGERS.get(rules.get("format", "")):
        shaped = integer | None if NoneType in get_args(shaped) else integer
    if rules.get("zero") == "kept":
        return shaped | None
    if rules.get("zero") == "omitted":
        present = [arg for arg in get_args(shaped) if arg is not NoneType]
        return present[0] if len(present) == 1 and _is_part(present[0]) else shaped
    return shaped


def _is_part(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Model)


def _field(kind: type[Model], info: msgspec.structs.FieldInfo, rules: Document, shaped: Any) -> Any:
    zero, make = (None, None) if rules.get("zero") == "kept" else _zero(info, shaped)
    if _is_written(kind, info, rules, part=_is_part(make)):
        # msgspec never omits a field with a default factory.
        return msgspec.field(
            default_factory=lambda: zero if make is None else make(), name=info.encode_name
        )
    if make is not None:
        return msgspec.field(default_factory=make, name=info.encode_name)
    return msgspec.field(default=zero, name=info.encode_name)


def _is_written(
    kind: type[Model], info: msgspec.structs.FieldInfo, rules: Document, *, part: bool = False
) -> bool:
    """Report whether a field is written when it is empty."""
    needed = info.required or rules.get("required") or part
    usual = "written" if needed and getattr(kind, "ZEROS", False) else "omitted"
    return bool(rules.get("zero", usual) == "written")


def _zero(info: msgspec.structs.FieldInfo, shaped: Any) -> tuple[Any, Any]:
    """Return the zero value of a field, or a function that makes it."""
    if shaped == str | None:
        return None, None
    if _is_part(shaped):
        return None, shaped
    if info.default is not NODEFAULT:
        return info.default, None
    bare = get_args(shaped)[0] if get_origin(shaped) is Annotated else shaped
    if bare in _ZEROS:
        return _ZEROS[bare], None
    origin = get_origin(bare) or bare
    return None, origin if origin in (list, dict) else None


def _rules(hint: Any) -> Document:
    """Return the `rules(…)` of a field."""
    rules: Document = {}
    for arg in get_args(hint)[1:] if get_origin(hint) is Annotated else ():
        if isinstance(arg, msgspec.Meta):
            rules |= arg.extra_json_schema or {}
    return rules


def _shape_hint(hint: Any, within: type[Model]) -> Any:
    """Return a type hint in which a shape replaces each Struct. within: the Struct of the field."""
    origin = get_origin(hint)
    if origin is Annotated:
        return _shape_hint(get_args(hint)[0], within)
    if origin in (Union, UnionType):
        return Union[tuple(_shape_hint(arg, within) for arg in get_args(hint))]  # noqa: UP007
    if origin in (list, dict):
        inner = [_shape_hint(arg, within) for arg in get_args(hint)]
        if origin is list and get_origin(inner[0]) is list:
            inner = [inner[0] | None]  # an empty list inside a list is null
        return origin[tuple(inner)]
    if hint is within:
        return _ITSELF
    return shape_of(hint) if _is_part(hint) else hint


def _without_nulls(node: Any, hint: Any) -> Any:
    """Return a copy of decoded JSON without its nulls. hint: the type that it is decoded to."""
    hint = bare_type(hint)
    if isinstance(node, dict) and _is_part(hint):
        types = {field.encode_name: field.type for field in struct_fields(hint)}
        return {
            key: _without_nulls(value, types[key])
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
        return _without_nulls(value, hint)
    return {} if _is_part(hint) else _ZEROS.get(bare_type(hint))
