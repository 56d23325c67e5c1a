"""Responses are decoded as Go's encoding/json decodes them.

`tests/data/go_decoding.jsonl` has bodies that `tests.hooks.go_bodies` made, each with the
value or the error of `json.NewDecoder(body).Decode` into the response type of
`sigs.k8s.io/cluster-api/api` v1.14.0 (Go 1.26).
"""

from __future__ import annotations

import base64
import json
from typing import Any, Final

import msgspec
import pytest

from kapy.api.cluster_class_variables import ClusterClassVariable
from kapy.hooks.catalog import own_catalog
from kapy.hooks.go_decoding import go_document
from kapy.hooks.go_types import struct_of
from kapy.hooks.hook import AnyHook
from kapy.hooks.messages.lifecycle import BEFORE_CLUSTER_CREATE
from kapy.hooks.messages.message import Response
from kapy.kube import Document
from kapy.kube.model import Model
from tests.hooks.go_bodies import FIELDS
from tests.oracle.recorded import ROOT

RECORDED: Final = ROOT / "tests" / "data" / "go_decoding.jsonl"
HOOKS: Final[dict[str, AnyHook]] = {hook.name: hook for hook in own_catalog()}


def recorded() -> list[Document]:
    return [json.loads(line) for line in RECORDED.read_text().splitlines()]


def read(hook: AnyHook, body: bytes) -> Any:
    """A response with the Models of its parts. Raises ValueError."""
    result = msgspec.convert(go_document(body, hook.response), hook.response)
    if hook.name == "DiscoverVariables":
        result.variables = [
            msgspec.convert(variable, ClusterClassVariable) for variable in result.variables
        ]
    return result


def test_bodies_are_decoded_like_in_go() -> None:
    wrong = []
    for line in recorded():
        hook, body = HOOKS[line["hook"]], base64.b64decode(line["body"])
        expected = None
        if "value" in line:
            expected = read(hook, msgspec.json.encode(line["value"]))
        try:
            result = read(hook, body)
        except ValueError:
            result = None
        if result != expected:
            wrong.append((hook.name, body, result, line))
    assert wrong == []


def test_the_recording_has_answers_of_both_kinds_for_every_hook() -> None:
    kinds = {(line["hook"], "value" in line) for line in recorded()}
    assert kinds == {(hook, good) for hook in FIELDS for good in (True, False)}


SAME_WORDS: Final = [
    (b"", "EOF"),
    (b'{"status":', "unexpected EOF"),
    (b"<html>", "invalid character '<' looking for beginning of value"),
    (b'{"status" 1}', "invalid character '1' after object key"),
]


@pytest.mark.parametrize(("body", "said"), SAME_WORDS)
def test_text_that_is_no_json_is_reported_in_gos_words(body: bytes, said: str) -> None:
    with pytest.raises(ValueError, match="^" + said + "$"):
        go_document(body, BEFORE_CLUSTER_CREATE.response)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"[]", "cannot unmarshal array into a value of type object"),
        (b'{"retryAfterSeconds":"5"}', "string into field retryAfterSeconds of type int32"),
        (b'{"retryAfterSeconds":5.0}', "number 5.0 into field retryAfterSeconds of type int32"),
        (b'{"retryAfterSeconds":2147483648}', "number 2147483648 into field retryAfterSeconds"),
        (b'{"retryAfterSeconds":1' + b"0" * 4000 + b"}", "cannot unmarshal number into field"),
        (b'{"kind":{}}', "cannot unmarshal object into field kind of type string"),
        (b"[" * 400 + b"]" * 400, "it is nested more than 300 levels deep"),
        (b'{"a":' * 100_000, "it is nested more than 300 levels deep"),
        (b'{"retryAfterSeconds":1' + b"0" * 9000 + b"}", "cannot unmarshal number"),
    ],
    ids=lambda value: str(value[:40]),
)
def test_a_value_of_another_type_is_named_with_its_field(body: bytes, said: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        go_document(body, BEFORE_CLUSTER_CREATE.response)
    assert said in str(refused.value)


@pytest.mark.parametrize("hook", HOOKS.values(), ids=list(HOOKS))
def test_no_two_fields_of_a_response_differ_only_in_case(hook: AnyHook) -> None:
    """Else the folded name would not say which one is meant."""
    response: type[Model] = hook.response
    struct = struct_of(response)
    assert len(struct.exact) == len(struct.folded)


def test_json_values_of_unknown_fields_are_not_decoded() -> None:
    body = b'{"status":"Success","later":[1e999,1' + b"0" * 9000 + b',{"status":5}]}'
    assert go_document(body, Response) == {"status": "Success"}


def test_an_empty_object_has_no_status() -> None:
    assert go_document(b"{}", Response) == {"status": ""}
