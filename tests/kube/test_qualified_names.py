"""Keys and values of labels, and names: good ones, and what is said about the others."""

from __future__ import annotations

import pytest

from kapy.kube.qualified_names import (
    dns_label_errors,
    dns_subdomain_errors,
    label_value_errors,
    qualified_name_errors,
)


@pytest.mark.parametrize("key", ["a", "a.b-c_D9", "x.dev/a", "a-1.b/C", "x" * 63])
def test_a_good_key_has_no_errors(key: str) -> None:
    assert qualified_name_errors(key) == []


@pytest.mark.parametrize(
    ("key", "starts"),
    [
        ("", ["name part must be non-empty", "name part must consist of"]),
        ("a b", ["name part must consist of"]),
        ("/a", ["prefix part must be non-empty"]),
        ("x.dev/", ["name part must be non-empty", "name part must consist of"]),
        ("Foo.dev/a", ["prefix part a lowercase RFC 1123 subdomain must consist of"]),
        ("a/b/c", ["a valid label key must consist of"]),
        ("x" * 64, ["name part must be no more than 63 bytes"]),
        ("x" * 254 + "/a", ["prefix part must be no more than 253 bytes"]),
        ("-a", ["name part must consist of"]),
    ],
)
def test_all_errors_of_a_key_are_reported(key: str, starts: list[str]) -> None:
    errors = qualified_name_errors(key)
    assert len(errors) == len(starts)
    assert all(error.startswith(start) for error, start in zip(errors, starts, strict=True))


@pytest.mark.parametrize(("value", "count"), [("", 0), ("a.B-9", 0), ("a b", 1), ("é" * 32, 2)])
def test_a_value_is_checked(value: str, count: int) -> None:
    assert len(label_value_errors(value)) == count


@pytest.mark.parametrize(
    ("name", "label", "subdomain"),
    [("a-1", True, True), ("a.b", False, True), ("A", False, False), ("a\n", False, False)],
)
def test_a_name_is_checked(name: str, label: bool, subdomain: bool) -> None:
    assert (not dns_label_errors(name)) is label
    assert (not dns_subdomain_errors(name)) is subdomain
