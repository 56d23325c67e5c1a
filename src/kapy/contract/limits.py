"""Check a provider's value against the schema of the core kind that will store it.

Otherwise the server would refuse the whole status of the owner for one address of an unknown type,
and no condition could report the reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, get_type_hints

from msgspec import NODEFAULT, Meta
from msgspec.structs import fields

from kapy.kube.model import Model

_RULES = ("minLength", "maxLength", "minimum", "maximum", "enum")


def out_of_limits(value: Model) -> str | None:
    """Return the first field that the schema would refuse, and why; None if the value is valid.

    Empty optional fields are not written, so they are not checked.
    """
    for attribute, name, optional, rules in _limits(type(value)):
        result = getattr(value, attribute)
        if optional and not result:
            continue
        problem = _problem(result, rules)
        if problem:
            return f"{name}: {problem}"
    return None


def too_long(value: str, longest: int) -> str | None:
    """Return why a text cannot be stored, None if it can."""
    return _problem(value, {"maxLength": longest})


def _problem(value: Any, rules: dict[str, Any]) -> str | None:
    if "enum" in rules and value not in rules["enum"]:
        return f'"{value}" is none of {", ".join(rules["enum"])}'
    if len(str(value)) < rules.get("minLength", 0):
        return "must not be empty"
    if "maxLength" in rules and len(value) > rules["maxLength"]:
        return f"must not be longer than {rules['maxLength']} characters, has {len(value)}"
    if value is not None and "minimum" in rules and value < rules["minimum"]:
        return f"must be at least {rules['minimum']}, is {value}"
    if value is not None and "maximum" in rules and value > rules["maximum"]:
        return f"must be at most {rules['maximum']}, is {value}"
    return None


@cache
def _limits(kind: type[Model]) -> tuple[tuple[str, str, bool, dict[str, Any]], ...]:
    """Return the limits per field: attribute, JSON name, whether it is optional, its rules."""
    return tuple(_limit_rows(kind))


def _limit_rows(kind: type[Model]) -> Iterator[tuple[str, str, bool, dict[str, Any]]]:
    hints = get_type_hints(kind, include_extras=True)
    for field in fields(kind):
        metadata = getattr(hints[field.name], "__metadata__", ())
        metas = [two.extra_json_schema or {} for two in metadata if isinstance(two, Meta)]
        schema = {key: value for meta in metas for key, value in meta.items()}
        rules = {key: schema[key] for key in _RULES if key in schema}
        if rules:
            optional = field.default is not NODEFAULT or field.default_factory is not NODEFAULT
            yield field.name, field.encode_name, optional, rules
