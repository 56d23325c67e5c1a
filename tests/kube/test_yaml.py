"""YAML as Kubernetes reads and prints it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapy.kube import yaml

VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(1 << 63), (1 << 64) - 1),
        st.text(st.characters(codec="utf-8")),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text("abc1y-", min_size=1), inner)
    ),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("off", False),
        ("y", True),
        ("N", False),
        ("'yes'", "yes"),
        ("010", 8),
        ("0o10", 8),
        ("0x1F", 31),
        ("0b11", 3),
        ("1_000", 1000),
        ("1:20", "1:20"),
        ("2024-01-01", "2024-01-01"),
        ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
        ("1e3", 1000),
        ("08", 8),
        ("5.", 5),
        ("1e400", "1e400"),
        ("0X1f", 31),
        (".5", 0.5),
        ("-1.5", -1.5),
        ("1.2.3", "1.2.3"),
        ("v1.34.0", "v1.34.0"),
        ("~", None),
        ("", None),
        ("null", None),
        ("<<", "<<"),
        ("=", "="),
        ("{1: a, true: b, ~x: c}", {"1": "a", "true": "b", "~x": "c"}),
        ("&a [1, 2]", [1, 2]),
        ("{a: &x {b: 1}, c: {<<: *x, d: 2}}", {"a": {"b": 1}, "c": {"b": 1, "d": 2}}),
    ],
)
def test_a_value_is_read(text: str, value: Any) -> None:
    read = yaml.load(text)
    assert read == value
    assert type(read) is type(value)


def test_empty_documents_do_not_count() -> None:
    assert yaml.load_all("---\na: 1\n---\n# nothing\n---\nb: 2\n") == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize(
    ("text", "line"), [("a: [", 2), ("a: b: c", 1), ("x: 1\n\ty: 2", 2), ("{[a]: 1}", 1)]
)
def test_an_error_names_file_and_line(text: str, line: int) -> None:
    with pytest.raises(yaml.YamlError) as refused:
        yaml.load(text, "cluster.yaml")
    assert str(refused.value).startswith(f"cluster.yaml: line {line}: ")


def test_two_documents_where_one_is_expected_are_an_error() -> None:
    with pytest.raises(yaml.YamlError, match="only one document"):
        yaml.load("a: 1\n---\nb: 2\n")


def test_a_few_aliases_do_not_become_gigabytes() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for level in range(1, 9):
        lines.append(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]")
    with pytest.raises(yaml.YamlError, match=r"bomb\.yaml: line \d: .* excessive aliasing"):
        yaml.load("\n".join(lines), "bomb.yaml")


def test_a_key_that_stands_twice_is_reported() -> None:
    duplicates: list[str] = []
    assert yaml.load("a: 1\nb: 2\na: 3\n", duplicates=duplicates) == {"a": 3, "b": 2}
    assert duplicates == ['line 3: key "a" already set in map']


def test_text_that_looks_like_another_type_is_quoted() -> None:
    document = {"a": "yes", "b": "1", "c": "2024-01-01", "d": "x\ny\n", "e": [{"f": ""}], "g": {}}
    assert yaml.dump(document) == (
        'a: "yes"\nb: "1"\nc: "2024-01-01"\nd: |\n  x\n  y\ne:\n- f: ""\ng: {}\n'
    )


RECORDED = Path(__file__).parents[1] / "data" / "yaml" / "scalars.jsonl"
"""Words as sigs.k8s.io/yaml v1.6.0 prints them as strings and as keys, and reads them unquoted."""


def test_scalars_are_those_of_upstream() -> None:
    cases = [json.loads(line) for line in RECORDED.read_text().splitlines()]
    assert len(cases) > 500
    wrong = []
    for word, as_value, as_key, read in cases:
        if yaml.dump({"k": word}) != as_value or yaml.dump({word: "v"}) != as_key:
            wrong.append(word)
        try:
            result = yaml.load(f"k: {word}\n")
        except yaml.YamlError:
            result = "ERR"
        if json.dumps(result) != json.dumps(read):
            wrong.append(f"{word} is read as {result}")
    assert wrong == []


@given(VALUES)
def test_printed_yaml_is_parsed_again(value: Any) -> None:
    assert yaml.load_all(yaml.dump_all([{"v": value}])) == [{"v": value}]


def test_a_document_has_a_hundred_tag_directives_at_most() -> None:
    """libyaml compares each with all before it, and nothing else runs meanwhile."""

    def document(count: int) -> str:
        return "\n".join(["", *(f"%TAG !t{at}! tag:x,2000:" for at in range(count)), "---", "a: b"])

    assert yaml.load_all(document(100)) == [{"a": "b"}]
    with pytest.raises(yaml.YamlError, match="more than 100 %TAG directives"):
        yaml.load_all(document(101), "x.yaml")
