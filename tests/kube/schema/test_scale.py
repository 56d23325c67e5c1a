"""Validation of objects with a scale subresource."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.kube.schema import scale_errors

SCALE = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}


@pytest.mark.parametrize(
    ("document", "errors"),
    [
        ({}, []),
        ({"spec": {"replicas": 3}, "status": {"replicas": 0, "selector": "a=b"}}, []),
        ({"spec": None}, []),
        (
            {"spec": {"replicas": -1}},
            [".spec.replicas: Invalid value: -1: should be a non-negative integer"],
        ),
        (
            {"spec": {"replicas": 1 << 31}},
            [
                ".spec.replicas: Invalid value: 2147483648: "
                "should be less than or equal to 2147483647"
            ],
        ),
        (
            {"spec": {"replicas": "3"}},
            [
                ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: 3 is of the "
                "type string, expected int64"
            ],
        ),
        (
            {"spec": "text"},
            [
                ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: text is of the "
                "type string, expected map[string]interface{}"
            ],
        ),
        (
            {"status": {"selector": 1}},
            [
                '.status.selector: Invalid value: "": .status.selector accessor error: 1 is of '
                "the type int64, expected string"
            ],
        ),
    ],
)
def test_the_paths_of_a_scale_must_hold_integers_and_texts(
    document: Any, errors: list[str]
) -> None:
    assert [str(error) for error in scale_errors(document, SCALE)] == errors
