"""Regular expressions as Go has them: what is refused, and what they may cost."""

from __future__ import annotations

import pytest

from kapy.kube.regexp import (
    BadPattern,
    TooCostly,
    allowance,
    check,
    compile_pattern,
    cost,
    program,
    quote,
)
from kapy.kube.schema.formats import Pattern

CATASTROPHIC = (
    "^(a+)+$",
    "^(a|a)*$",
    "^(a|aa)+$",
    "^(.*a){20}$",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
    "(a*)*b",
    "(x+x+)+y",
    "^(a?){40}a{40}$",
)
"""Patterns that keep an engine that backtracks busy for years."""


@pytest.mark.parametrize("pattern", CATASTROPHIC)
@pytest.mark.parametrize("text", ["a" * 5000 + "!", "x" * 5000])
def test_no_pattern_takes_more_steps_than_its_size_times_the_text(pattern: str, text: str) -> None:
    with allowance():
        assert compile_pattern(pattern).matches(text) is False


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("a(b", "missing closing ): `a(b`"),
        ("a)b", "unexpected ): `a)b`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a++", "invalid nested repetition operator: `++`"),
        (r"(a)\1", r"invalid escape sequence: `\1`"),
        (r"a\Z", r"invalid escape sequence: `\Z`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("x{1001}", "invalid repeat count: `{1001}`"),
        ("((a{100}){100}){2}", "invalid repeat count: `{100}`"),
        ("(" * 1500 + ")" * 1500, "expression nests too deeply"),
        (r"(?:\pL{500}\pN{500}){1}", "expression too large"),
        ("(?:" + "abcdefghij" * 500 + "){1000}", "expression too large"),
        ("a" * 100_000, "expression too large"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused_in_go_s_words(pattern: str, problem: str) -> None:
    with pytest.raises(BadPattern) as caught:
        check(pattern)
    assert str(caught.value).startswith(f"error parsing regexp: {problem}")


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("a(?i)b", "aB"),
        (r"^\pL+$", "éa"),
        ("(?U)a+", "a"),
        (r"\x{41}", "A"),
        ("(?<n>a)(?P<m>b)", "ab"),
        (r"\p{Letter}\p{greek}", "a\u03b1"),
        ("\ud800", "x\ud800y"),
    ],
)
def test_go_syntax_unknown_to_python_is_understood(pattern: str, text: str) -> None:
    assert compile_pattern(pattern).matches(text)


def test_a_search_that_would_take_too_long_is_not_begun() -> None:
    with pytest.raises(TooCostly, match="too large for a text"):
        compile_pattern("(a|b)*a(a|b){900}c").matches("ab" * 500_000)


def test_searches_for_one_object_share_an_allowance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "clock", iter(range(0, 1 << 60, cost.MAX_NANOSECONDS // 3)).__next__)
    regexp, text = compile_pattern("(a|b)*a(a|b){100}c"), "ab" * 500
    for _ in range(10):
        regexp.matches(text)  # each has an allowance of its own
    with allowance(), pytest.raises(TooCostly, match="take too long"):
        _ = [regexp.matches(text) for _ in range(10)]


def test_short_searches_are_charged_without_a_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    def clock() -> int:
        raise AssertionError

    regexp = compile_pattern("^[a-z]{1,50}$")
    assert regexp.matches("a")
    monkeypatch.setattr(cost, "clock", clock)
    with allowance(), pytest.raises(TooCostly):
        _ = [regexp.matches("a" * 100) for _ in range(100_000)]


def test_matches_that_look_far_ahead_come_to_an_end() -> None:
    with pytest.raises(TooCostly):
        compile_pattern("a.*b|a").find_all("a" * 300_000)


def test_a_replacement_does_not_grow_without_bound() -> None:
    with pytest.raises(TooCostly, match="too long"):
        compile_pattern("a").replace("a" * 10_000, "b" * 100_000)


def test_patterns_are_kept_within_bounds() -> None:
    for number in range(2000):
        compile_pattern(f"^{number}$").matches("1")
    assert program._cached_bytes <= program._CACHE_BYTES
    assert len(program._CACHE) < 1000
    assert sum(regexp.memory for regexp in program._CACHE.values()) == program._cached_bytes


def test_a_quoted_text_stands_for_itself() -> None:
    text = "a.b*c+?(d)|[e]{1}^$\\"
    assert compile_pattern(f"^{quote(text)}$").matches(text)


def test_a_dropped_pattern_is_compiled_again_for_its_holder() -> None:
    pattern = Pattern("^dropped$")
    assert pattern.matches("dropped")
    held = compile_pattern("^dropped$")
    for number in range(2000):
        compile_pattern(f"^{number}$").matches("1")
    assert held.dropped
    assert pattern.matches("dropped")
    assert not pattern.matches("other")
    assert compile_pattern("^dropped$") is not held
