"""Validation of values by a schema, with kube-apiserver's messages (`k8s.io/kube-openapi`).

With an old value, unchanged values are skipped, because their errors would be accepted anyway
(ratcheting). Items of list maps are compared by their keys; items of other lists have no old value.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from kapy.kube import Document
from kapy.kube.field_errors import (
    NO_VALUE,
    FieldError,
    FieldErrors,
    Path,
    TooManyErrors,
    duplicate,
    invalid,
    member,
    path_text,
    required,
)
from kapy.kube.go_literals import float_text, go_quoted
from kapy.kube.patch.merge_patch import is_equal_json
from kapy.kube.schema.node import Junctors, Node
from kapy.kube.schema.rules import ABSENT

Errors: TypeAlias = list[FieldError]

_TYPE_INVALID: Final = "FieldValueTypeInvalid"
_NAMES: Final[dict[type, str]] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    dict: "object",
    list: "array",
    type(None): "null",
}


def validate(node: Node, value: Any, old: Any, path: Path, errors: Errors) -> None:
    """Add the errors of `value` to `errors`. old: the old value, or ABSENT."""
    if old is ABSENT or not is_equal_json(value, old):
        validate_changed(node, value, old, path, errors)


def validate_changed(node: Node, value: Any, old: Any, path: Path, errors: Errors) -> None:
    """Add the errors of a value that is known to have changed. old: the old value, or ABSENT."""
    if value is None:
        _validate_null(node, path, errors)
        return
    if type(value) is int and not -_LONG <= value < _LONG:
        value = float(value)  # Go stores it as a float
    if _NAMES.get(value.__class__) not in node.types:
        _validate_type(node, value, path, errors)
    if node.junctors is not None:
        _validate_junctors(node.junctors, value, old, path, errors)
    check = _CHECKS.get(type(value))
    if check is not None:
        check(node, value, old, path, errors)
    if node.limits.enum is not None:
        _validate_enum(node.limits.enum, value, path, errors)
    if node.junctors is not None and len(errors) > 1:
        _drop_repeated(errors)


def _drop_repeated(errors: Errors) -> None:
    """Drop errors that several schemas found: the result of kube-openapi has each once."""
    errors[:] = {(error.type, error.field, error.detail): error for error in errors}.values()


def _validate_null(node: Node, path: Path, errors: Errors) -> None:
    if node.types and not node.nullable:
        errors.append(_type_error(path, ",".join(node.types), "null"))
    if node.limits.enum is not None:
        # Go matches no null with an enum, even if the enum contains it.
        errors.append(_enum_error(node.limits.enum, None, path))


def _type_error(path: Path, expected: str, got: str) -> FieldError:
    where = path_text(path)
    text = f"{where} in body must be of type {expected}: {go_quoted(got)}"
    return FieldError(_TYPE_INVALID, where or "<nil>", text, got)


_NUMBERS: Final = ("number", "integer")
_LONG: Final = 1 << 63
_LARGEST_WHOLE: Final = (1 << 53) - 1


def _validate_type(node: Node, value: Any, path: Path, errors: Errors) -> None:
    types, form = node.types, node.format
    if not types and not form:
        return
    kind = _NAMES[type(value)]
    if kind in types:
        return
    fits = kind in _NUMBERS and _is_number_of(kind, value, types)
    if form and kind not in ("string", "array"):
        # Go compares the format with that of its own number type, whatever the schema's type is.
        native = {"integer": "int64", "number": "float64"}.get(kind, "")
        if not fits and native != form:
            errors.append(_type_error(path, form, native))
            return
    elif form and not set(types) & set(_NUMBERS):
        return
    if not fits:
        errors.append(_type_error(path, ",".join(types), kind))


def _is_number_of(kind: str, value: float, types: tuple[str, ...]) -> bool:
    """Report whether a number of one kind is accepted where the other kind is required."""
    if kind == "integer":
        return "number" in types
    return "integer" in types and _is_whole(value)


def _is_whole(value: float) -> bool:
    """Report whether a float is an integer that every JSON library can represent exactly."""
    return value.is_integer() and abs(value) <= _LARGEST_WHOLE


def _validate_enum(enum: list[Any], value: Any, path: Path, errors: Errors) -> None:
    if isinstance(value, float) and math.isfinite(value) and int(value) in enum:
        return  # Go converts it to an integer, like those in the enum
    if not any(is_equal_json(value, item) for item in enum):
        errors.append(_enum_error(enum, value, path))


def _enum_error(enum: list[Any], value: Any, path: Path) -> FieldError:
    detail = f"supported values: {', '.join(_quote(item) for item in enum)}"
    return FieldError("FieldValueNotSupported", path_text(path), detail, value)


def _quote(value: Any) -> str:
    text = value if isinstance(value, str) else _json(value)
    return _json(text)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _validate_string(node: Node, value: str, _: Any, path: Path, errors: Errors) -> None:
    limits = node.limits
    if limits.max_length is not None and len(value) > limits.max_length:
        detail = f"may not be more than {limits.max_length} bytes"
        errors.append(FieldError("FieldValueTooLong", path_text(path), detail))
    elif limits.min_length is not None and len(value) < limits.min_length:
        errors.append(_bound_error(path, value, f"be at least {limits.min_length} chars long"))
    elif limits.pattern is not None and not limits.pattern.matches(value):
        unusable = limits.pattern.error
        more = f", but pattern is invalid: {unusable}" if unusable else ""
        errors.append(_bound_error(path, value, f"match '{limits.pattern.text}{more}'"))
    if node.check_format is not None and not node.check_format(value):
        errors.append(_type_error(path, node.format, value))


def _bound_error(path: Path, value: Any, should: str) -> FieldError:
    where = path_text(path)
    return invalid(where, value, f"{where} in body should {should}")


def _validate_number(node: Node, value: float, _: Any, path: Path, errors: Errors) -> None:
    limits = node.limits
    if node.types == ("integer",):
        _validate_range("Checked", node.format, value, path, errors)
        if limits.fractional:
            _validate_bounds(node, path, errors)
    if limits.multiple_of is not None:
        factor = _bound_of(node, limits.multiple_of, value)
        if not _is_multiple(value, factor):
            errors.append(_bound_error(path, value, f"be a multiple of {_bound_text(factor)}"))
    if limits.maximum is not None:
        most, exclusive = _bound_of(node, limits.maximum, value), limits.exclusive_maximum
        if value > most or (exclusive and value == most):
            should = "be less than" if exclusive else "be less than or equal to"
            errors.append(_bound_error(path, value, f"{should} {_bound_text(most)}"))
    if limits.minimum is not None:
        least, exclusive = _bound_of(node, limits.minimum, value), limits.exclusive_minimum
        if value < least or (exclusive and value == least):
            should = "be greater than" if exclusive else "be greater than or equal to"
            errors.append(_bound_error(path, value, f"{should} {_bound_text(least)}"))


def _bound_of(node: Node, bound: float, value: float) -> float:
    """Return a limit in the form that Go compares: truncated for an integer value, unless only
    integers are allowed and the limit is not one.
    """
    if isinstance(value, float) or (node.types == ("integer",) and int(bound) != bound):
        return float(bound)
    return int(bound)


def _bound_text(bound: float) -> str:
    return str(bound) if isinstance(bound, int) else float_text(bound)


def _validate_bounds(node: Node, path: Path, errors: Errors) -> None:
    """Check an integer against limits that are not integers."""
    limits = node.limits
    for what, bound in (
        ("MultipleOf", limits.multiple_of),
        ("Minimum boundary", limits.minimum),
        ("Maximum boundary", limits.maximum),
    ):
        if bound is not None:
            _validate_range(what, node.format, bound, path, errors)


_WHOLE_FORMATS: Final = ("int32", "int64")


def _validate_range(subject: str, form: str, value: float, path: Path, errors: Errors) -> None:
    form = form if form in _WHOLE_FORMATS else ""
    bits = 31 if form == "int32" else 63
    if math.isfinite(value) and value == int(value) and -(1 << bits) <= value < (1 << bits):
        return
    result = f"with format {form}" if form else "(default format)"
    text = f"{subject} value must be of type integer {result} in {path_text(path)}"
    errors.append(invalid("<nil>", "", text))


def _is_multiple(value: float, factor: float) -> bool:
    if factor <= 0:
        return False  # kube-apiserver refuses every value, too
    if isinstance(value, int) and float(factor).is_integer():
        return value % int(factor) == 0
    quotient = value * (1 / factor) if factor < 1 else value / factor
    if not math.isfinite(quotient) or abs(quotient) > _LARGEST_WHOLE:
        return False
    whole = math.trunc(quotient)
    return quotient == whole or abs(quotient - whole) / abs(quotient + whole) < _TOLERANCE


_TOLERANCE: Final = 1e-9


def _validate_list(node: Node, value: list[Any], old: Any, path: Path, errors: Errors) -> None:
    limits, items = node.limits, node.items
    if items is not None:
        before = counterparts(node, value, old) if node.list_keys else None
        plain = items.plain
        for index, item in enumerate(value):
            if plain is not None and plain(item):
                continue
            was = before[index] if before is not None else ABSENT
            if was is not item:
                validate(items, item, was, (path, index), errors)
    if limits.min_items is not None and len(value) < limits.min_items:
        errors.append(_bound_error(path, len(value), f"have at least {limits.min_items} items"))
    if limits.max_items is not None and len(value) > limits.max_items:
        errors.append(_too_many(path, len(value), limits.max_items))
    if limits.unique_items and len(set(map(_json, value))) < len(value):
        where = path_text(path)
        text = f"{where} in body shouldn't contain duplicates"
        errors.append(FieldError("FieldValueInvalid", where, text, NO_VALUE))


def _too_many(path: Path, actual: int, limit: int) -> FieldError:
    return FieldError(
        "FieldValueTooMany", path_text(path), f"must have at most {limit} items", actual
    )


def _key(node: Node, item: Any) -> Any:
    """Return the identity of an item of a list map."""
    if not isinstance(item, dict):
        return None
    keys, defaults = node.list_keys or (), node.key_defaults
    if len(keys) == 1:
        value = item.get(keys[0])
        if isinstance(value, str):
            return value
    values = [item.get(key, defaults.get(key)) for key in keys]
    return "\0" + _json(values)


def _keys(node: Node, items: list[Any]) -> list[Any]:
    """Return the identities of all items, with a fast path for one string key."""
    if node.list_keys is not None and len(node.list_keys) == 1:
        name = node.list_keys[0]
        keys = [item.get(name) if isinstance(item, dict) else None for item in items]
        if all(isinstance(key, str) for key in keys):
            return keys
    return [_key(node, item) for item in items]


def counterparts(node: Node, items: list[Any], old: Any) -> list[Any]:
    """Return the old counterpart of each item of a list map, or ABSENT."""
    if not isinstance(old, list):
        return [ABSENT] * len(items)
    by_key = dict(zip(_keys(node, old), old, strict=True))
    return [by_key.get(key, ABSENT) for key in _keys(node, items)]


def _validate_object(node: Node, value: Document, old: Any, path: Path, errors: Errors) -> None:
    limits = node.limits
    if limits.min_properties is not None and len(value) < limits.min_properties:
        text = f"have at least {limits.min_properties} properties"
        errors.append(_bound_error(path, len(value), text))
    if limits.max_properties is not None and len(value) > limits.max_properties:
        errors.append(_too_many(path, len(value), limits.max_properties))
    before = old if isinstance(old, dict) else {}
    properties, additional = node.properties, node.additional
    for name, inner in value.items():
        child = properties.get(name) or additional
        if child is None:
            continue
        # Fast path: most members are unrestricted texts.
        if inner.__class__ is str and child.min_length <= len(inner) <= child.max_length:
            continue
        if child.plain is not None and child.plain(inner):
            continue
        was = before.get(name, ABSENT)
        if was is inner:
            continue
        where = (path, f".{name}") if child is additional else member(path, name)
        validate(child, inner, was, where, errors)
    for name in node.required:
        if name not in value:
            errors.append(required(path_text(member(path, name))))


_CHECKS: Final[dict[type, Callable[[Node, Any, Any, Path, Errors], None]]] = {
    str: _validate_string,
    int: _validate_number,
    float: _validate_number,
    list: _validate_list,
    dict: _validate_object,
}


def _validate_junctors(
    junctors: Junctors, value: Any, old: Any, path: Path, errors: Errors
) -> None:
    def results(nodes: list[Node]) -> Iterator[Errors]:
        for node in nodes:
            match: Errors = FieldErrors()
            with contextlib.suppress(TooManyErrors):
                validate(node, value, old, path, match)
            yield match

    if junctors.any_of:
        failures = list(results(junctors.any_of))
        if all(failures):
            errors.append(_composite(path, "must validate at least one schema (anyOf)"))
            errors += failures[0]
    if junctors.one_of:
        failures = list(results(junctors.one_of))
        valid = sum(not failure for failure in failures)
        if valid != 1:
            result = f"Found {valid} valid alternatives" if valid else "Found none valid"
            text = f"must validate one and only one schema (oneOf). {result}"
            errors.append(_composite(path, text))
            errors += [] if valid else failures[0]
    if junctors.all_of:
        failures = list(results(junctors.all_of))
        if any(failures):
            more = ". None validated" if all(failures) else ""
            errors.append(_composite(path, f"must validate all the schemas (allOf){more}"))
            errors += [error for failure in failures for error in failure]
    if junctors.none_of is not None and not next(results([junctors.none_of])):
        errors.append(_composite(path, "must not validate the schema (not)"))


def _composite(path: Path, text: str) -> FieldError:
    return invalid("<nil>", "", f"{_json(path_text(path))} {text}")


def duplicates(node: Node, value: Any, path: Path, errors: Errors) -> None:
    """Add an error for each duplicate item of a set or list map."""
    if isinstance(value, dict):
        if node.additional is None and node.keyed.isdisjoint(value):
            return
        for name, inner in value.items():
            child = node.child(name)
            if child is not None and child.has_list_keys:
                duplicates(child, inner, member(path, name), errors)
    elif isinstance(value, list):
        if node.list_keys is not None and _may_be_keyed(node, value, path, errors):
            _duplicate_errors(node, value, path, errors)
        if node.items is not None and node.items.has_list_keys:
            for index, item in enumerate(value):
                duplicates(node.items, item, (path, index), errors)


def _may_be_keyed(node: Node, value: list[Any], path: Path, errors: Errors) -> bool:
    """Report whether all items of a list map are objects; add an error for the first other item."""
    if not node.list_keys:
        return True
    for index, item in enumerate(value):
        if not isinstance(item, dict | None):
            reason = "must be an object for an array of list-type map"
            errors.append(invalid(path_text((path, index)), item, reason))
            return False
    return True


def _duplicate_errors(node: Node, value: list[Any], path: Path, errors: Errors) -> None:
    keyed = bool(node.list_keys)
    keys = _own_keys(node, value) if keyed else [_set_key(item) for item in value]
    if len(set(keys)) == len(keys):
        return
    counts: dict[Any, int] = {}
    for index, key in enumerate(keys):
        counts[key] = counts.get(key, 0) + 1
        if counts[key] == 2:
            item = value[index]
            result = _key_values(node, item) if keyed else item
            errors.append(duplicate(path_text((path, index)), result))


def _own_keys(node: Node, items: list[Any]) -> list[Any]:
    """Return the identity of each item from its explicit keys only, which may be none."""
    keys = _keys(node, items)
    if all(isinstance(key, str) and key[:1] != "\0" for key in keys):
        return keys
    return [_json(_key_values(node, item)) for item in items]


def _set_key(item: Any) -> str:
    return item if isinstance(item, str) else "\0" + _json(item)


def _key_values(node: Node, item: Any) -> Any:
    return {key: item[key] for key in node.list_keys or () if item and key in item}
