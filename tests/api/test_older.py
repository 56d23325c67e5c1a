"""Older versions are derived: what a declaration does not name is the same in all versions."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any, Final

import msgspec
import pytest

from kapy.api.kinds import KINDS
from kapy.api.older.derivation import declarations, older_type
from kapy.api.older.difference import Difference, Row
from kapy.api.older.fields import Field, Fields, rule
from kapy.api.older.rows import (
    add,
    add_required,
    loosen,
    make_optional,
    make_required,
    pointers,
    remove,
    rename,
    retype,
    values,
)
from kapy.kube.model import Model, rules

VERSIONS: Final = sorted({version for kind in KINDS for version in kind.older})


def declared(version: str) -> list[tuple[str, Difference]]:
    """Every declaration of a version, with the name of its module."""
    homes = sorted(set(import_module(f"kapy.api.{version}").HOMES.values()))
    modules = [import_module(f"kapy.api.{version}.{home}") for home in homes]
    return [
        (module.__name__, difference) for module in modules for difference in module.DIFFERENCES
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_difference_is_declared_in_the_module_of_its_struct(version: str) -> None:
    lost = [
        f"{module}: {difference.newest.__name__}"
        for module, difference in declared(version)
        if declarations(version, difference.newest.__module__).get(difference.newest)
        is not difference
    ]
    assert lost == []


@pytest.mark.parametrize("version", VERSIONS)
def test_a_struct_is_declared_once(version: str) -> None:
    newest = [difference.newest for _, difference in declared(version)]
    assert len(newest) == len(set(newest))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_field_that_no_declaration_names_is_in_all_versions(version: str) -> None:
    """Whoever adds a field to a Struct adds it to the older versions, too."""
    for _, difference in declared(version):
        changed = difference.apply(
            {"brand_new": Field("brandNew", int, 0), **all_fields(difference.newest)}
        )
        assert changed["brand_new"] == Field("brandNew", int, 0)


def all_fields(struct: type[Model]) -> Fields:
    return {
        field.name: Field(field.encode_name, field.type, field.default, field.default_factory)
        for field in msgspec.structs.fields(struct)
    }


class Part(Model):
    wanted: Annotated[int, rules("wanted is a number.", minimum=1)]
    text: Annotated[str, rules("text is a text.", min_length=1)] = ""
    flag: bool | None = None


WANTED, TEXT, FLAG = all_fields(Part).values()


@pytest.mark.parametrize(
    ("row", "name", "expected"),
    [
        (remove("text"), "text", None),
        (add(more=int), "more", Field("more", int, 0)),
        (add(more=list[str]), "more", Field("more", list[str], factory=list)),
        (add(more_text=str | None), "more_text", Field("moreText", str | None, None)),
        (add_required(more=int), "more", Field("more", int)),
        (retype(wanted=str), "wanted", Field("wanted", str)),
        (retype(text=int), "text", Field("text", int, 0)),
        (values("flag"), "flag", Field("flag", bool, False)),
        (make_optional("wanted"), "wanted", WANTED._replace(default=0)),
        (make_required("flag"), "flag", Field("flag", bool | None)),
    ],
)
def test_a_row_changes_one_field(row: Row, name: str, expected: Field | None) -> None:
    before = all_fields(Part)
    after = row.shape(before)
    assert after.get(name) == expected
    assert {**after, name: 0} == {**before, name: 0}


def test_a_pointer_keeps_its_rules() -> None:
    after = pointers("text").shape(all_fields(Part))["text"]
    assert (after.default, rule(after.hint, "minLength")) == (None, 1)


def test_a_renamed_field_is_described_by_its_own_name() -> None:
    after = rename(words="text").shape(all_fields(Part))
    assert list(after) == ["wanted", "words", "flag"]
    assert after["words"].encoded == "words"
    assert rule(after["words"].hint, "description") == "words is a text."


def test_a_loosened_field_has_no_lower_bound() -> None:
    after = loosen("wanted").shape(all_fields(Part))["wanted"]
    assert (rule(after.hint, "minimum"), rule(after.hint, "description")) == (
        None,
        "wanted is a number.",
    )


@pytest.mark.parametrize("row", [remove, pointers, values, loosen, make_optional, make_required])
def test_a_row_about_an_unknown_field_is_an_error(row: Any) -> None:
    with pytest.raises(LookupError, match="no field gone"):
        row("gone").shape(all_fields(Part))


def test_a_struct_without_differences_is_shared() -> None:
    assert older_type(Part, "v1beta1") is Part
