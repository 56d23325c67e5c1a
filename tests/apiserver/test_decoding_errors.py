"""Tests of decoding errors, which name the same value in the same words as kube-apiserver."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.apiserver.resources.first_decoding_error import first_decoding_error
from kapy.apiserver.resources.from_unstructured import from_unstructured
from kapy.apiserver.resources.structs import WrongType


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"reason": 1, "type": 2}, "number into Go struct field Event.reason of type string"),
        ({"reason": 1, "eventTime": {}}, "object into Go struct field Event.eventTime of type"),
        ({"reason": 1, "series": {"lastObservedTime": "x"}}, 'parsing time "x"'),
    ],
)
def test_an_error_of_a_custom_unmarshaller_is_reported_first(document: Any, message: str) -> None:
    assert message in str(first_decoding_error(document, "core.v1.Event"))
    assert first_decoding_error({"reason": "x"}, "core.v1.Event") is None


def test_a_struct_within_a_struct_is_named() -> None:
    volume = {"volumes": [{"name": "v", "emptyDir": []}]}
    message = "Go struct field Volume.volumes.VolumeSource.emptyDir of type v1.EmptyDirVolumeSource"
    assert message in str(first_decoding_error(volume, "core.v1.PodSpec"))


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"metadata": "x"}, "cannot restore struct from: string"),
        ({"data": []}, "cannot restore map from slice"),
        ({"metadata": {"finalizers": {}}}, "cannot restore slice from map"),
        ({"kind": 1}, "cannot convert int64 to string"),
        ({"kind": True}, "unrecognized type: string"),
        ({"immutable": "x"}, "unrecognized type: bool"),
        ({"metadata": {"generation": 1.5}}, "cannot convert float64 to int64"),
        ({"metadata": {"generation": "1"}}, "unrecognized type: int64"),
        ({"binaryData": {"a": "!"}}, "error decoding from json: illegal base64 data"),
        ({"binaryData": {"a": ["x"]}}, "unrecognized type: uint8"),
        ({"metadata": {"creationTimestamp": 1}}, "number into Go value of type string"),
    ],
)
def test_a_document_that_is_not_an_object_is_reported_without_json(
    document: Any, message: str
) -> None:
    with pytest.raises(WrongType) as caught:
        from_unstructured(document, "core.v1.ConfigMap")
    assert message in str(caught.value)


def test_numbers_are_cut_as_go_cuts_them() -> None:
    result = from_unstructured(
        {"spec": {"replicas": 1 << 33, "minReadySeconds": 2.0}}, "apps.v1.Deployment"
    )
    assert result == {"spec": {"replicas": 0, "minReadySeconds": 2}}
