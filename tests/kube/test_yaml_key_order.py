"""Keys come in the order in which Go's YAML writes them."""

from __future__ import annotations

import pytest

from kapy.kube.yaml import dump


@pytest.mark.parametrize(
    "keys",
    [
        ["a", "a-b", "ab"],
        ["a9", "a10"],
        ["a1", "a01", "a2"],
        ["10", "1a"],
        ["{{", "a"],
        ["_", "1", "a"],
        ["a.b/c", "ab"],
        ["a100", "a101"],
    ],
)
def test_keys_sort_by_number_and_letters_follow(keys: list[str]) -> None:
    text = dump({key: {"x": []} for key in reversed(keys)})
    assert [line.split(":")[0].strip("'\"") for line in text.splitlines()[::2]] == keys
