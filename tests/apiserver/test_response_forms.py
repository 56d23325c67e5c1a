"""Tests of decoding and display: Go's structs, protobuf, JSON errors, printer columns, ages."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.apiserver.encoding.go_json import duplicate_fields, syntax_error
from kapy.apiserver.encoding.protobuf import NotProtobuf, decode_protobuf
from kapy.apiserver.resources.custom import version_priority
from kapy.apiserver.resources.jsonpath import find_values
from kapy.apiserver.resources.structs import WrongType, decoder
from kapy.apiserver.verbs.tables import human_duration
from kapy.kube.errors import TooLarge


@pytest.mark.parametrize(
    ("struct", "document", "expected", "unknown"),
    [
        ("core.v1.ConfigMap", {"data": {}, "odd": 1}, {"metadata": {}}, ["odd"]),
        ("core.v1.ConfigMap", {"immutable": False}, {"immutable": False, "metadata": {}}, []),
        ("core.v1.ResourceRequirements", {"limits": {"cpu": 1000}}, {"limits": {"cpu": "1k"}}, []),
        ("core.v1.ServicePort", {"port": 80}, {"port": 80, "targetPort": 0}, []),
        ("meta.v1.LabelSelector", {"matchLabels": None}, {}, []),
    ],
)
def test_go_structs_keep_the_fields_that_go_keeps(
    struct: str, document: dict[str, Any], expected: dict[str, Any], unknown: list[str]
) -> None:
    dropped: list[str] = []
    assert decoder(struct)(document, None, dropped) == expected
    assert dropped == unknown


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ({"data": {"a": 1}}, "cannot unmarshal number into Go struct field ConfigMap.data of type"),
        ({"metadata": {"name": 5}}, "Go struct field ObjectMeta.metadata.name of type string"),
        ({"binaryData": {"a": "%"}}, "illegal base64 data at input byte 0"),
        ({"metadata": {"creationTimestamp": "now"}}, 'parsing time "now"'),
    ],
)
def test_a_value_of_the_wrong_type_is_named(document: dict[str, Any], sentence: str) -> None:
    with pytest.raises(WrongType) as error:
        decoder("core.v1.ConfigMap")(document, None, [])
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"{x", "invalid character 'x' looking for beginning of object key string"),
        (b'{"a":1', "unexpected end of JSON input"),
        (b"{}x", "invalid character 'x' after top-level value"),
        (b'{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        (b"[1 2]", "invalid character '2' after array element"),
        (b"nul", "unexpected end of JSON input"),
    ],
)
def test_json_errors_are_worded_like_gos(raw: bytes, sentence: str) -> None:
    assert syntax_error(raw) == sentence


def test_duplicate_fields_are_found() -> None:
    raw = b'{"a":1,"a":2,"b":[{"c":1,"c":2}]}'
    assert duplicate_fields(raw) == ["a", "b[0].c"]


DOCUMENT = {
    "spec": {"tags": ["x", "y"], "a.b": 1},
    "status": {
        "conditions": [{"type": "Ready", "status": "True"}, {"type": "Up", "status": "False"}]
    },
}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        (".spec.tags[*]", ["x", "y"]),
        (".spec.tags[1]", ["y"]),
        (".spec.a\\.b", [1]),
        (".spec['a.b']", [1]),
        (".spec['a\\.b']", [1]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        ('.status.conditions[?(@.type!="Ready")].type', ["Up"]),
        (".spec.nothing.at.all", []),
        (".spec[", []),
    ],
)
def test_printer_columns_find_their_values(path: str, values: list[Any]) -> None:
    assert list(find_values(DOCUMENT, path)) == values


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (599, "9m59s"),
        (3600, "60m"),
        (4 * 3600 + 60, "4h1m"),
        (47 * 3600, "47h"),
        (3 * 86400 + 3600, "3d1h"),
        (400 * 86400, "400d"),
        (3 * 365 * 86400, "3y"),
        (9 * 365 * 86400, "9y"),
    ],
)
def test_ages_are_reported_as_kubectl_says_them(seconds: int, text: str) -> None:
    assert human_duration(seconds) == text


def test_versions_are_ordered_as_kubernetes_orders_them() -> None:
    names = ["v1alpha1", "v2", "v1beta2", "v1", "v1beta1", "v10", "foo"]
    ordered = sorted(names, key=version_priority, reverse=True)
    assert ordered == ["v10", "v2", "v1", "v1beta2", "v1beta1", "v1alpha1", "foo"]


def _field(number: int, value: bytes) -> bytes:
    return bytes([number << 3 | 2, len(value)]) + value


def _message(kind: str, raw: bytes) -> bytes:
    identity = _field(1, b"v1") + _field(2, kind.encode())
    return b"k8s\x00" + _field(1, identity) + _field(2, raw)


def test_protobuf_is_read_as_json_would_be() -> None:
    metadata = _field(1, b"a") + _field(11, _field(1, b"x") + _field(2, b"y"))
    raw = _field(1, metadata) + _field(2, _field(1, b"k") + _field(2, b"v")) + b"\x20\x01"
    assert decode_protobuf(_message("ConfigMap", raw)) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "labels": {"x": "y"}},
        "data": {"k": "v"},
        "immutable": True,
    }


@pytest.mark.parametrize(
    "raw",
    [b"", b"{}", b"k8s\x00\xff", _message("ConfigMap", b"\x0a\xff"), _message("Nothing", b"")],
)
def test_damaged_protobuf_is_refused(raw: bytes) -> None:
    with pytest.raises(NotProtobuf):
        decode_protobuf(raw)


def test_empty_structs_that_would_fill_the_memory_are_refused() -> None:
    decode = decoder("core.v1.PodSpec")
    assert len(decode({"containers": [{}] * 20_000}, None, [])["containers"]) == 20_000
    with pytest.raises(TooLarge, match="1000000 items"):
        decode({"containers": [{}] * 1_000_000}, None, [])


def test_a_hundred_unknown_fields_are_reported() -> None:
    unknown: list[str] = []
    decoder("core.v1.ConfigMap")({f"u{at}": 1 for at in range(1000)}, None, unknown)
    assert unknown == [f"u{at}" for at in range(100)]


def test_a_hundred_repeated_fields_are_reported_also_of_long_texts() -> None:
    fields = ",".join(f'"a{at}":1,"a{at}":2' for at in range(30_000))
    text = f'{{"{"k" * 1000}":[{{{fields}}}]}}'.encode()
    assert duplicate_fields(text) == [f"{'k' * 1000}[0].a{at}" for at in range(100)]
