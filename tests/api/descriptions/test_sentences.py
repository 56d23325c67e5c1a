"""A description is made of full sentences, the first of which begins with the field's name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final

import pytest
from msgspec import inspect

from kapy.api.descriptions import Descriptions, descriptions, extra_schema, structs_in
from kapy.api.kinds import KINDS
from kapy.kube.model import Model, rules
from tests.api.descriptions.fields import ALL
from tests.api.descriptions.sentences import problems

MACHINERY: Final = frozenset(("ObjectMeta", "OwnerReference"))
"""Types of Kubernetes, whose fields no CRD describes."""


def test_a_description_of_a_field_is_made_of_sentences() -> None:
    results = {
        str(described): messages
        for described in ALL
        if (messages := problems(described.name, described.text))
    }
    assert results == {}


def test_a_description_of_a_type_is_made_of_sentences() -> None:
    types = {name: text for name, text in descriptions().types.items() if name not in MACHINERY}
    results = {
        f"{name}: {text}": messages
        for name, text in types.items()
        if (messages := problems(name, text))
    }
    assert results == {}


def test_text_that_is_not_a_sentence_is_found() -> None:
    for text in (
        "",
        "How many Machines there are.",
        "replicas the number of Machines.",
        "replicas is the number of Machines",
        "replicas is the number of Machines; 1 unless said.",
        "replicas is a number. Who reads it is the autoscaler.",
    ):
        assert problems("replicas", text), text


def test_an_older_version_has_the_descriptions_of_the_newest() -> None:
    """A text of its own says something only of a field that the newest version does not have;
    conditions are others in each version."""
    newest = descriptions()
    other = [
        f"{struct.__name__}.{name}: {extra['description']}"
        for struct, name, extra in older()
        if name in newest.fields.get(struct.__name__, {}) and name != "conditions"
        if "sameAs" not in extra and "description" in extra
        if extra["description"] != newest.of_field(struct.__name__, name, {})
    ]
    assert other == []


def test_a_field_can_have_the_description_of_another() -> None:
    texts = Descriptions([Newest])
    assert texts.of_field("Newest", "copies", {"sameAs": "Newest.replicas"}) == (
        "copies is the number of Machines."
    )
    assert texts.of_field("Newest", "replicas", {}) == "replicas is the number of Machines."
    assert texts.of_field("Newest", "replicas", {"description": "replicas is another."}) == (
        "replicas is another."
    )
    assert texts.of_field("Unknown", "replicas", {"sameAs": "Elsewhere.replicas"}) == ""
    with pytest.raises(LookupError, match=r"X\.y is the same as Newest\.machines"):
        texts.of_field("X", "y", {"sameAs": "Newest.machines"})


class Newest(Model):
    """Newest has a field."""

    replicas: Annotated[int, rules("replicas is the number of Machines.")] = 0


def older() -> Iterator[tuple[type, str, dict[str, Any]]]:
    """The fields of the Structs of older versions: the Struct, the name, what `rules` say."""
    types = [kind.type_of(version) for kind in KINDS for version in kind.older]
    structs: set[type] = set()
    for info in inspect.multi_type_info(types):
        for of in structs_in(info, structs):
            for field in of.fields:
                yield of.cls, field.encode_name, extra_schema(field.type)
