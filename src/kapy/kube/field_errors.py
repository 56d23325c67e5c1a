"""What is wrong with a field, in kube-apiserver's words (`k8s.io/apimachinery` `field.Error`)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, Self

from kapy.kube import Document
from kapy.kube.go_floats import as_json, printed
from kapy.kube.go_quoted import go_quoted


class _Nothing:
    """Marks a field error that has no value to show."""


NO_VALUE: Final = _Nothing()

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
    """One thing wrong with one field.

    type: the cause's reason as a Status carries it (`FieldValueInvalid` …). field: the path
    (`spec.pools[0].name`). detail: the sentence. value: the offending value, `NO_VALUE` if the
    message shows none.
    """

    type: str
    field: str
    detail: str = ""
    value: object = NO_VALUE

    def body(self) -> str:
        """The message without the field, as a Status cause carries it."""
        text = _PREFIX.get(self.type, self.type)
        if self.value is not NO_VALUE:
            text = f"{text}: {_shown(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def cause(self) -> Document:
        """This error as an element of `status.details.causes`."""
        return {"reason": self.type, "message": self.body(), "field": self.field}

    def __str__(self) -> str:
        return f"{self.field}: {self.body()}"


class Shown(str):
    """A value whose text stands in the message as it is: a Go struct, with its order of fields."""

    __slots__ = ()

    @classmethod
    def of(cls, value: object) -> Shown:
        """The value as JSON, its keys in the order that they are in."""
        return cls(_as_go(json.dumps(value, ensure_ascii=False, separators=(",", ":"))))


MOST_ERRORS: Final = 1000
MOST_TEXT: Final = 256 * 1024
"""How many errors of one object are told, and how many characters they may have together: a body
of 3 MiB can have a million of them, each with a path and a value of any length."""


def first(texts: Iterable[str]) -> Iterator[str]:
    """The first of many sentences, as long as they are not too many or too long."""
    room = MOST_TEXT
    for text in islice(texts, MOST_ERRORS):
        yield text
        room -= len(text)
        if room < 0:
            return


class EnoughErrors(Exception):
    """So many errors were found that no more are looked for. errors: those that were."""

    def __init__(self, errors: list[FieldError]) -> None:
        super().__init__()
        self.errors = errors


class FieldErrors(list[FieldError]):
    """Errors while they are looked for. Adding one raises EnoughErrors when it is the last."""

    # Each write makes some, and nearly all stay empty: making one runs no Python.
    _text: int = 0

    @classmethod
    def of(cls, errors: Iterable[FieldError]) -> FieldErrors:
        """All of them. Raises EnoughErrors."""
        found = cls()
        found.extend(errors)
        return found

    def append(self, error: FieldError) -> None:
        super().append(error)
        self._text += len(error.field) + len(error.detail)
        if len(self) >= MOST_ERRORS or self._text > MOST_TEXT:
            raise EnoughErrors(list(self))

    def extend(self, errors: Iterable[FieldError]) -> None:
        for one in errors:
            self.append(one)

    def __iadd__(self, errors: Iterable[FieldError]) -> Self:  # type: ignore[override,misc]
        self.extend(errors)
        return self


def _shown(value: object) -> str:
    if isinstance(value, Shown):
        return str(value)
    if isinstance(value, str):
        return go_quoted(value)
    if value is None:
        return "null"
    if isinstance(value, float) or (type(value) is int and abs(value) >= _LONG):
        return printed(float(value))
    if isinstance(value, dict | list):
        value = as_json(value)
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return _as_go(text)


_LONG: Final = 1 << 63
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
    """JSON as Go writes it, which is safe within HTML."""
    return text.translate(_HTML)


def invalid(field: str, value: object, detail: str) -> FieldError:
    """The value is of the right type but breaks a rule."""
    return FieldError("FieldValueInvalid", field, detail, value)


def required(field: str, detail: str = "") -> FieldError:
    """The field is not there, and must be."""
    return FieldError("FieldValueRequired", field, detail)


def forbidden(field: str, detail: str) -> FieldError:
    """The field may not be set, or may not change."""
    return FieldError("FieldValueForbidden", field, detail)


def duplicate(field: str, value: object) -> FieldError:
    """The value stands in the list already."""
    return FieldError("FieldValueDuplicate", field, "", value)


def not_supported(
    field: str, value: object, supported: list[str], *, ordered: bool = False
) -> FieldError:
    """The value is none of the known ones, which the message lists. ordered: as they stand."""
    known = ", ".join(json.dumps(one) for one in (supported if ordered else sorted(supported)))
    return FieldError("FieldValueNotSupported", field, f"supported values: {known}", value)


def together(errors: Sequence[FieldError] | Sequence[str]) -> str:
    """Several errors in one line, as Go's aggregates put them."""
    lines = [str(error) for error in errors]
    return lines[0] if len(lines) == 1 else f"[{', '.join(lines)}]"
