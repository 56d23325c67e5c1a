"""Tests that a field's description tells the values, units and limits of its schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from msgspec import inspect

from kapy.api.crds import print_crds
from kapy.api.descriptions import extra_schema
from kapy.api.kinds import KINDS
from tests.api.descriptions.fields import ALL, Described, names

INT32: Final = 2**31 - 1


def enum(described: Described) -> list[str]:
    """Every allowed value is named."""
    return [
        f"{value}" for value in described.schema.get("enum", ()) if not names(described.text, value)
    ]


def default(described: Described) -> list[str]:
    """The default of the schema is named."""
    if "default" not in described.schema:
        return []
    value = described.schema["default"]
    said = re.search(r"\b[Dd]efaults?\b", described.text) is not None
    is_named = said and (isinstance(value, dict) or names(described.text, shown(value)))
    return [] if is_named else [f"default {value!r}"]


def bounds(described: Described) -> list[str]:
    """Both ends of a range of numbers are named, and the least number if it is no usual one."""
    low, high = described.schema.get("minimum"), described.schema.get("maximum")
    wanted = [low, high] if high not in (None, INT32) else [low] if low not in (None, 0, 1) else []
    return [f"bound {value}" for value in wanted if not names(described.text, value)]


def limit(described: Described) -> list[str]:
    """The largest number of items that a user may give is named."""
    most = described.schema.get("maxItems") if described.path.startswith("spec") else None
    return [] if most is None or names(described.text, most) else [f"at most {most} items"]


def unit(described: Described) -> list[str]:
    """Times, shares, ports and data are told with their unit or format."""
    return [why for why, word in units(described) if not re.search(word, described.text)]


def units(described: Described) -> Iterator[tuple[str, str]]:
    """Why a word must be there, and the word."""
    name, schema = described.name, described.schema
    for end, word in (("Seconds", "seconds"), ("Days", "days"), ("ercentage", "percentage")):
        if name.endswith(end):
            yield f"name ends with {end}", word
    if name in ("port", "apiServerPort", "bindPort"):
        yield "it is a port", r"\bport\b"
    if schema.get("format") == "date-time":
        yield "it is a time", r"\btime\b"
    if schema.get("format") == "byte":
        yield "it is binary", "base64"
    if schema.get("x-kubernetes-int-or-string") and described.name != "divisor":
        yield "it may be a percentage", "percentage"
    form = FORMS.get((described.kind, described.version, described.path))
    if form == "duration":
        yield "it is a duration", "duration"
    if form == "quantity":
        yield "it is a quantity", "quantit"


CHECKS: Final[tuple[Callable[[Described], list[str]], ...]] = (enum, default, bounds, limit, unit)


@pytest.mark.parametrize("check", CHECKS, ids=lambda value: value.__name__)
def test_a_description_names_the_rules_of_the_schema(
    check: Callable[[Described], list[str]],
) -> None:
    results = {str(described): missing for described in ALL if (missing := check(described))}
    assert results == {}


@pytest.mark.parametrize("check", CHECKS, ids=lambda value: value.__name__)
def test_a_description_without_the_rule_is_found(
    check: Callable[[Described], list[str]],
) -> None:
    schema = {
        "description": "timeoutSeconds is said to be something.",
        "enum": ["Always", "Never"],
        "default": 7,
        "minimum": 3,
        "maximum": 9,
        "maxItems": 12,
    }
    assert check(Described("Kind", "v1", "spec.timeoutSeconds", schema))


def shown(value: Any) -> str:
    """A value as a description writes it."""
    return str(value).lower() if isinstance(value, bool) else '""' if value == "" else str(value)


def _forms() -> dict[tuple[str, str, str], str]:
    """Texts that are a duration or a quantity, which no schema tells."""
    types = [
        (kind.name, version, kind.type_of(version)) for kind in KINDS for version in kind.versions
    ]
    infos = inspect.multi_type_info([item for _, _, item in types])
    return {
        (kind, version, path): form
        for (kind, version, _), info in zip(types, infos, strict=True)
        for path, form in _formed(info, "", frozenset())
    }


def _formed(of: inspect.Type, path: str, above: frozenset[type]) -> Iterator[tuple[str, str]]:
    match of:
        case inspect.StructType(cls=cls) if cls not in above:
            for field in of.fields:
                here = f"{path}.{field.encode_name}" if path else field.encode_name
                if form := extra_schema(field.type).get("form"):
                    yield here, form
                yield from _formed(field.type, here, above | {cls})
        case inspect.Metadata(type=inner):
            yield from _formed(inner, path, above)
        case inspect.UnionType(types=types):
            for item in types:
                yield from _formed(item, path, above)
        case inspect.ListType(item_type=inner):
            yield from _formed(inner, f"{path}[]", above)
        case inspect.DictType(value_type=inner):
            yield from _formed(inner, f"{path}{{}}", above)


FORMS: Final = _forms()


def test_a_column_is_described_by_its_content() -> None:
    riddles = [
        column
        for crd in print_crds()
        for version in crd["spec"]["versions"]
        for column in version.get("additionalPrinterColumns", ())
        if re.match(r"(Who|What|Which|Where|When|Whether|How|In)\b", column["description"])
    ]
    assert riddles == []
