"""Tests of the serialized form of empty and zero values, which follows upstream's types."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import msgspec
import pytest
from msgspec import field

from kapy.api.conversion.wire import normalize
from kapy.kube import Document
from kapy.kube.model import Model, rules


class Part(Model):
    name: str = ""


class Plain(Model):
    required: str
    pointer: bool | None = None
    kept: Annotated[int, rules(zero="kept", required=True)] = 0
    written: Annotated[int, rules(zero="written")] = 0
    part: Part = field(default_factory=Part)
    pointed: Part | None = None
    omitted: Annotated[Part | None, rules(zero="omitted")] = None
    rows: list[list[str]] = field(default_factory=list)


class Old(Model):
    ZEROS: ClassVar[bool] = True

    required: str
    optional: str = ""
    time: Annotated[str, rules(format="date-time", required=True)] = ""
    part: Part = field(default_factory=Part)
    items: list[str] = field(default_factory=list)


@pytest.mark.parametrize(
    ("kind", "document", "written"),
    [
        (Plain, {}, {"written": 0}),
        (Plain, {"required": "", "part": {}, "rows": []}, {"written": 0}),
        (Plain, {"pointer": False, "kept": 0}, {"pointer": False, "kept": 0, "written": 0}),
        (Plain, {"pointed": {}, "omitted": {}}, {"pointed": {}, "written": 0}),
        (Plain, {"omitted": {"name": "n"}}, {"omitted": {"name": "n"}, "written": 0}),
        (Plain, {"rows": [["a"], None]}, {"rows": [["a"], None], "written": 0}),
        (Plain, {"required": None, "unknown": 1}, {"written": 0}),
        (Old, {}, {"required": "", "time": None, "part": {}}),
        (Old, {"items": [], "optional": ""}, {"required": "", "time": None, "part": {}}),
    ],
)
def test_empty_fields_are_written_by_their_rules(
    kind: type[Model], document: Document, written: Document
) -> None:
    assert normalize(document, kind) == written


class Forms(Model):
    replicas: Annotated[int | None, rules(format="int32")] = None
    generation: Annotated[int, rules(format="int64")] = 0
    duration: Annotated[str, rules(form="duration")] = ""
    quantity: Annotated[int | str, rules(form="quantity")] = ""
    capacity: Annotated[dict[str, int | str], rules(form="quantity")] = field(default_factory=dict)
    token: Annotated[str, rules(form="token")] = ""


@pytest.mark.parametrize(
    ("name", "value", "form"),
    [
        ("duration", "90s", "1m30s"),
        ("quantity", "1000m", "1"),
        ("quantity", 0, "0"),
        ("replicas", -(2**31), -(2**31)),
        ("generation", 2**63 - 1, 2**63 - 1),
        ("capacity", {"cpu": 2}, {"cpu": "2"}),
        ("token", "abcdef.0123456789abcdef", "abcdef.0123456789abcdef"),
    ],
)
def test_values_are_normalized(name: str, value: Any, form: Any) -> None:
    assert normalize({name: value}, Forms) == {name: form}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("duration", "soon"),
        ("quantity", "much"),
        ("token", "abcdef.short"),
        ("replicas", 2**31),
        ("generation", 2**63),
    ],
)
def test_an_invalid_value_is_refused_with_its_field(name: str, value: Any) -> None:
    with pytest.raises(msgspec.ValidationError, match=name):
        normalize({name: value}, Forms)


class Nested(Model):
    parts: list[Part] = field(default_factory=list)
    words: dict[str, str] = field(default_factory=dict)
    one: Part | None = None
    anything: Any = None


def test_null_is_an_absent_field_or_the_zero_value_of_an_item() -> None:
    document = {"parts": [None, {"name": None}], "words": {"a": None}, "one": None}
    read = normalize({**document, "anything": {"b": None}}, Nested)
    assert read == {"parts": [{}, {}], "words": {"a": ""}, "anything": {"b": None}}
