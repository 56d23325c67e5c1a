"""Label and field selectors: parsing, matching, and the server's error messages.

Label selectors come as kubectl sends them (`app=a,tier in (b, c),!old`) or as a
`metav1.LabelSelector` document. Both become a `LabelSelector`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, NamedTuple

from kapy.kube import Document
from kapy.kube.digits import parse_integer
from kapy.kube.errors import KapyError
from kapy.kube.field_errors import FieldError, aggregate
from kapy.kube.qualified_names import label_value_errors, qualified_name_errors
from kapy.kube.text_cache import text_cache

Operator = Literal["in", "notin", "=", "==", "!=", "gt", "lt", "exists", "!"]


class InvalidSelector(KapyError):
    """The selector is invalid; the message is kube-apiserver's."""


class Requirement(NamedTuple):
    """One condition on one label."""

    key: str
    operator: Operator
    values: frozenset[str] = frozenset()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Report whether labels satisfy this requirement; an absent label satisfies negative
        ones.
        """
        value = labels.get(self.key)
        match self.operator:
            case "=" | "==" | "in":
                return value in self.values
            case "!=" | "notin":
                return value not in self.values
            case "exists":
                return value is not None
            case "!":
                return value is None
            case _:
                return value is not None and self._compare(value)

    def _compare(self, value: str) -> bool:
        if not re.fullmatch(r"[+-]?\d+", value, re.ASCII):
            return False
        (bound,) = self.values
        number, limit = parse_integer(value), parse_integer(bound)
        return number > limit if self.operator == "gt" else number < limit

    def __str__(self) -> str:
        match self.operator:
            case "exists":
                return self.key
            case "!":
                return f"!{self.key}"
            case "in" | "notin":
                return f"{self.key} {self.operator} ({','.join(sorted(self.values))})"
            case _:
                sign = {"gt": ">", "lt": "<"}.get(self.operator, self.operator)
                return f"{self.key}{sign}{next(iter(self.values))}"


@dataclass(frozen=True)
class LabelSelector:
    """A conjunction of requirements; without any it selects everything. `NOTHING` selects
    nothing.
    """

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    @cached_property
    def everything(self) -> bool:
        return not self.requirements and not self.nothing

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        """Report whether an object with these labels (None: no labels) is selected."""
        if self.nothing:
            return False
        pairs: Mapping[str, str] = labels or {}
        return all(requirement.matches(pairs) for requirement in self.requirements)

    def selects(self, document: Document) -> bool:
        """Report whether a document's labels are selected."""
        return not self.requirements or self.matches(document["metadata"].get("labels"))

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


EVERYTHING: Final = LabelSelector()
NOTHING: Final = LabelSelector(nothing=True)


@text_cache(1024, max_length=1024)
def parse_labels(text: str) -> LabelSelector:
    """Parse a label selector. Raises InvalidSelector."""
    return LabelSelector(
        tuple(sorted(_Parser(text).requirements(), key=lambda requirement: requirement.key))
    )


_DOCUMENT_OPERATORS: Final[dict[str, Operator]] = {
    "In": "in",
    "NotIn": "notin",
    "Exists": "exists",
    "DoesNotExist": "!",
}


def selector_of(document: Document | None) -> LabelSelector:
    """Convert a `metav1.LabelSelector` document. Raises InvalidSelector.

    An absent selector selects nothing, an empty one everything.
    """
    if document is None:
        return NOTHING
    requirements = [
        _requirement(key, "=", [value])
        for key, value in sorted((document.get("matchLabels") or {}).items())
    ]
    for expression in document.get("matchExpressions") or []:
        operator = _operator_of(expression)
        values = expression.get("values")
        requirements.append(_requirement(expression.get("key", ""), operator, values))
    return LabelSelector(tuple(sorted(requirements, key=lambda requirement: requirement.key)))


def _operator_of(expression: Document) -> Operator:
    name = expression.get("operator", "")
    operator = _DOCUMENT_OPERATORS.get(name)
    if operator is None:
        raise InvalidSelector(f'"{name}" is not a valid label selector operator')
    return operator


