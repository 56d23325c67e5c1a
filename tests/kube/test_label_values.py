"""Label values for names that no label can hold."""

from __future__ import annotations

import pytest

from kapy.kube.qualified_names import label_value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("", ""),
        ("abc", "abc"),
        ("a" * 63, "a" * 63),
        ("-a", "hash_ZM2IGw_z"),
        ("a-", "hash_ACSMkw_z"),
        ("a/b", "hash_Oo51wQ_z"),
    ],
)
def test_a_name_is_kept_or_hashed(name: str, value: str) -> None:
    assert label_value(name) == value
