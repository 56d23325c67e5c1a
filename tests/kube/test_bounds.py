"""Limits on memory: the texts that are cached, errors, and defaults."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.kube.errors import Invalid, TooLarge
from kapy.kube.field_errors import (
    MAX_ERRORS,
    MAX_TEXT,
    FieldError,
    FieldErrors,
    TooManyErrors,
    invalid,
    member,
    path_text,
)
from kapy.kube.schema import Structural
from kapy.kube.schema.defaulting import MAX_ADDED_BYTES
from kapy.kube.text_cache import text_cache


def test_short_texts_are_remembered_and_long_ones_computed_again() -> None:
    request = []

    @text_cache(10, max_length=4)
    def length(text: str) -> int:
        request.append(text)
        return len(text)

    assert [length(item) for item in ("abc", "abc", "abcde", "abcde")] == [3, 3, 5, 5]
    assert request == ["abc", "abcde", "abcde"]


def test_paths_are_spelled_as_messages_show_them() -> None:
    path = member(member("", "spec"), "items")
    assert path_text(((path, 3), ".name")) == "spec.items[3].name"
    assert path_text("") == ""


def test_many_or_long_errors_are_cut_off() -> None:
    many = FieldErrors()
    with pytest.raises(TooManyErrors) as enough:
        many += (invalid("a", 1, "b") for _ in range(10 * MAX_ERRORS))
    assert len(enough.value.errors) == MAX_ERRORS
    long = FieldErrors()
    with pytest.raises(TooManyErrors):
        long.extend(invalid("a" * 1000, 1, "b") for _ in range(MAX_ERRORS // 2))
    assert len(long) == MAX_TEXT // 1001 + 1


@pytest.mark.parametrize(("count", "length"), [(5 * MAX_ERRORS, 1), (100, MAX_TEXT // 10)])
def test_a_status_tells_the_first_errors_and_that_there_are_more(count: int, length: int) -> None:
    errors = [FieldError("FieldValueInvalid", f"f{at}", "x" * length) for at in range(count)]
    status = Invalid.of("Foo", "", "a", errors).status()
    causes = status["details"]["causes"]
    assert len(causes) < count
    assert status["message"].endswith(f"and more: only the first {len(causes)} are shown]")
    assert len(status["message"]) < 2 * MAX_TEXT


def schema(**spec: Any) -> Structural:
    return Structural.compile({"type": "object", "properties": {"spec": spec}})


def test_paths_below_a_long_key_take_no_more_room_than_the_key() -> None:
    item = {"type": "object", "properties": {"a": {"type": "integer"}}}
    lists = {"type": "array", "items": item}
    structural = schema(type="object", additionalProperties=lists)
    long = "k" * 10_000
    wrong = {"spec": {long: [{"a": "x", "b": 1}] * 1000}}
    with pytest.raises(TooManyErrors) as enough:
        structural.validate(wrong)
    assert sum(len(error.field) for error in enough.value.errors) <= MAX_TEXT + 2 * len(long)
    _, unknown = structural.prune(wrong)
    assert unknown[0].startswith(f"spec.{long}[")
    assert sum(map(len, unknown)) <= MAX_TEXT + 2 * len(long)


def test_an_alternative_with_too_many_errors_is_no_reason_to_refuse_the_other() -> None:
    numbers = {"properties": {"a": {"items": {"maximum": 1}}}}
    structural = schema(
        type="object",
        properties={"a": {"type": "array", "items": {"type": "integer"}}},
        anyOf=[numbers, {"required": ["a"]}],
    )
    assert structural.validate({"spec": {"a": [5] * (2 * MAX_ERRORS)}}) == []


def test_defaults_are_bounded_in_size() -> None:
    text = "x" * 1000
    item = {"type": "object", "properties": {"a": {"type": "string", "default": text}}}
    structural = schema(type="array", items=item)
    few = structural.default({"spec": [{}, {}]})
    assert few == {"spec": [{"a": text}, {"a": text}]}
    with pytest.raises(TooLarge, match="defaults would add"):
        structural.default({"spec": [{}] * (MAX_ADDED_BYTES // 1000)})
    with pytest.raises(TooLarge):
        structural.default({"spec": [{"a": None}] * (MAX_ADDED_BYTES // 1000)})
