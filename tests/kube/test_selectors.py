"""Label and field selectors: what they select, and what is said about bad ones."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.kube.selectors import (
    InvalidSelector,
    parse_fields,
    parse_labels,
    selector_of,
    stored_selector_of,
)

LABELS = {"app": "web", "tier": "front", "n": "5", "empty": ""}


@pytest.mark.parametrize(
    ("text", "selected"),
    [
        ("", True),
        ("app=web", True),
        ("app==web,tier!=back", True),
        ("app=api", False),
        ("missing!=x", True),
        ("app in (api, web)", True),
        ("app notin (api,web)", False),
        ("missing notin (x)", True),
        ("app", True),
        ("!app", False),
        ("!missing", True),
        ("n>4", True),
        ("n<5", False),
        ("app>4", False),
        ("missing>0", False),
        ("empty=", True),
        ("empty in ()", True),
        ("empty in (,x)", True),
        ("in=x", False),
        ("app in (in, web)", True),
        (" app = web , tier in ( front ) ", True),
    ],
)
def test_labels_are_selected(text: str, selected: bool) -> None:
    assert parse_labels(text).matches(LABELS) is selected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a=b=c", "found '=', expected: ',' or 'end of string'"),
        ("a in 1", "unable to parse requirement: found '1' expected: '('"),
        ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
        ("a in (x", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("=x", "found '=', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("t=x,,a=1", "found ',', expected: identifier after ','"),
        (
            "in (x)",
            "unable to parse requirement: found '(', expected: in, notin, =, ==, !=, gt, lt",
        ),
        (
            "a>x",
            "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' "
            "operators, the value must be an integer",
        ),
    ],
)
def test_a_bad_selector_is_reported(text: str, message: str) -> None:
    with pytest.raises(InvalidSelector) as refused:
        parse_labels(text)
    assert str(refused.value) == message


def test_a_key_and_a_value_must_be_good() -> None:
    with pytest.raises(InvalidSelector, match='requirement: <nil>: Invalid value: "-a": name part'):
        parse_labels("-a=1")
    with pytest.raises(InvalidSelector, match=r'values\[0\]\[a\]: Invalid value: "é": a valid'):
        parse_labels("a=é")


@pytest.mark.parametrize("text", ["a=b", "a in (b,c),!d,e", "x>5", "a!=b,z notin (y)"])
def test_a_selector_is_printed_as_it_was_written(text: str) -> None:
    assert str(parse_labels(text)) == text


def test_a_selector_document_selects_as_its_text() -> None:
    document = {
        "matchLabels": {"app": "web"},
        "matchExpressions": [
            {"key": "tier", "operator": "In", "values": ["front", "back"]},
            {"key": "old", "operator": "DoesNotExist"},
        ],
    }
    assert str(selector_of(document)) == "app=web,!old,tier in (back,front)"
    assert selector_of(document).matches(LABELS)


def test_an_absent_selector_selects_nothing_and_an_empty_one_everything() -> None:
    assert not selector_of(None).matches({"a": "b"})
    assert selector_of({}).matches(None)
    assert selector_of({}).everything


def test_an_unknown_operator_is_refused() -> None:
    with pytest.raises(InvalidSelector, match='"Near" is not a valid label selector operator'):
        selector_of({"matchExpressions": [{"key": "a", "operator": "Near"}]})


@pytest.mark.parametrize(
    ("text", "selected"),
    [
        ("", True),
        ("metadata.name=a", True),
        ("metadata.name==a,metadata.namespace!=x", True),
        ("metadata.name!=a", False),
        ("spec.note=x\\,y\\=z", True),
    ],
)
def test_fields_are_selected(text: str, selected: bool) -> None:
    values = {"metadata.name": "a", "metadata.namespace": "n", "spec.note": "x,y=z"}
    assert parse_fields(text).matches(lambda field: values[field]) is selected


def test_a_field_selector_lists_its_fields() -> None:
    selector = parse_fields("metadata.name=a,spec.x!=b")
    assert selector.fields == ["metadata.name", "spec.x"]
    assert selector.exact("metadata.name") == "a"
    assert selector.exact("spec.x") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        ("a=b\\x", "invalid field selector: invalid escape sequence: \\x"),
        ("a=b\\", "invalid field selector: invalid escape sequence: \\"),
        ("a in (b)", "invalid selector: 'a in (b)'; can't understand 'a in (b)'"),
    ],
)
def test_a_bad_field_selector_is_reported(text: str, message: str) -> None:
    with pytest.raises(InvalidSelector) as refused:
        parse_fields(text)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    "document",
    [
        None,
        {},
        {"matchLabels": {"b": "1", "a": "2"}},
        {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1", "2"]}]},
        {
            "matchLabels": {"a": "2"},
            "matchExpressions": [
                {"key": "b", "operator": "Exists"},
                {"key": "c", "operator": "DoesNotExist"},
            ],
        },
    ],
)
def test_a_stored_selector_matches_as_when_it_was_written(
    document: dict[str, Any] | None,
) -> None:
    for labels in ({}, {"a": "2"}, {"a": "2", "b": "1"}, {"a": "2", "b": "1", "c": ""}):
        entry = {"metadata": {"labels": labels}}
        assert stored_selector_of(document).selects(entry) == selector_of(document).selects(entry)


def test_a_stored_selector_with_an_unknown_operator_is_refused() -> None:
    with pytest.raises(InvalidSelector, match="not a valid label selector operator"):
        stored_selector_of({"matchExpressions": [{"key": "a", "operator": "Near"}]})
