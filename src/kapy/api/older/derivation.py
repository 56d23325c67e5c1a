"""Builds the Structs of an older version from those of the newest one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Annotated, Any, Final, ForwardRef, get_type_hints

import msgspec
from msgspec import NODEFAULT

from kapy.api.older.difference import Difference, OldModel
from kapy.api.older.fields import (
    Field,
    Fields,
    nested_types,
    optional_field,
    plain,
    rule,
    substitute,
    without_rules,
)
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules, struct_fields

_ITSELF: Final = "ITSELF"
"""Stands for the Struct that is being built, in its own fields."""


@cache
def older_type(newest: type[Any], version: str) -> type[Any]:
    """Return the Struct of an older version; `newest` itself if nothing in it differs."""
    difference = declarations(version, newest.__module__).get(newest)
    fields = fields_of(newest)
    if issubclass(newest, Object):
        # Objects of older versions may lack their specification.
        fields |= {"spec": optional_field("spec", fields["spec"].hint)}
    if difference is not None:
        fields = difference.apply(_without_zeros(fields))
    elif not issubclass(newest, Object) and not _differs(newest, fields, version):
        return newest
    elif not issubclass(newest, OldModel):
        fields = _without_zeros(fields)
    return _build_struct(newest, fields, version, difference)


@cache
def declarations(version: str, module: str) -> Mapping[type[Model], Difference]:
    """Return the differences of the Structs of a module in an older version."""
    homes = import_module(f"kapy.api.{version}").HOMES
    home = homes.get(module.removeprefix("kapy.api."))
    declared = import_module(f"kapy.api.{version}.{home}").DIFFERENCES if home else ()
    return {item.newest: item for item in declared}


def fields_of(newest: type[Any]) -> Fields:
    """Return the fields of a Struct."""
    hints = get_type_hints(newest, include_extras=True)
    return {
        field.name: Field(
            field.encode_name, hints[field.name], field.default, field.default_factory
        )
        for field in struct_fields(newest)
    }


def _without_zeros(fields: Fields) -> Fields:
    """Return the fields without rules about zeros: which zeros are written differs by version."""
    zero_rules = {"written", None}
    return {
        key: field
        if rule(field.hint, "zero") in zero_rules
        else field._replace(hint=without_rules(field.hint, "zero"))
        for key, field in fields.items()
    }


def _differs(newest: type[Any], fields: Fields, version: str) -> bool:
    """Report whether a Struct in one of the fields differs."""
    nested = {inner for field in fields.values() for inner in nested_types(field.hint)}
    return any(older_type(inner, version) is not inner for inner in nested - {newest})


def _build_struct(
    newest: type[Any], fields: Fields, version: str, difference: Difference | None
) -> type[Any]:
    constants: Document = {"__doc__": newest.__doc__, "ZEROS": True}
    base: type[Model] = Model
    if issubclass(newest, Object):
        base = Object
        constants["RESOURCE"] = replace(newest.RESOURCE, version=version)
    if difference is not None:
        constants |= difference.constants
    elif not issubclass(newest, OldModel):
        constants["SCHEMA"] = {}
    result: type[Any] = msgspec.defstruct(
        newest.__name__,
        [_field(name, field, newest, version) for name, field in fields.items()],
        bases=(base,),
        module=newest.__module__,
        namespace=constants,
        kw_only=True,
    )
    setattr(result, _ITSELF, result)
    return result


def _field(name: str, field: Field, newest: type[Any], version: str) -> Any:
    def exchange(inner: type[Model]) -> Any:
        return ForwardRef(_ITSELF) if inner is newest else older_type(inner, version)

    hint, factory = substitute(field.hint, exchange), field.factory
    if factory is not NODEFAULT and _is_part(part := plain(hint)):
        factory = part
        if not (issubclass(newest, Object) or _is_written(part, hint)):
            hint = Annotated[hint, rules(zero="omitted")]
    setting: Any = msgspec.field
    return name, hint, setting(default=field.default, default_factory=factory, name=field.encoded)


def _is_written(part: type[Model], hint: Any) -> bool:
    """Report whether an empty part is written; parts of types that upstream added later are
    omitted."""
    return getattr(part, "ZEROS", False) or bool(rule(hint, "required") or rule(hint, "zero"))


def _is_part(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Model)
