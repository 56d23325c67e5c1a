"""Expressions that cannot be used, and what is said about them."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapy.kube.cel import CompileError, EvaluationError
from tests.kube.cel.expressions import value

OPERAND = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, "
    "STRING, BYTES, IDENTIFIER}"
)


@pytest.mark.parametrize(
    ("expression", "line", "column", "problem"),
    [
        ("self.nothing == 1", 1, 5, "undefined field 'nothing'"),
        ("has(self.nothing)", 1, 4, "undefined field 'nothing'"),
        ("self.loose.y == 1", 1, 11, "undefined field 'y'"),
        ("self.count.x", 1, 11, "type 'int' does not support field selection"),
        ("other == 1", 1, 1, "undeclared reference to 'other' (in container '')"),
        ("nosuch(1)", 1, 7, "undeclared reference to 'nosuch' (in container '')"),
        ("'a'.nosuch()", 1, 11, "undeclared reference to 'nosuch' (in container '')"),
        (
            "self.count == 'x'",
            1,
            12,
            "found no matching overload for '_==_' applied to '(int, string)'",
        ),
        ("1 + 1.5", 1, 3, "found no matching overload for '_+_' applied to '(int, double)'"),
        (
            "self.name.startsWith(1)",
            1,
            21,
            "found no matching overload for 'startsWith' applied to 'string.(int)'",
        ),
        (
            "self.words == [1]",
            1,
            12,
            "found no matching overload for '_==_' applied to '(list(string), list(int))'",
        ),
        (
            "self.labels[1]",
            1,
            12,
            "found no matching overload for '_[_]' applied to '(map(string, string), int)'",
        ),
        ("!1", 1, 1, "found no matching overload for '!_' applied to '(int)'"),
        ("1 && true", 1, 3, "found no matching overload for '_&&_' applied to '(int, bool)'"),
        (
            "true ? 1 : 'a'",
            1,
            6,
            "found no matching overload for '_?_:_' applied to '(bool, int, string)'",
        ),
        ("[1, 'a']", 1, 5, "expected type 'int' but found 'string'"),
        ("[1].all(x, x)", 1, 12, "expected type 'bool' but found 'int'"),
        (
            "self.count.all(x, true)",
            1,
            5,
            "expression of type 'int' cannot be range of a comprehension "
            "(must be list, map, or dynamic)",
        ),
        ("[1].all(x.y, true)", 1, 10, "argument must be a simple name"),
        ("has(self)", 1, 4, "invalid argument to has() macro"),
        ("1 +", 1, 4, f"Syntax error: mismatched input '<EOF>' expecting {OPERAND}"),
        ("1 2", 1, 3, "Syntax error: mismatched input '2' expecting <EOF>"),
        ("(1", 1, 3, "Syntax error: mismatched input '<EOF>' expecting ')'"),
        ("true &&\n 1 # 2", 2, 4, "Syntax error: token recognition error at: '#'"),
        ("for == 1", 1, 1, "reserved identifier: for"),
        ("9223372036854775808", 1, 1, "invalid int literal"),
        ("18446744073709551616u", 1, 1, "invalid uint literal"),
        ("'a'.matches('(')", 1, 13, "invalid matches argument"),
        ("duration('1x') < self.period", 1, 10, "invalid duration argument"),
        ("timestamp('x') < self.since", 1, 11, "invalid timestamp argument"),
    ],
)
def test_the_first_problem_is_shown_in_its_place(
    expression: str, line: int, column: int, problem: str
) -> None:
    with pytest.raises(CompileError) as caught:
        value(expression)
    text = expression.split("\n")[line - 1]
    mark = "." * (column - 1) + "^"
    assert str(caught.value) == f"ERROR: <input>:{line}:{column}: {problem}\n | {text}\n | {mark}"


def test_nesting_is_limited() -> None:
    with pytest.raises(CompileError, match="recursion limit"):
        value("(" * 5000 + "1" + ")" * 5000)


WORDS = (
    "self self.count self.name self.words . .? [ ] ( ) { } , : ? && || ! - + * / % == != < in "
    "true null 1 1u 1.5 'a' b'x' x y has( size( .all(x, .map(x, .exists( .matches( optional.of( "
    "type( '''"
)


def outcome(expression: str) -> Any:
    """The value, or the error's text."""
    try:
        return value(expression)
    except (CompileError, EvaluationError) as error:
        return str(error)


@given(st.lists(st.sampled_from(WORDS.split(" ")), max_size=12))
def test_any_text_is_an_error_or_has_a_value(words: list[str]) -> None:
    assert outcome(" ".join(words)) != ""


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("'%d'.format(['x'])", "decimal clause can only be used on integers, was given string"),
        ("'%s'.format([])", "index 0 out of range"),
        ("'%s'.format([1, 2])", "too many arguments supplied to string.format (expected 1, got 2)"),
        ("'%'.format([])", "unexpected end of string"),
        ("'%y'.format([1])", 'unrecognized formatting clause "y"'),
    ],
)
def test_a_constant_format_is_checked_with_its_values(expression: str, problem: str) -> None:
    with pytest.raises(CompileError) as caught:
        value(expression)
    assert problem in str(caught.value)


@pytest.mark.parametrize("expression", ["'%d'.format([dyn('x')])", "'100%%'.format([]) == '100%'"])
def test_valid_formats_compile(expression: str) -> None:
    with contextlib.suppress(EvaluationError):
        value(expression)
