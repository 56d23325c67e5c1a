"""Sets of field paths, compared with plain sets of paths."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapy.kube.apply import fields as f
from kapy.kube.apply.types import ListType, Scalar, item_key

ELEMENTS = st.sampled_from(["f:a", "f:b", 'k:{"name":"a"}', 'v:"x"'])
PATHS = st.frozensets(st.lists(ELEMENTS, min_size=1, max_size=3).map(tuple), max_size=8)
Path = tuple[str, ...]


def fields_of(paths: frozenset[Path]) -> f.Fields:
    result: f.Fields = {}
    for path in sorted(paths):
        result = f.union(result, f.of_path(path))
    return result


def paths_of(fields: f.Fields, prefix: Path = ()) -> Iterator[Path]:
    for key, below in fields.items():
        if key == ".":
            continue
        if not below or "." in below:
            yield (*prefix, key)
        yield from paths_of(below, (*prefix, key))


@given(PATHS)
def test_a_field_set_contains_its_paths(paths: frozenset[Path]) -> None:
    fields = fields_of(paths)
    assert frozenset(paths_of(fields)) == paths
    assert all(f.contains(fields, path) for path in paths)
    assert not f.contains(fields, ("f:a", "f:b", "f:a", "f:a"))


@given(PATHS, PATHS)
def test_a_union_has_the_paths_of_both_sets(first: frozenset[Path], two: frozenset[Path]) -> None:
    assert frozenset(paths_of(f.union(fields_of(first), fields_of(two)))) == first | two


@given(PATHS, PATHS)
def test_a_difference_has_the_paths_of_the_first_set_only(
    first: frozenset[Path], two: frozenset[Path]
) -> None:
    left, right = fields_of(first), fields_of(two)
    copy_before = copy.deepcopy(left)
    result = f.difference(left, right)
    assert frozenset(paths_of(result)) == first - two
    assert (result is left) is not bool(first & two)
    assert left == copy_before


@given(PATHS, PATHS)
def test_an_intersection_has_the_common_paths(first: frozenset[Path], two: frozenset[Path]) -> None:
    assert frozenset(paths_of(f.intersection(fields_of(first), fields_of(two)))) == first & two


@given(PATHS, PATHS)
def test_excluding_a_path_excludes_its_descendants(
    first: frozenset[Path], two: frozenset[Path]
) -> None:
    expected = {path for path in first if not any(path[: len(out)] == out for out in two)}
    result = f.exclude(fields_of(first), fields_of(two))
    assert frozenset(paths_of(result or {})) == expected
    assert (result is None) is not bool(expected)


@given(PATHS)
def test_a_field_set_survives_a_round_trip(paths: frozenset[Path]) -> None:
    fields = fields_of(paths)
    assert f.decode(json.loads(json.dumps(fields))) == fields


@pytest.mark.parametrize("letter", ["<", ">", "&", "\u2028", "\u2029"])
def test_path_elements_have_the_escapes_of_go(letter: str) -> None:
    escaped = f"\\u{ord(letter):04x}"
    own = ListType(Scalar("string"), ("name",)), ListType(Scalar("string"), ())
    assert item_key(own[0], {"name": f"a{letter}"}) == f'k:{{"name":"a{escaped}"}}'
    assert item_key(own[1], f"a{letter}") == f'v:"a{escaped}"'
    # A client may send the letter itself.
    sent: f.Fields = {f'k:{{"name":"a{letter}"}}': {}, f'v:"a{letter}"': {}, f"f:a{letter}": {}}
    fields: f.Fields = {f'k:{{"name":"a{escaped}"}}': {}, f'v:"a{escaped}"': {}, f"f:a{letter}": {}}
    assert f.decode(sent) == fields


def test_paths_read_as_kubernetes_prints_them() -> None:
    fields = {
        "f:spec": {
            "f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:name": {}}},
            "f:tags": {'v:"a"': {}, "v:1": {}},
            "f:name": {},
        }
    }
    assert list(f.paths(fields)) == [
        ".spec.name",
        '.spec.ports[port=80,protocol="TCP"]',
        '.spec.ports[port=80,protocol="TCP"].name',
        '.spec.tags[="a"]',
        ".spec.tags[=1]",
    ]


@pytest.mark.parametrize("document", [[], {"f:a": 1}, {"nocolon": {}}, {"k:x": {}}, {"i:x": {}}])
def test_an_invalid_field_set_is_refused(document: Any) -> None:
    with pytest.raises(f.InvalidFields):
        f.decode(document)


def test_elements_of_later_kinds_are_left_out() -> None:
    assert f.decode({"x:spec": {}, "f:a": {".": {}}}) == {"f:a": {}}
