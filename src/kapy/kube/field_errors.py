"""Field errors with kube-apiserver's messages (`k8s.io/apimachinery` `field.Error`), and paths.

A path is formatted only when an error needs it: formatting the path of every visited field would
cost quadratic time in documents with long keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Self, TypeAlias

from kapy.kube import Document
from kapy.kube.go_literals import as_json, float_text, go_quoted


class _NoValue:
    """Marks a field error without a value."""


NO_VALUE: Final = _NoValue()

_PREFIX: Final = {
    "FieldValueNotFound": "Not found",
    "FieldValueRequired": "Required value",
    "FieldValueDuplicate": "Duplicate value",
    "FieldValueInvalid": "Invalid value",
    "FieldValueNotSupported": "Unsupported value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueTooLong": "Too long",
    "FieldValueTooMany": "Too many",
    "InternalError": "Internal error",
    "FieldValueTypeInvalid": "Invalid value",
}


@dataclass(frozen=True, slots=True)
class FieldError:
    """One error of one field.

    type: the reason in a Status cause (`FieldValueInvalid` …). field: the path
    (`spec.pools[0].name`). detail: the message. value: the invalid value, `NO_VALUE` if the message
    shows none.
    """

    type: str
    field: str
    detail: str = ""
    value: object = NO_VALUE

    def body(self) -> str:
        """Return the message without the field, as in a Status cause."""
        text = _PREFIX.get(self.type, self.type)
        if self.value is not NO_VALUE:
            text = f"{text}: {_value_text(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def cause(self) -> Document:
        """Return this error as an element of `status.details.causes`."""
        return {"reason": self.type, "message": self.body(), "field": self.field}

    def __str__(self) -> str:
        return f"{self.field}: {self.body()}"


class FixedText(str):
    """A value with a fixed text in messages: a Go struct with its field order."""

    __slots__ = ()

    @classmethod
    def of(cls, value: object) -> FixedText:
        """Return the value as JSON with its keys in the given order."""
        return cls(_as_go(json.dumps(value, ensure_ascii=False, separators=(",", ":"))))


MAX_ERRORS: Final = 1000
MAX_TEXT: Final = 256 * 1024
"""The most errors of one object to report, and their most characters: a body of 3 MiB can have a
million errors, each with a path and a value of any length.
"""


def limit_messages(texts: Iterable[str]) -> Iterator[str]:
    """Return the first of many messages, up to a limit of number and length."""
    room = MAX_TEXT
    for text in islice(texts, MAX_ERRORS):
        yield text
        room -= len(text)
        if room < 0:
            return


class TooManyErrors(Exception):
    """The limit of errors was reached, so validation stops. errors: the errors found so far."""

    def __init__(self, errors: list[FieldError]) -> None:
        super().__init__()
        self.errors = errors


class FieldErrors(list[FieldError]):
    """A list that collects errors. Adding the last allowed one raises TooManyErrors."""

    # Every write creates some and nearly all stay empty, so creation runs no Python code.
    _text: int = 0

    @classmethod
    def of(cls, errors: Iterable[FieldError]) -> FieldErrors:
        """Return a list that contains all the errors. Raises TooManyErrors."""
        field_errors = cls()
        field_errors.extend(errors)
        return field_errors

    def append(self, error: FieldError) -> None:
        super().append(error)
        self._text += len(error.field) + len(error.detail)
        if len(self) >= MAX_ERRORS or self._text > MAX_TEXT:
            raise TooManyErrors(list(self))

    def extend(self, errors: Iterable[FieldError]) -> None:
        for error in errors:
            self.append(error)

    def __iadd__(self, errors: Iterable[FieldError]) -> Self:  # type: ignore[override,misc]
        self.extend(errors)
        return self


def _value_text(value: object) -> str:
    if isinstance(value, FixedText):
        return str(value)
    if isinstance(value, str):
        return go_quoted(value)
    if value is None:
        return "null"
    if isinstance(value, float) or (type(value) is int and abs(value) >= _MAX_INT64):
        return float_text(float(value))
    if isinstance(value, dict | list):
        value = as_json(value)
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return _as_go(text)


_MAX_INT64: Final = 1 << 63
_HTML: Final = str.maketrans(
    {
        "<": "\\u003c",
        ">": "\\u003e",
        "&": "\\u0026",
        "\u2028": "\\u2028",
        "\u2029": "\\u2029",
    }
)


def _as_go(text: str) -> str:
    """Return JSON as Go writes it, with HTML characters escaped."""
    return text.translate(_HTML)


def invalid(field: str, value: object, detail: str) -> FieldError:
    """Return the error for a value of the right type that violates a rule."""
    return FieldError("FieldValueInvalid", field, detail, value)


def required(field: str, detail: str = "") -> FieldError:
    """Return the error for a missing required field."""
    return FieldError("FieldValueRequired", field, detail)


def forbidden(field: str, detail: str) -> FieldError:
    """Return the error for a field that may not be set or changed."""
    return FieldError("FieldValueForbidden", field, detail)


def duplicate(field: str, value: object) -> FieldError:
    """Return the error for a duplicate value in a list."""
    return FieldError("FieldValueDuplicate", field, "", value)


def not_supported(
    field: str, value: object, supported: list[str], *, ordered: bool = False
) -> FieldError:
    """Return the error for an unknown value; the message lists the known ones.

    ordered: keep their order.
    """
    names = ", ".join(json.dumps(item) for item in (supported if ordered else sorted(supported)))
    return FieldError("FieldValueNotSupported", field, f"supported values: {names}", value)


def aggregate(errors: Sequence[FieldError] | Sequence[str]) -> str:
    """Join several errors in one line like Go's aggregate errors."""
    lines = [str(error) for error in errors]
    return lines[0] if len(lines) == 1 else f"[{', '.join(lines)}]"


Path: TypeAlias = "str | tuple[Any, str | int]"
"""A formatted path, or a pair of a parent path and an index or a text with its punctuation."""


def path_text(path: Path) -> str:
    """Return a path in the form of error messages: `spec.containers[0].name`."""
    parts: list[str] = []
    while isinstance(path, tuple):
        path, last = path
        parts.append(last if isinstance(last, str) else f"[{last}]")
    parts.append(path)
    parts.reverse()
    return "".join(parts)


def member(path: Path, name: str) -> Path:
    """Return the path of an object's member."""
    return (path, f".{name}") if path else name
