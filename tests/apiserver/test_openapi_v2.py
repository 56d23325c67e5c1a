"""OpenAPI v2: for programs that know nothing newer, as JSON and in gnostic's protobuf."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from kapy._aio.clock import loop_clock
from kapy.apiserver.openapi import encode_protobuf
from kapy.apiserver.server import Server
from kapy.kube import Document
from kapy.kube.http import ADMIN, Reply, Request

PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
WIDGETS: Document = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.dev"},
    "spec": {
        "group": "example.dev",
        "names": {"kind": "Widget", "plural": "widgets"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "size": {"x-kubernetes-int-or-string": True},
                            "note": {"type": "string", "nullable": True, "description": "Words."},
                            "parts": {"type": "array", "items": {"type": "string", "minLength": 3}},
                            "rest": {
                                "type": "object",
                                "x-kubernetes-preserve-unknown-fields": True,
                            },
                        },
                    }
                },
            }
        ],
    },
}


async def asked(accept: str = "") -> Reply:
    server = Server.open(None, clock=loop_clock())
    transport = server.transport(ADMIN)
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    reply = await transport(Request("POST", path, {}, {}, json.dumps(WIDGETS).encode()))
    assert reply.status == 201
    headers = {"accept": accept} if accept else {}
    return await transport(Request("GET", "/openapi/v2", {}, headers))


async def described() -> Document:
    reply = await asked()
    assert isinstance(reply.body, bytes)
    document: Document = json.loads(reply.body)
    return document


async def test_the_openapi_document_describes_kinds_and_paths() -> None:
    swagger = await described()
    assert swagger["swagger"] == "2.0"
    for name in ("dev.example.v1.Widget", "io.k8s.api.core.v1.Pod"):
        assert swagger["definitions"][name]["x-kubernetes-group-version-kind"]
    operation = swagger["paths"]["/apis/example.dev/v1/namespaces/{namespace}/widgets"]["post"]
    assert operation["parameters"][0] == {
        "in": "body",
        "name": "body",
        "required": True,
        "schema": {"$ref": "#/definitions/dev.example.v1.Widget"},
    }


async def test_types_without_an_openapi_v2_form_are_left_open() -> None:
    fields = (await described())["definitions"]["dev.example.v1.Widget"]["properties"]
    assert fields["size"] == {"x-kubernetes-int-or-string": True}
    assert fields["note"] == {"description": "Words."}
    assert fields["rest"] == {"x-kubernetes-preserve-unknown-fields": True}
    assert fields["parts"] == {"type": "array", "items": {"type": "string", "minLength": 3}}


async def test_all_references_can_be_resolved() -> None:
    swagger = await described()
    wanted = {reference.removeprefix("#/definitions/") for reference in references(swagger)}
    assert wanted <= set(swagger["definitions"])


async def test_go_clients_get_protobuf() -> None:
    reply = await asked(PROTOBUF)
    assert reply.headers["content-type"] == PROTOBUF.replace("@", ".")
    assert isinstance(reply.body, bytes)
    parts = list(fields(reply.body))
    assert parts[0] == (1, b"2.0")
    (definitions,) = (value for number, value in parts if number == 9)
    names = {dict(fields(item))[1].decode() for _, item in fields(definitions)}
    assert names == set((await described())["definitions"])


def test_numbers_flags_and_lists_have_their_types() -> None:
    schema = {"maxLength": 300, "minimum": -1.5, "required": ["a", "b"], "uniqueItems": True}
    document = {"definitions": {"x": {**schema, "enum": [1], "x-more": {"y": 2}}}}
    (definitions,) = (value for _, value in fields(encode_protobuf(document)))
    (named,) = (value for _, value in fields(definitions))
    flags: dict[int, list[Any]] = {}
    for number, value in fields(dict(fields(named))[2]):
        flags.setdefault(number, []).append(value)
    assert flags[11] == [300]
    assert flags[9] == [bytes.fromhex("000000000000f8bf")]
    assert flags[19] == [b"a", b"b"]
    assert flags[16] == [1]
    assert dict(fields(flags[20][0])) == {2: b"1\n"}
    assert dict(fields(flags[31][0]))[1] == b"x-more"


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for item in node:
            yield from references(item)


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Number and value of each field of a protobuf message."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
            yield key >> 3, value
            continue
        size, at = (8, at) if key & 7 == 1 else varint(data, at)
        yield key >> 3, data[at : at + size]
        at += size


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at