def stored_selector_of(document: Document | None) -> LabelSelector:
    """Convert the selector of a stored object without validating keys and values again.

    Raises InvalidSelector.
    """
    if document is None:
        return NOTHING
    requirements = [
        Requirement(key, "=", frozenset((value,)))
        for key, value in (document.get("matchLabels") or {}).items()
    ]
    for expression in document.get("matchExpressions") or []:
        operator = _operator_of(expression)
        requirements.append(
            Requirement(
                expression.get("key", ""), operator, frozenset(expression.get("values") or ())
            )
        )
    return LabelSelector(tuple(requirements))


def _requirement(key: str, operator: Operator, value_list: list[str] | None) -> Requirement:
    """Return a requirement of a label selector. value_list: the values, None if they are absent,
    which errors show as null.
    """
    errors = []
    values = value_list or []
    if wrong := qualified_name_errors(key):
        errors.append(FieldError("FieldValueInvalid", "key", "; ".join(wrong), key))
    if wrong_count := _wrong_count(operator, values):
        errors.append(FieldError("FieldValueInvalid", "values", wrong_count, value_list))
    if operator in ("gt", "lt"):
        errors += [
            FieldError("FieldValueInvalid", f"values[{index}]", _NOT_A_NUMBER, value)
            for index, value in enumerate(values)
            if not re.fullmatch(r"[+-]?\d+", value, re.ASCII)
        ]
    errors += [
        FieldError("FieldValueInvalid", f"values[{index}][{key}]", "; ".join(wrong), value)
        for index, value in enumerate(values)
        if (wrong := label_value_errors(value))
    ]
    if errors:
        raise InvalidSelector(aggregate(errors))
    return Requirement(key, operator, frozenset(values))


_NOT_A_NUMBER: Final = "for 'Gt', 'Lt' operators, the value must be an integer"


def _wrong_count(operator: Operator, values: list[str]) -> str:
    match operator:
        case "in" | "notin":
            return "" if values else "for 'in', 'notin' operators, values set can't be empty"
        case "=" | "==" | "!=":
            return "" if len(values) == 1 else "exact-match compatibility requires one single value"
        case "exists" | "!":
            return "values set must be empty for exists and does not exist" if values else ""
        case _:
            return (
                ""
                if len(values) == 1
                else "for 'Gt', 'Lt' operators, exactly one value is required"
            )


_WORD: Final = "word"
_END: Final = "end"
_TOKEN: Final = re.compile(r"==|!=|[()!,=<>]|[^()!,=<>\s]+")
"""The token pattern; it consumes white space without backtracking."""

_SIGNS: Final[dict[str, Operator]] = {
    "in": "in",
    "notin": "notin",
    "=": "=",
    "==": "==",
    "!=": "!=",
    ">": "gt",
    "<": "lt",
}
_BINARY: Final = "in, notin, =, ==, !=, gt, lt"


