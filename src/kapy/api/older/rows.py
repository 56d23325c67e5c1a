"""The rows of a declaration about single fields.

The default of an optional field is the zero value of its type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any, Final, NamedTuple, get_type_hints

import msgspec

from kapy.api.older import fields as shapes
from kapy.api.older.difference import Downgrade, Place, Row, Upgrade
from kapy.api.older.documents import bool_to_pointer, int_to_pointer, pop_at, put, put_at
from kapy.api.older.fields import Field, Fields, camel_case, optional_field, plain, without_none
from kapy.kube import Document
from kapy.kube.model import Model, rules, struct_fields

_BOUNDS: Final = ("minItems", "minimum", "maximum", "x-kubernetes-list-type")


def remove(*names: str) -> Row:
    """Remove fields from the older version. They are restored from the annotation."""

    def convert(newest: Fields) -> tuple[Upgrade, None]:
        keys = [newest[name].encoded for name in names]
        return lambda part, before, _: _restore(part, before, keys), None

    return Row(_without(names), convert, restores=True)


def drop(*names: str) -> Row:
    """Remove fields from the older version, which has other fields in their place. Other rows
    convert them.
    """
    return Row(_without(names))


def restore(*names: str) -> Row:
    """Restore fields from the annotation, since the older version lacks some of their values."""

    def convert(newest: Fields) -> tuple[Upgrade, None]:
        keys = [newest[name].encoded for name in names]

        def upgrade(part: Document, before: Document | None, _: Place) -> None:
            if before is not None:
                _restore(part, before, keys)

        return upgrade, None

    return Row(lambda fields: fields, convert, restores=True)


def _restore(part: Document, before: Document | None, keys: Iterable[str]) -> None:
    for key in keys:
        put(part, key, (before or {}).get(key))


def add(**hints: Any) -> Row:
    """Add optional fields that only the older version has."""
    new = {name: optional_field(camel_case(name), hint) for name, hint in hints.items()}
    return Row(lambda fields: fields | new)


def add_required(**hints: Any) -> Row:
    """Add required fields that only the older version has."""
    new = {name: Field(camel_case(name), hint) for name, hint in hints.items()}
    return Row(lambda fields: fields | new)


def inline(part: type[Model]) -> Row:
    """Add the fields of the nested Struct `part` directly to the older version. Other rows convert
    them.
    """
    hints = get_type_hints(part, include_extras=True)
    new = {
        field.name: Field(
            field.encode_name, hints[field.name], field.default, field.default_factory
        )
        for field in struct_fields(part)
    }
    return Row(lambda fields: fields | new)


def rename(**names: str) -> Row:
    """Rename fields in the older version: `rename(old="new")`."""
    new_to_old = {new: old for old, new in names.items()}

    def shape(fields: Fields) -> Fields:
        return {
            new_to_old.get(key, key): _renamed_field(field, camel_case(new_to_old[key]))
            if key in new_to_old
            else field
            for key, field in _existing_fields(fields, new_to_old)
        }

    def convert(newest: Fields) -> tuple[Upgrade, Downgrade]:
        pairs = [(camel_case(old), newest[new].encoded) for old, new in names.items()]

        def upgrade(part: Document, _: Document | None, __: Place) -> None:
            for old, new in pairs:
                put(part, new, part.pop(old, None))

        def downgrade(part: Document, _: Place) -> None:
            for old, new in pairs:
                put(part, old, part.pop(new, None))

        return upgrade, downgrade

    return Row(shape, convert)


class Codec(NamedTuple):
    """A pair of functions that convert a value to the newest version and to the older one."""

    upgrade: Callable[[Any], Any]
    downgrade: Callable[[Any], Any]


SAME: Final = Codec(lambda value: value, lambda value: value)


def move(target: str, codec: Codec = SAME, **hints: Any) -> Row:
    """Give a field of the older version another place in the newest version. target: the path of
    that place in documents, relative to the Struct.
    """
    ((name, hint),) = hints.items()
    new = optional_field(camel_case(name), hint)
    path = target.split(".")

    def upgrade(part: Document, _: Document | None, __: Place) -> None:
        value = part.pop(new.encoded, None)
        put_at(part, path, None if value is None else codec.upgrade(value))

    def downgrade(part: Document, _: Place) -> None:
        if (value := pop_at(part, path)) is not None:
            part[new.encoded] = codec.downgrade(value)

    return Row(lambda fields: fields | {name: new}, lambda _: (upgrade, downgrade))


def custom(upgrade: Upgrade | None, downgrade: Downgrade | None, *, restores: bool = False) -> Row:
    """Convert with custom functions, and keep the fields as they are. restores: whether `upgrade`
    reads the content of the conversion annotation.
    """
    return Row(lambda fields: fields, lambda _: (upgrade, downgrade), restores)


def retype(**hints: Any) -> Row:
    """Change types or rules in the older version. Required fields stay required."""

    def exchange_type(name: str, newest_field: Field) -> Field:
        field = optional_field(newest_field.encoded, hints[name])
        return Field(field.encoded, field.hint) if newest_field.required else field

    return Row(lambda fields: _each(fields, hints, exchange_type))


def pointers(*names: str) -> Row:
    """Turn values into pointers in the older version, which distinguishes absent from zero."""

    def add_pointer(_: str, field: Field) -> Field:
        hint = shapes.with_type(field.hint, plain(field.hint) | None)
        return Field(field.encoded, hint, default=None)

    return Row(lambda fields: _each(fields, names, add_pointer))


def values(*names: str) -> Row:
    """Turn pointers into values in the older version. The annotation distinguishes absent from
    zero.
    """

    def convert(newest: Fields) -> tuple[Upgrade, None]:
        result = [(newest[name].encoded, _to_pointer(newest[name])) for name in names]

        def upgrade(part: Document, before: Document | None, _: Place) -> None:
            for key, pointer in result:
                put(part, key, pointer(part.get(key), (before or {}).get(key)))

        return upgrade, None

    return Row(plain_values(*names).shape, convert, restores=True)


def _to_pointer(field: Field) -> Callable[[Any, Any], Any]:
    return bool_to_pointer if without_none(plain(field.hint)) is bool else int_to_pointer


def plain_values(*names: str) -> Row:
    """Turn pointers into values like `values`, but leave the conversion of the fields to other
    rows.
    """

    def remove_pointer(_: str, field: Field) -> Field:
        hint = shapes.with_type(field.hint, without_none(plain(field.hint)))
        return optional_field(field.encoded, hint)

    return Row(lambda fields: _each(fields, names, remove_pointer))


def make_optional(*names: str) -> Row:
    """Make fields optional in the older version."""
    return _change_each(names, lambda field: optional_field(field.encoded, field.hint))


def make_required(*names: str) -> Row:
    """Make fields required in the older version."""
    return _change_each(names, lambda field: Field(field.encoded, field.hint))


def require_in_schema(*names: str) -> Row:
    """Make fields required in the schema of the older version, although they have a default."""
    return _rule_row(names, rules(required=True))


def write_zeros(*names: str) -> Row:
    """Write fields of the older version even when they are zero."""
    return _rule_row(names, rules(zero="written"))


def _rule_row(names: tuple[str, ...], rule: msgspec.Meta) -> Row:
    return _change_each(names, lambda field: field._replace(hint=Annotated[field.hint, rule]))


def loosen(*names: str) -> Row:
    """Remove the bounds of lists and numbers, and atomic lists, from the older version."""

    def loosen_field(field: Field) -> Field:
        atomic = shapes.rule(field.hint, "x-kubernetes-list-type") == "atomic"
        keys = _BOUNDS if atomic else _BOUNDS[:-1]
        return field._replace(hint=shapes.without_rules(field.hint, *keys))

    return _change_each(names, loosen_field)


def _change_each(names: tuple[str, ...], change: Callable[[Field], Field]) -> Row:
    return Row(lambda fields: _each(fields, names, lambda _, field: change(field)))


def _without(names: tuple[str, ...]) -> Callable[[Fields], Fields]:
    return lambda fields: {
        key: field for key, field in _existing_fields(fields, names) if key not in names
    }


def _each(fields: Fields, names: Any, change: Callable[[str, Field], Field]) -> Fields:
    return {
        key: change(key, field) if key in names else field
        for key, field in _existing_fields(fields, names)
    }


def _existing_fields(fields: Fields, names: Any) -> Iterable[tuple[str, Field]]:
    """Return the fields. Raise LookupError if the newest version lacks a field that a declaration
    names.
    """
    if unknown := [name for name in names if name not in fields]:
        raise LookupError(f"the newest version has no field {', '.join(unknown)}")
    return fields.items()


def _renamed_field(field: Field, name: str) -> Field:
    """Return a field with another name, also at the beginning of its description."""
    text = shapes.rule(field.hint, "description") or ""
    hint = field.hint
    if text.startswith(f"{field.encoded} "):
        hint = shapes.without_rules(hint, "description")
        hint = shapes.with_description(hint, f"{name}{text.removeprefix(field.encoded)}")
    return field._replace(encoded=name, hint=hint)
