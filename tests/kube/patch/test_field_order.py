"""The order of fields in patched objects, and values as Go prints them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kapy.kube.go_literals import go_string, go_text
from kapy.kube.patch.field_order import apply_json_patch, apply_merge_patch

LIVE: dict[str, Any] = {
    "b": {"z": 1, "a": {"y": 1, "x": 2}},
    "a": [{"q": 1, "p": 2}],
    "c": {"n": 1, "m": {"l": 1, "k": 2}},
}


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ([], '{"a":[{"q":1,"p":2}],"b":{"z":1,"a":{"y":1,"x":2}},"c":{"n":1,"m":{"l":1,"k":2}}}'),
        (
            [{"op": "add", "path": "/b/m", "value": {"t": 1, "s": 2}}],
            '{"a":[{"q":1,"p":2}],"b":{"a":{"y":1,"x":2},"m":{"t":1,"s":2},"z":1},'
            '"c":{"n":1,"m":{"l":1,"k":2}}}',
        ),
        (
            [{"op": "test", "path": "/c", "value": {"m": {"k": 2, "l": 1}, "n": 1}}],
            '{"a":[{"q":1,"p":2}],"b":{"z":1,"a":{"y":1,"x":2}},"c":{"m":{"k":2,"l":1},"n":1}}',
        ),
        (
            [{"op": "copy", "from": "/b", "path": "/a/0/o"}, {"op": "remove", "path": "/c"}],
            '{"a":[{"o":{"z":1,"a":{"y":1,"x":2}},"p":2,"q":1}],"b":{"z":1,"a":{"y":1,"x":2}}}',
        ),
        ([{"op": "replace", "path": "", "value": {"y": 1, "x": {"w": 1, "v": 2}}}],
         '{"x":{"w":1,"v":2},"y":1}'),
    ],
)  # fmt: skip
def test_parts_read_by_a_json_patch_are_sorted(patch: Any, expected: str) -> None:
    assert json.dumps(apply_json_patch(LIVE, patch), separators=(",", ":")) == expected


def test_parts_read_by_a_merge_patch_are_sorted() -> None:
    patch = {"b": {"a": 7}, "new": {"t": [{"s": 1, "r": None, "q": 2}]}, "a": "x", "c": None}
    expected = '{"a":"x","b":{"a":7,"z":1},"new":{"t":[{"q":2,"s":1}]}}'
    assert json.dumps(apply_merge_patch(LIVE, patch), separators=(",", ":")) == expected


def test_values_are_printed_as_go_does() -> None:
    value = {"b": [1, True, None], "a": {"x": "y"}, "c": 1.5}
    assert go_text(value) == "map[a:map[x:y] b:[1 true <nil>] c:1.5]"
    printed = "[%!s(int64=1) %!s(bool=true) %!s(<nil>) x %!s(float64=1.5)]"
    assert go_string([1, True, None, "x", 1.5]) == printed
