"""The runtime cost of expressions, and its limit."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.kube import Document
from kapy.kube.cel import (
    CompileError,
    CostExceeded,
    EvaluationError,
    compile_expression,
    declared_type,
)
from kapy.kube.cel.rules import rule_checker
from kapy.kube.cel.schema_types import escape
from kapy.kube.regexp import allowance
from kapy.kube.schema import FieldSchema

INTEGERS: Document = {"type": "array", "items": {"type": "integer"}}
TEXTS: Document = {"type": "array", "items": {"type": "string"}}
LONG = ["a" * 1000] * 1000

FIELD_NAMES = (
    *("as", "break", "const", "continue", "else", "for", "function", "if", "import", "let"),
    *("loop", "namespace", "package", "return", "var", "void", "while"),
)
"""Words that the language keeps for itself, which may yet name a field after a dot."""


def run(source: str, value: Any, schema: Document) -> tuple[Any, int]:
    kind = declared_type(schema)
    assert kind is not None
    result, remaining = compile_expression(source, {"self": kind}).run(value)
    return result, 1_000_000 - remaining


@pytest.mark.parametrize("word", FIELD_NAMES)
@pytest.mark.parametrize("written", ["has(self.{})", "self.{} == 'x'", "self.__{}__ == 'x'"])
def test_a_reserved_word_may_name_a_field(word: str, written: str) -> None:
    schema = {"type": "object", "properties": {word: {"type": "string"}}}
    assert run(written.format(word), {word: "x"}, schema)[0] is True


@pytest.mark.parametrize("word", ["true", "false", "null", "in"])
def test_a_literal_names_no_field_unless_it_is_escaped(word: str) -> None:
    schema = {"type": "object", "properties": {word: {"type": "string"}}}
    assert run(f"self.__{word}__ == 'x'", {word: "x"}, schema)[0] is True
    with pytest.raises(CompileError, match="Syntax error"):
        run(f"self.{word} == 'x'", {word: "x"}, schema)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("a-b", "a__dash__b"),
        ("a.b", "a__dot__b"),
        ("a/b", "a__slash__b"),
        ("a__b", "a__underscores__b"),
        ("import", "__import__"),
        ("1a", None),
        ("a b", None),
    ],
)
def test_names_are_escaped_as_in_kubernetes(name: str, written: str | None) -> None:
    assert escape(name) == written


@pytest.mark.parametrize(
    ("source", "cost"),
    [("self.all(x, x >= 0)", 201), ("self.size() == 40", 2), ("3 in self", 42)],
)
def test_costs_are_near_those_of_kube_apiserver(source: str, cost: int) -> None:
    """Those of a list of 40 numbers, measured there."""
    assert cost / 3 <= run(source, list(range(40)), INTEGERS)[1] <= cost * 3


@pytest.mark.parametrize(
    ("source", "schema", "value"),
    [
        ("self.all(x, self.all(y, x == y || x != y))", INTEGERS, list(range(1000))),
        ("self.all(x, self.all(y, self.all(z, true)))", INTEGERS, list(range(1000))),
        ("self.map(x, self.map(y, x + y)).size() > 0", TEXTS, LONG),
        ("self.all(x, self.all(y, y.matches('^(a|b)*$')))", TEXTS, LONG),
        ("self.all(x, self.all(y, x.contains(y)))", TEXTS, LONG),
        ("self.all(x, x.replace('a', 'bbbbbbbbbbbbbbbbbbbbbb').size() > 0)", TEXTS, LONG),
        ("self.all(x, self.join('').size() > 0)", TEXTS, LONG),
        ("self.all(x, self.isSorted())", TEXTS, LONG),
        ("self.all(x, self.indexOf(x + 'b') == -1)", TEXTS, LONG),
        ("self.all(x, self.all(y, 5000 in self || true))", INTEGERS, list(range(1000))),
        ("self.all(x, '%s'.format([self]) != '')", TEXTS, LONG),
        ("self.all(x, self + self == self + self)", TEXTS, LONG),
        ("self.all(x, sets.intersects(self, ['b']) || true)", TEXTS, LONG),
        ("self[0].replace('', self[0]).replace('', self[0]) != ''", TEXTS, ["a" * 5000]),
    ],
)
def test_no_expression_does_more_than_it_may(source: str, schema: Document, value: Any) -> None:
    with pytest.raises(CostExceeded, match="actual cost limit exceeded"):
        run(source, value, schema)


def test_all_rules_of_an_object_share_a_budget() -> None:
    rule = {"rule": "self.all(x, self.all(y, x == y || x != y))"}
    schema = {**INTEGERS, "x-kubernetes-validations": [rule] * 100}
    checked = FieldSchema.compile(schema, rules=rule_checker)
    with allowance():
        (error,) = checked.rule_errors(list(range(250)), "spec")
    assert "no further validation rules will be run" in str(error)


@pytest.mark.parametrize(
    "source",
    ["1" + " + 1" * 20_000 + " == 2", "self" + ".a" * 20_000, "[" * 9000],
)
def test_an_expression_that_nests_too_deeply_is_refused(source: str) -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    with pytest.raises(CompileError):
        run(source, {}, schema)


def test_a_long_chain_of_conditions_is_no_deep_expression() -> None:
    assert run(" && ".join(["self.size() > 0"] * 3000), [1], INTEGERS)[0] is True


def test_an_expression_that_is_too_long_is_refused() -> None:
    with pytest.raises(CompileError, match="code point size exceeds limit"):
        run("'" + "a" * 100_000 + "' == ''", [], INTEGERS)


def test_a_number_with_many_digits_is_no_failure_of_python() -> None:
    with pytest.raises(EvaluationError):
        run("int(self[0]) > 1", ["9" * 10_000], TEXTS)
