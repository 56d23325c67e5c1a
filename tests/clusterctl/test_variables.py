"""Variables in text, beyond the recorded cases: what is told when it goes wrong."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kapy.clusterctl.envsubst import BadSubstitution
from kapy.clusterctl.variables import MissingVariables, replace_variables, variables_of


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: ${A-x}\n", "missing closing brace: line 2, at ${A-x}"),
        ("a: ${}\n", "unable to parse variable name: line 1, at ${}"),
        ("a: $$ ${A\n", "missing closing brace: line 1, at ${A"),
        ("a: ${A/b}\n", "bad substitution: line 1, at ${A/b}"),
        ("\n\n${A:}", "unable to parse substitution within function: line 3, at ${A:}"),
        ("${A:=" * 5000, "variables are nested too deeply: line 1, at " + "${A:=" * 12),
    ],
)
def test_a_substitution_that_cannot_be_read_is_shown_with_its_line(text: str, message: str) -> None:
    with pytest.raises(BadSubstitution) as refused:
        variables_of(text)
    assert str(refused.value) == message


def test_all_missing_variables_are_named_at_once() -> None:
    with pytest.raises(MissingVariables) as refused:
        replace_variables("${B} ${A:=here} ${ C } ${D}", {"D": ""})
    assert refused.value.names == ("B", "C")


@pytest.mark.parametrize("text", ["${A}", "${ A }", "${A }", "${\tA}"])
def test_blanks_around_a_name_are_left_out(text: str) -> None:
    assert replace_variables(text, {"A": "grass"}) == "grass"


def test_a_length_below_zero_is_refused() -> None:
    with pytest.raises(BadSubstitution, match="a length counts from 0"):
        replace_variables("${A:1:-2}", {"A": "abcdef"})


def test_a_large_file_is_not_read_character_by_character() -> None:
    text = "- some: words\n" * 100_000
    assert replace_variables(text + "${A}", {"A": "end"}) == text + "end"


PIECES = st.sampled_from(
    [*"${}:=-+?/#%,^\\ab*[]1é\n\0", "${", "${A", ":=", "$$", "A", "[^a-", "\\"]
)
VALUES = {"A": "a/b*[é]\\", "a": "", "b": "1", "1": "-1"}


@settings(max_examples=400)
@given(st.lists(PIECES, max_size=14).map("".join), st.lists(PIECES, max_size=4).map("".join))
def test_any_text_is_filled_in_or_refused(text: str, value: str) -> None:
    try:
        out = replace_variables(text, VALUES | {"A": value})
    except (BadSubstitution, MissingVariables):
        return
    if "$" not in text:
        assert out == text.partition("\0")[0]
    out.encode("utf-8", "surrogateescape")


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("${A^} ${A^^} ${B,} ${B,,}", "Abc.abc ABC.ABC xYZ xyz"),
        ("${#A} ${A:4} ${A:1:2}", "7 abc bc"),
        ("${A#*.} ${A##a} ${A%.*} ${A%%.*}", "abc bc.abc abc abc"),
        ("${A/b/-} ${A//b/-} ${A/#ab/-} ${A/%bc/-}", "a-c.abc a-c.a-c -c.abc abc.a-"),
        ("${N:=d} ${N:-d} ${N=d} ${A:-d} $$", "d d d abc.abc $"),
    ],
)
def test_functions_change_values_as_in_envsubst(text: str, result: str) -> None:
    assert replace_variables(text, {"A": "abc.abc", "B": "XYZ"}) == result
