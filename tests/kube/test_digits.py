"""Numbers of any number of digits, wherever a text is read as one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kapy.apiserver.verbs.read import parse_resource_version
from kapy.kube import duration, version
from kapy.kube.cel import CompileError, EvaluationError, compile_expression
from kapy.kube.cel.types import STRING
from kapy.kube.digits import parse_integer
from kapy.kube.errors import BadRequest
from kapy.kube.int_or_percent import scaled_value
from kapy.kube.patch.pointer import CannotApply, index
from kapy.topology.patches.errors import NoValue
from kapy.topology.patches.variable_path import value_of

LONG = "9" * 5000
"""More digits than Python reads."""


@given(some.integers(-(10**39), 10**39), some.integers(0, 60))
def test_a_number_is_the_one_that_it_says(number: int, zeros: int) -> None:
    sign, digits = "-" if number < 0 else "", str(abs(number))
    assert parse_integer(f"{sign}{'0' * zeros}{digits}") == number


def test_a_number_of_many_digits_is_beyond_all_bounds() -> None:
    assert parse_integer(LONG) > 1 << 64
    assert parse_integer(f"-{LONG}") < -(1 << 64)
    assert parse_integer("0" * 5000) == 0
    assert parse_integer("+" + "0" * 5000 + "7") == 7


def test_everything_that_reads_digits_says_what_is_wrong_with_many() -> None:
    for text in (f"v{LONG}.0.0", f"v1.{LONG}.0"):
        with pytest.raises(version.InvalidVersion, match="out of range"):
            version.parse_tolerant(text)
    with pytest.raises(ValueError, match="invalid duration"):
        duration.canonical(f"{LONG}s")
    assert duration.canonical(f"0.{'3' * 9000}s") == "333.333333ms"
    assert scaled_value(f"{LONG}%", 10, round_up=True) > 1 << 64
    with pytest.raises(CannotApply):
        index(LONG, 3)
    with pytest.raises(NoValue):
        value_of({"a": [1]}, f"a[{LONG}]")
    with pytest.raises(BadRequest, match="invalid resource version"):
        parse_resource_version(LONG)
    assert parse_resource_version("0" * 5000 + "5") == 5


@pytest.mark.parametrize(
    "source", [LONG, f"{LONG}u", "int(s)", "uint(s)", "duration(s + 'h')", "semver(s + '.0.0')"]
)
def test_an_expression_with_many_digits_is_wrong_or_has_no_value(source: str) -> None:
    with pytest.raises((CompileError, EvaluationError)):
        compile_expression(source, {"s": STRING}).run(LONG)
