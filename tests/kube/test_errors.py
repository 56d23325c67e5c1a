"""Conversion of an API server's Status to errors of the client, and back."""

from __future__ import annotations

import pytest

from kapy.kube.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Invalid,
    NotFound,
    ServerError,
    TooManyRequests,
    error_of,
)
from kapy.kube.field_errors import FieldError, forbidden, invalid, not_supported, required


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (404, "NotFound", NotFound),
        (409, "AlreadyExists", AlreadyExists),
        (409, "Conflict", Conflict),
        (422, "Invalid", Invalid),
        (429, "TooManyRequests", TooManyRequests),
        (500, "InternalError", ServerError),
        (503, "ServiceUnavailable", ServerError),
    ],
)
def test_a_status_becomes_the_narrowest_error(
    code: int, reason: str, expected: type[ApiError]
) -> None:
    status = {"kind": "Status", "code": code, "reason": reason, "message": "no"}
    error = error_of(code, status)
    assert type(error) is expected
    assert error.status() == status


def test_a_single_cause_has_no_brackets() -> None:
    causes = [required("spec.name"), invalid("spec.size", -1, "must be positive")]
    value = Invalid.of("Widget", "example.com", "w", causes[:1])
    two = Invalid.of("Widget", "example.com", "w", causes)
    assert value.message == 'Widget.example.com "w" is invalid: spec.name: Required value'
    assert two.message == (
        'Widget.example.com "w" is invalid: [spec.name: Required value, '
        "spec.size: Invalid value: -1: must be positive]"
    )
    assert two.details == {
        "name": "w",
        "group": "example.com",
        "kind": "Widget",
        "causes": [
            {
                "reason": "FieldValueRequired",
                "message": "Required value",
                "field": "spec.name",
            },
            {
                "reason": "FieldValueInvalid",
                "message": "Invalid value: -1: must be positive",
                "field": "spec.size",
            },
        ],
    }


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (forbidden("spec.a", "field is immutable"), "spec.a: Forbidden: field is immutable"),
        (
            not_supported("spec.b", "x", ["b", "a"]),
            'spec.b: Unsupported value: "x": supported values: "a", "b"',
        ),
        (invalid("m", {"b": [1], "a": "ü"}, "no"), 'm: Invalid value: {"a":"ü","b":[1]}: no'),
    ],
)
def test_a_field_error_reads_as_kubernetes_writes_it(error: FieldError, sentence: str) -> None:
    assert str(error) == sentence
