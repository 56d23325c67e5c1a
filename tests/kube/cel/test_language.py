"""The CEL language: literals, operators, fields, macros, optional values."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.kube.cel import EvaluationError
from tests.kube.cel.expressions import OBJECT, value


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("1 + 2 * 3 - 4 / 2", 5),
        ("-7 / 2", -3),
        ("-7 % 3", -1),
        ("7 % -3", 1),
        ("0x10", 16),
        ("-9223372036854775808", -(2**63)),
        ("1.5e2 + .5", 150.5),
        ("7u / 2u", 3),
        ("2 - -1", 3),
        ("!!true", True),
        ("'a' + \"b\" + '''c'd'''", "abc'd"),
        (r"'\n\x41\u00e9\U0001F600\101'", "\nAé😀A"),
        (r"r'\d'", r"\d"),
        (r"b'\xff' == bytes('ÿ')", False),
        ("b'ÿ' == bytes('ÿ')", True),
        ("true ? 1 : 2", 1),
        ("false ? 1 : false ? 2 : 3", 3),
        ("1 < 2 && 2u < 3.5 && 'a' < 'b'", True),
        ("[1, 2] + [3]", [1, 2, 3]),
        ("{'a': 1, 'b': 2}['b']", 2),
        ("{'a': {'b': 1}}.a.b", 1),
        ("[[1], [2]][1][0]", 2),
        ("2 in [1, 2]", True),
        ("'z' in {'a': 1}", False),
        ("[1, 2] == [1, 2]", True),
        ("{'a': [1]} != {'a': [2]}", True),
        ("dyn(1) == 1.0 && dyn(1u) == 1", True),
        ("dyn(true) == 1", False),
        ("dyn([1]) == dyn([true])", False),
        ("1 // a comment\n + 1", 2),
        ("type(1) == int && type('') == string && type([]) == list", True),
        ("type(self.since) == google.protobuf.Timestamp", True),
        ("null == null", True),
        ("size('é😀')", 2),
        ("size(b'é')", 2),
        ("[1, 2].size() + size({'a': 1})", 3),
    ],
)
def test_operators_return_values(expression: str, expected: Any) -> None:
    assert value(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("self.ratio / 4.0", 0.5),
        ("self.since.getHours()", 10),
        ("self.day < self.since", True),
        ("self.period == duration('90m')", True),
        ("string(self.raw)", "hello"),
        ("self.times.all(t, t >= timestamp('2024-01-01T00:00:00Z'))", True),
        ("self.times[1] - self.times[0] == duration('8784h')", True),
        ("self.a__dot__b__slash__c__dash__d", 7),
        ("self.__namespace__ + self.under__underscores__score", "nsu"),
        ("self.labels.app", "web"),
        ("self.labels['tier']", "front"),
        ("has(self.labels.app) && !has(self.labels.other)", True),
        ("has(self.maybe)", False),
        ("self.?maybe.hasValue()", False),
        ("type(self.port) == string ? self.port == 'http' : self.port > 0", True),
        ("self.set == ['y', 'x']", True),
        ("self.set + ['y', 'z']", ["x", "y", "z"]),
        ("self.words == ['a', 'b', 'b']", False),
    ],
)
def test_fields_have_the_types_that_the_schema_declares(expression: str, expected: Any) -> None:
    assert value(expression) == expected


def test_lists_compare_as_their_type_says() -> None:
    other = {**OBJECT, "set": ["y", "x"], "pairs": OBJECT["pairs"][::-1]}
    assert value("self == oldSelf", old=other) is True
    assert value("self.pairs == oldSelf.pairs", old=other) is True
    assert value("self.words == oldSelf.words", old={**OBJECT, "words": ["a", "b", "b"]}) is False
    merged = value("self.pairs + oldSelf.pairs", old={"pairs": [{"k": "b", "v": 9}]})
    assert merged == [{"k": "a", "v": 1}, {"k": "b", "v": 9}]


def test_times_are_compared_by_their_instant() -> None:
    same = {**OBJECT, "since": "2024-02-29T10:30:15.500Z", "period": "90m"}
    assert value("self == oldSelf", old=same) is True
    assert value("self == oldSelf", old={**OBJECT, "period": "91m"}) is False


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("[1, 2, 3].all(x, x > 0)", True),
        ("[].all(x, x > 0) && ![].exists(x, x > 0)", True),
        ("[1, 2, 3].exists(x, x == 2)", True),
        ("[1, 2, 2].exists_one(x, x == 2)", False),
        ("[1, 2, 3].filter(x, x % 2 == 1)", [1, 3]),
        ("[1, 2, 3].map(x, x * x)", [1, 4, 9]),
        ("[1, 2, 3].map(x, x > 1, x * 10)", [20, 30]),
        ("{'a': 1, 'b': 2}.all(k, k < 'c')", True),
        ("self.labels.filter(k, k.startsWith('a'))", ["app"]),
        ("self.labels.map(k, self.labels[k])", ["web", "front"]),
        ("self.pairs.exists(p, p.k == 'b' && p.v == 2)", True),
        ("[1, 2].all(x, [3, 4].all(y, x < y))", True),
        ("[1, 2].map(x, [x].map(x, x + 1)[0] + x)", [3, 5]),
        ("['a', 'b'].all(i, x, i < 2 && x != '')", True),
        ("self.labels.exists(k, v, k == 'app' && v == 'web')", True),
        ("self.labels.existsOne(k, v, v == 'web')", True),
        ("['a', 'b'].transformList(i, x, x + string(i))", ["a0", "b1"]),
        ("['a', 'b'].transformList(i, x, i > 0, x)", ["b"]),
        ("{'a': 1}.transformMap(k, v, v + 1)", {"a": 2}),
        ("{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v)", {"b": 2}),
        ("{'a': 'x'}.transformMapEntry(k, v, {v: k})", {"x": "a"}),
        ("[1, 0].exists(x, 1 / x == 1)", True),
        ("[0, 1].exists(x, 1 / x == 1)", True),
    ],
)
def test_macros_return_values(expression: str, expected: Any) -> None:
    assert value(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("self.?count.orValue(0)", 3),
        ("self.?inner.?x.hasValue()", True),
        ("self.?maybe.?x.hasValue()", False),
        ("self.labels[?'none'].orValue('d')", "d"),
        ("[1][?5].hasValue()", False),
        ("optional.of(1).or(optional.of(2)).value()", 1),
        ("optional.none().or(optional.of(2)).value()", 2),
        ("optional.of(2).optMap(x, x + 1).value()", 3),
        ("optional.none().optMap(x, 1).hasValue()", False),
        ("optional.of('a').optFlatMap(x, optional.ofNonZeroValue(x + 'b')).value()", "ab"),
        ("optional.ofNonZeroValue('').hasValue()", False),
        ("[?self.?count, ?optional.none(), 5]", [3, 5]),
        ("{?'a': optional.of(1), ?'b': optional.none()}", {"a": 1}),
        ("optional.of(1) == optional.of(1)", True),
    ],
)
def test_optional_values_can_be_read(expression: str, expected: Any) -> None:
    assert value(expression) == expected


def test_an_absent_field_is_tested_for_and_not_read() -> None:
    assert value("!has(self.count) || self.count > 5", {"name": "x"}) is True
    with pytest.raises(EvaluationError, match="no such key: count"):
        value("self.count > 5", {"name": "x"})


@pytest.mark.parametrize("expression", ["false && 1 / 0 == 1", "1 / 0 == 1 && false"])
def test_false_decides_despite_errors(expression: str) -> None:
    assert value(expression) is False


@pytest.mark.parametrize("expression", ["true || 1 / 0 == 1", "1 / 0 == 1 || true"])
def test_true_decides_despite_errors(expression: str) -> None:
    assert value(expression) is True


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("1 / 0", "division by zero"),
        ("1 % 0", "modulus by zero"),
        ("9223372036854775807 + 1", "integer overflow"),
        ("-(-9223372036854775808)", "integer overflow"),
        ("1u - 2u", "unsigned integer overflow"),
        ("[1][3]", "index out of bounds: 3"),
        ("{'a': 1}['b']", "no such key: b"),
        ("self.labels.none", "no such key: none"),
        ("self.port > 0", "no such overload"),
        ("dyn(1) && true", "no such overload"),
        ("optional.none().value()", "optional.none() dereference"),
        ("{'a': 1, 'a': 2}", "Failed with repeated key: a"),
        ("[1].all(x, 1 / 0 == 1)", "division by zero"),
    ],
)
def test_expressions_without_a_value_are_errors(expression: str, problem: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        value(expression)
    assert str(caught.value) == problem


def test_work_is_bounded() -> None:
    loop = "self.words.all(a, self.words.all(b, self.words.all(c, a + b != c)))"
    with pytest.raises(EvaluationError, match="actual cost limit exceeded"):
        value(loop, {"words": ["w"] * 200})
