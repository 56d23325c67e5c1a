"""String formats that the server checks."""

from __future__ import annotations

import pytest

from kapy.kube.schema import FieldSchema
from kapy.kube.schema.formats import format_of


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date", ["2020-02-29"], ["2021-02-29", "2020-1-2", "x"]),
        (
            "date-time",
            ["2020-01-02T03:04:05Z", "2020-01-02T03:04:05.123+02:00"],
            ["2020-01-02", "2020-01-02T03:04:05", "2020-13-02T03:04:05Z", "2020-01-02T25:00:00Z"],
        ),
        ("datetime", ["2020-01-02T03:04:05Z"], ["x"]),
        ("ipv4", ["1.2.3.4"], ["1.2.3", "::1", "1.2.3.256"]),
        ("ipv6", ["::1", "fd00::1:2"], ["1.2.3.4", "gg::"]),
        ("cidr", ["10.0.0.0/8", "fd00::/8"], ["10.0.0.0", "10.0.0.0/33", "10.0.0.0/255.0.0.0"]),
        ("mac", ["00:11:22:33:44:55", "00-11-22-33-44-55"], ["00-11", "x"]),
        ("uri", ["https://a.b/c?d", "/x", "urn:x:y", "*"], ["not a uri", "a"]),
        ("uuid", ["11111111-2222-4333-8444-555555555555"], ["1111", "X"]),
        (
            "hostname",
            ["a.b.dev", "a1", "é日本", "a$.dev", "a" * 63],
            ["-a", "a_b", "", "10.0.0.1", "a.dev.", "a" * 64, "日" * 22],
        ),
        ("byte", ["aGVsbG8="], ["***", "aGVsbG8", ""]),
        ("duration", ["1h30m", "5 minutes", "-3s"], ["soon"]),
        ("email", ["a@b.c", "A <a@b.c>"], ["a", "a @b"]),
        ("password", ["", "x"], []),
        ("hexcolor", ["#fff", "a1b2c3"], ["#ff"]),
    ],
)
def test_a_format_accepts_valid_values_only(name: str, good: list[str], bad: list[str]) -> None:
    check = format_of(name)
    assert check is not None
    assert [value for value in good if not check(value)] == []
    assert [value for value in bad if check(value)] == []


@pytest.mark.parametrize(
    ("schema", "got"),
    [
        ({"type": "string", "format": "nonsense"}, 'must be of type string: "integer"'),
        ({"type": "string", "format": "ipv4"}, 'must be of type ipv4: "int64"'),
        ({"type": "boolean", "format": "ipv4"}, 'must be of type boolean: "integer"'),
        ({"type": "object", "format": "int32"}, 'must be of type object: "integer"'),
    ],
)
def test_a_format_is_checked_only_for_its_type(schema: dict[str, str], got: str) -> None:
    (error,) = FieldSchema.compile(schema).shape_errors(7, "v")
    assert error.detail.endswith(got)


def test_an_unknown_format_accepts_everything() -> None:
    assert format_of("k8s-nonsense") is None