class _Parser:
    """A recursive descent parser; `in` and `notin` may also be values."""

    def __init__(self, text: str) -> None:
        self._tokens = [*_tokens(text)]
        self._at = 0

    def requirements(self) -> Iterator[Requirement]:
        kind, token = self._peek()
        while kind == _WORD or token == "!":
            try:
                yield self._requirement()
            except InvalidSelector as error:
                raise InvalidSelector(f"unable to parse requirement: {error}") from None
            kind, token = self._next()
            if kind == _END:
                return
            if token != ",":
                raise InvalidSelector(f"found '{token}', expected: ',' or 'end of string'")
            kind, token = self._peek()
            if kind != _WORD and token != "!":
                raise InvalidSelector(f"found '{token}', expected: identifier after ','")
        if kind != _END:
            raise InvalidSelector(f"found '{token}', expected: !, identifier, or 'end of string'")

    def _requirement(self) -> Requirement:
        kind, key = self._next()
        absent = kind != _WORD and key == "!"
        if absent:
            kind, key = self._next()
        if kind != _WORD:
            raise InvalidSelector(f"found '{key}', expected: identifier")
        if wrong := qualified_name_errors(key):
            error = FieldError("FieldValueInvalid", "<nil>", "; ".join(wrong), key)
            raise InvalidSelector(str(error))
        if absent:
            return _requirement(key, "!", [])
        kind, token = self._peek()
        if kind == _END or token == ",":
            return _requirement(key, "exists", [])
        self._at += 1
        operator = _SIGNS.get(token)
        if operator is None:
            raise InvalidSelector(f"found '{token}', expected: {_BINARY}")
        values = self._value_list() if operator in ("in", "notin") else [self._exact()]
        return _requirement(key, operator, sorted(set(values)))

    def _value_list(self) -> Iterator[str]:
        _, token = self._next()
        if token != "(":
            raise InvalidSelector(f"found '{token}' expected: '('")
        kind, token = self._peek()
        if kind != _WORD and token not in (",", ")"):
            raise InvalidSelector(f"found '{token}', expected: ',', ')' or identifier")
        value = ""
        while True:
            kind, token = self._next()
            if kind == _WORD:
                value = token
                kind, token = self._next()
                if token not in (",", ")"):
                    raise InvalidSelector(f"found '{token}', expected: ',' or ')'")
            elif token not in (",", ")"):
                raise InvalidSelector(f"found '{token}', expected: ',', or identifier")
            yield value
            value = ""
            if token == ")":
                return

    def _exact(self) -> str:
        kind, token = self._peek()
        if kind == _END or token == ",":
            return ""
        self._at += 1
        if kind != _WORD:
            raise InvalidSelector(f"found '{token}', expected: identifier")
        return token

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._at] if self._at < len(self._tokens) else (_END, "")

    def _next(self) -> tuple[str, str]:
        token = self._peek()
        self._at += 1
        return token


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    for match in _TOKEN.finditer(text):
        token = match[0]
        yield ("sign" if token[0] in "()!,=<>" else _WORD), token


class FieldRequirement(NamedTuple):
    """One condition on one field: equal, or not equal."""

    field: str
    equal: bool
    value: str


@dataclass(frozen=True)
class FieldSelector:
    """A conjunction of requirements; without any it selects everything."""

    requirements: tuple[FieldRequirement, ...] = ()

    @property
    def fields(self) -> list[str]:
        """Return the requested fields, so that a server can refuse unsupported ones."""
        return [requirement.field for requirement in self.requirements]

    def exact(self, field: str) -> str | None:
        """Return the value that `field` must have, None if several are possible."""
        for requirement in self.requirements:
            if requirement.equal and requirement.field == field:
                return requirement.value
        return None

    def matches(self, value_of: Callable[[str], str]) -> bool:
        """Report whether an object is selected; `value_of` returns a field's value as text."""
        return all(
            (value_of(requirement.field) == requirement.value) is requirement.equal
            for requirement in self.requirements
        )


_TERM: Final = re.compile(r"(.*?)(!=|==|=)(.*)", re.DOTALL)


@text_cache(1024, max_length=1024)
def parse_fields(text: str) -> FieldSelector:
    """Parse a field selector (`metadata.name=a,spec.x!=b`). Raises InvalidSelector."""
    requirements = []
    for term in sorted(_split_terms(text)):
        match = _TERM.fullmatch(term)
        if match is None:
            raise InvalidSelector(f"invalid selector: '{text}'; can't understand '{term}'")
        field, sign, value = match[1], match[2], _unescape(match[3])
        if field or value:  # an operator alone selects everything
            requirements.append(FieldRequirement(field, sign != "!=", value))
    return FieldSelector(tuple(requirements))


def _split_terms(text: str) -> Iterator[str]:
    term, escaped = "", False
    for character in text:
        if character == "," and not escaped:
            if term:
                yield term
            term = ""
            continue
        term += character
        escaped = character == "\\" and not escaped
    if term:
        yield term


def _unescape(value: str) -> str:
    result, escaped = "", False
    for character in value:
        if escaped:
            if character not in "\\,=":
                raise InvalidSelector(
                    f"invalid field selector: invalid escape sequence: \\{character}"
                )
            result, escaped = result + character, False
        elif character == "\\":
            escaped = True
        elif character in ",=":
            raise InvalidSelector(
                f"invalid field selector: unescaped character in value: {ord(character)}"
            )
        else:
            result += character
    if escaped:
        raise InvalidSelector("invalid field selector: invalid escape sequence: \\")
    return result
