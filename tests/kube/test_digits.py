"""Numbers of any number of digits, wherever a text is read as one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

import kapy
from kapy.api.names import Annotation
from kapy.api.template_changes import BadRevision, revision_of
from kapy.apiserver.verbs.read import parse_resource_version
from kapy.kube import duration, version
from kapy.kube.cel import CompileError, EvaluationError, compile_expression
from kapy.kube.cel.types import STRING
from kapy.kube.digits import has_only_digits, parse_digits, parse_integer
from kapy.kube.errors import BadRequest
from kapy.kube.int_or_percent import scaled_value
from kapy.kube.meta import Object, ObjectMeta
from kapy.kube.patch.editing import CannotApply, index
from kapy.topology.patches.errors import NoValue
from kapy.topology.patches.inline import value_of

LONG = "9" * 5000
"""More digits than Python reads."""


@given(some.integers(-(10**39), 10**39), some.integers(0, 60))
def test_a_number_is_parsed(number: int, zeros: int) -> None:
    sign, digits = "-" if number < 0 else "", str(abs(number))
    assert parse_integer(f"{sign}{'0' * zeros}{digits}") == number


def test_a_number_of_many_digits_is_beyond_all_bounds() -> None:
    assert parse_integer(LONG) > 1 << 64
    assert parse_integer(f"-{LONG}") < -(1 << 64)
    assert parse_integer("0" * 5000) == 0
    assert parse_integer("+" + "0" * 5000 + "7") == 7


@given(some.text(max_size=6) | some.text(some.characters(categories=["N"]), max_size=6))
def test_digits_are_those_of_ascii(text: str) -> None:
    expected = int(text) if re.fullmatch("[0-9]+", text) else None
    assert parse_digits(text) == expected
    assert has_only_digits(text) == (expected is not None)


@pytest.mark.parametrize("text", ["x", "", "²", "1_000", " 1", "1.0", LONG, str(1 << 63)])
def test_a_revision_that_is_no_number_is_named(text: str) -> None:
    owned = Object(metadata=ObjectMeta(name="a", annotations={Annotation.REVISION: text}))
    with pytest.raises(BadRevision, match=r'of Object "a" is ".*remove the annotation'):
        revision_of(owned)
    owned.metadata.annotations[Annotation.REVISION] = "+7"
    assert revision_of(owned) == 7


def test_only_one_module_parses_digits() -> None:
    """`"²".isdigit()` holds and `int("²")` fails, and so does `int` of 5,000 digits."""
    package = Path(kapy.__file__).parent
    modules = {path.relative_to(package).as_posix() for path in package.rglob("*.py")}
    accepted = {
        "kube/digits.py",
        "clusterctl/envsubst/parser.py",  # a sign of a name, as in Go; never a number
        "containers/archive.py",  # bytes, and few of them
    }
    asks = re.compile(r"\.is(digit|decimal|numeric)\(")
    asking = {name for name in modules if asks.search((package / name).read_text("utf-8"))}
    assert asking == accepted


def test_every_parser_of_digits_reports_too_many() -> None:
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
