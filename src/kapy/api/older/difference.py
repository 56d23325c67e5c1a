"""Declarations of how a Struct differs in an older version.

    MACHINE_SPEC = Difference(
        machine.MachineSpec,
        removed("min_ready_seconds"),
        pointers("version", "provider_id"),
        retyped(infrastructure_ref=ObjectReference),
    )

Fields are named as in Python. Hints name Structs of the newest version; the derivation replaces
them. The default of a field is the zero value of its type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Final, TypeAlias, get_type_hints

import msgspec

from kapy.api.older import fields as shapes
from kapy.api.older.fields import Field, Fields, encoded, optional_field, plain, without_none
from kapy.kube import Document
from kapy.kube.model import Model, rules

Change: TypeAlias = Callable[[Fields], Fields]
"""What one row of a declaration does to the fields of the newest version."""

_BOUNDS: Final = ("minItems", "minimum", "maximum", "x-kubernetes-list-type")


class OldModel(Model):
    """A part that only older versions have.

    Its required fields and its parts are written even when they are empty: upstream's types of
    these versions are encoded so, and converted objects are compared with them.
    """

    ZEROS: ClassVar[bool] = True


class Difference:
    """The declared differences of one Struct.

    schema: constraints on the whole object, which older versions rarely have. status_subresource:
    the older version has that subresource, although the kind has no status.
    """

    def __init__(
        self,
        newest: type[Model],
        *changes: Change,
        schema: Document | None = None,
        status_subresource: bool = False,
    ) -> None:
        self.newest, self.changes = newest, changes
        self.constants: Document = {"SCHEMA": schema or {}}
        if status_subresource:
            self.constants["STATUS_SUBRESOURCE"] = True

    def apply(self, fields: Fields) -> Fields:
        """Return the fields of the older version."""
        for change in self.changes:
            fields = change(fields)
        return fields


def removed(*names: str) -> Change:
    """The older version does not have these fields."""
    return lambda fields: {key: one for key, one in _known(fields, names) if key not in names}


def added(**hints: Any) -> Change:
    """Only the older version has these optional fields."""
    new = {name: optional_field(encoded(name), hint) for name, hint in hints.items()}
    return lambda fields: fields | new


def required(**hints: Any) -> Change:
    """Only the older version has these required fields."""
    new = {name: Field(encoded(name), hint) for name, hint in hints.items()}
    return lambda fields: fields | new


def renamed(**names: str) -> Change:
    """The older version has other names: `renamed(old="new")`."""
    new_to_old = {new: old for old, new in names.items()}

    def change(fields: Fields) -> Fields:
        return {
            new_to_old.get(key, key): _called(one, encoded(new_to_old[key]))
            if key in new_to_old
            else one
            for key, one in _known(fields, new_to_old)
        }

    return change


def retyped(**hints: Any) -> Change:
    """The older version has other types or rules. What is required stays required."""

    def exchanged(name: str, one: Field) -> Field:
        found = optional_field(one.encoded, hints[name])
        return Field(found.encoded, found.hint) if one.required else found

    return lambda fields: _each(fields, hints, exchanged)


def pointers(*names: str) -> Change:
    """The older version tells absent and zero apart."""

    def pointed(_: str, one: Field) -> Field:
        hint = shapes.retyped(one.hint, plain(one.hint) | None)
        return Field(one.encoded, hint, default=None)

    return lambda fields: _each(fields, names, pointed)


def values(*names: str) -> Change:
    """The older version does not tell absent and zero apart."""

    def valued(_: str, one: Field) -> Field:
        hint = shapes.retyped(one.hint, without_none(plain(one.hint)))
        return optional_field(one.encoded, hint)

    return lambda fields: _each(fields, names, valued)


def optional(*names: str) -> Change:
    """The older version does not require these fields."""
    return lambda fields: _each(fields, names, lambda _, one: optional_field(one.encoded, one.hint))


def mandatory(*names: str) -> Change:
    """The older version requires these fields."""
    return lambda fields: _each(fields, names, lambda _, one: Field(one.encoded, one.hint))


def needed(*names: str) -> Change:
    """The older version requires these fields in its schema, although they have a default."""

    def asked(_: str, one: Field) -> Field:
        return one._replace(hint=Annotated[one.hint, rules(required=True)])

    return lambda fields: _each(fields, names, asked)


def inlined(part: type[Model]) -> Change:
    """The older version has the fields of `part` here."""
    hints = get_type_hints(part, include_extras=True)
    new = {
        one.name: Field(one.encode_name, hints[one.name], one.default, one.default_factory)
        for one in msgspec.structs.fields(part)
    }
    return lambda fields: fields | new


def looser(*names: str) -> Change:
    """The older version has no lower bound of a list, no bounds of a number, no atomic list."""

    def loosened(_: str, one: Field) -> Field:
        atomic = shapes.rule(one.hint, "x-kubernetes-list-type") == "atomic"
        keys = _BOUNDS if atomic else _BOUNDS[:-1]
        return one._replace(hint=shapes.without_rules(one.hint, *keys))

    return lambda fields: _each(fields, names, loosened)


def _each(fields: Fields, names: Any, change: Callable[[str, Field], Field]) -> Fields:
    return {key: change(key, one) if key in names else one for key, one in _known(fields, names)}


def _known(fields: Fields, names: Any) -> Any:
    """Raise LookupError if the newest version lacks a field that a declaration names."""
    if unknown := [one for one in names if one not in fields]:
        raise LookupError(f"the newest version has no field {', '.join(unknown)}")
    return fields.items()


def _called(one: Field, name: str) -> Field:
    """Return a field with another name, with which its description begins, too."""
    text = shapes.rule(one.hint, "description") or ""
    hint = one.hint
    if text.startswith(f"{one.encoded} "):
        hint = shapes.without_rules(hint, "description")
        hint = shapes.described(hint, f"{name}{text.removeprefix(one.encoded)}")
    return one._replace(encoded=name, hint=hint)
