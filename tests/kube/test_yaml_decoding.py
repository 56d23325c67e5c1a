"""YAML decoded as by Go's `yaml.v2`: anchors, merge keys, tags, and what a hostile text costs."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from kapy.apiserver.request import body
from kapy.kube import yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: &x 1\nb: &x 2\nc: *x", {"a": 1, "b": 2, "c": 2}),
        ("a: 1\n<<: {a: 2}", {"a": 2}),
        ("<<: {a: 2}\na: 1", {"a": 1}),
        ("<<: [{a: 1}, {a: 2, b: 3}]", {"a": 1, "b": 3}),
        ("'<<': {a: 1}", {"<<": {"a": 1}}),
        ("a: !foo b", {"a": "b"}),
        ("a: !foo 1", {"a": "1"}),
        ("a: ! yes", {"a": "yes"}),
        ("a: !!map [1]", {"a": [1]}),
        ("a: !!str {}", {"a": {}}),
        ("a: !!set {b}", {"a": {"b": None}}),
        ("a: !!float 1", {"a": 1}),
        ("a: !!int '0x10'", {"a": 16}),
        ("a: !!timestamp 2001-01-01", {"a": "2001-01-01"}),
        ("a: !!binary YWJj", {"a": "abc"}),
        ("a: !!binary /w==", {"a": "\ufffd"}),
        ("1e6: a\n1.50: b\n1.5e300: c", {"1e+06": "a", "1.5": "b", ".inf": "c"}),
        ("0.1: a\n16777217.5: b", {"0.1": "a", "1.6777218e+07": "b"}),
        ("{yes: a, 0x10: b}", {"true": "a", "16": "b"}),
    ],
)
def test_a_document_is_decoded_as_by_go(text: str, value: Any) -> None:
    read = yaml.load(text)
    assert read == value
    assert repr(read) == repr(value)


@pytest.mark.parametrize(
    ("text", "in_go"),
    [
        ("a: *b", "yaml: unknown anchor 'b' referenced"),
        ("a: &b [*b]", "yaml: anchor 'b' value contains itself"),
        ("a: &b {<<: *b}", "yaml: anchor 'b' value contains itself"),
        ("<<: 1", "yaml: map merge requires map or sequence of maps as the value"),
        ("a: &l [{b: c}]\nd: {<<: *l}", "yaml: map merge requires map or sequence of maps"),
        ("a: !!int x", "yaml: cannot decode !!str `x` as a !!int"),
        ("a: !!int", "yaml: cannot decode !!null `` as a !!int"),
        ("a: !!float 1e999", "yaml: cannot decode !!str `1e999` as a !!float"),
        ("a: !!null x", "yaml: cannot decode !!str `x` as a !!null"),
        ("a: !!binary x", "yaml: !!binary value contains invalid base64 data"),
        ("a: .inf", "json: unsupported value: +Inf"),
        ("a: .nan", "json: unsupported value: NaN"),
        ("\na: [", "yaml: line 2: did not find expected node content"),
        ("a: !!int x\nb: [", "yaml: line 2: did not find expected node content"),
        ("a: !!int x\nb: *c", "yaml: unknown anchor 'c' referenced"),
        ("a: .inf\nb: !!int x", "yaml: cannot decode !!str `x` as a !!int"),
        (f"a: {'[' * 400}{']' * 400}", "yaml: exceeded max depth"),
    ],
)
def test_a_wrong_document_is_refused_as_by_go(text: str, in_go: str) -> None:
    with pytest.raises(yaml.YamlError) as refused:
        yaml.load(text)
    assert refused.value.in_go.startswith(in_go)


def test_aliased_values_are_not_shared() -> None:
    read = yaml.load("a: &x {b: [1]}\nc: *x\nd: {<<: *x}")
    read["a"]["b"].append(2)
    assert read == {"a": {"b": [1, 2]}, "c": {"b": [1]}, "d": {"b": [1]}}


def test_keys_that_stand_twice_have_the_line_of_their_second_value() -> None:
    duplicates: list[str] = []
    yaml.load("a: 1\nyes: x\nYes:\n\n  y\n<<: {a: 2}\n1.5: x\n1.5: y", duplicates=duplicates)
    assert duplicates == [
        "line 5: key true already set in map",
        'line 6: key "a" already set in map',
        "line 8: key 1.5 already set in map",
    ]


def test_the_server_reads_the_first_document_only() -> None:
    assert body.decode_yaml(b"a: 1\n---\n[") == {"a": 1}


@pytest.mark.parametrize("line", ["\n", "\r", "\x85", "\u2028", "\u2029"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_tag_directives_are_counted_in_every_line(line: str, encoding: str) -> None:
    directives = line.join(f"%TAG !t{at}! tag:x,2000:" for at in range(200))
    with pytest.raises(yaml.YamlError, match="more than 100 %TAG directives"):
        yaml.load(f"{directives}{line}---{line}a: b".encode(encoding))


@pytest.mark.parametrize(
    "text",
    ["- - - - - - - -\n" * 5000, "[" + "{a: b}, " * 5000 + "]", "- !!int x\n" + "- - a\n" * 9000],
)
def test_little_is_built_beside_the_value_of_a_document(text: str) -> None:
    """A node has two marks: freeing the nodes of 3 MB stopped all threads for 200 ms."""
    tracemalloc.start()
    try:
        try:
            value = body.decode_yaml(text.encode())
        except body.InvalidJson:
            value = None
        size, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - size < 300_000
    del value
