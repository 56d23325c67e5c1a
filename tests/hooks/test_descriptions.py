"""Messages of hooks are described in sentences, as the fields of our kinds are."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import inspect

from kapy.api.descriptions import extra_schema, structs_in
from kapy.hooks.catalog import own_catalog
from tests.api.descriptions.sentences import problems


def messages() -> Iterator[inspect.StructType]:
    """The Structs of all messages and of their parts."""
    structs: set[type] = set()
    for hook in own_catalog():
        for info in inspect.multi_type_info([hook.request, hook.response]):
            yield from structs_in(info, structs)


def test_every_message_and_field_is_described_in_sentences() -> None:
    result = {}
    for of in messages():
        texts = {of.cls.__name__: " ".join((of.cls.__doc__ or "").split())}
        for field in of.fields:
            texts[field.encode_name] = extra_schema(field.type).get("description", "")
        for name, text in texts.items():
            if entries := problems(name, text):
                result[f"{of.cls.__name__} {name}: {text}"] = entries
    assert result == {}


def test_messages_are_found() -> None:
    names = {of.cls.__name__ for of in messages()}
    assert {"GeneratePatchesRequest", "HolderReference", "ExtensionHandler"} <= names


def test_every_hook_is_described_in_sentences() -> None:
    for hook in own_catalog():
        assert hook.summary.startswith("Cluster API "), hook.name
        assert hook.description.endswith("."), hook.name
        assert ";" not in hook.description, hook.name
