"""The public functions, as a script uses them."""

from __future__ import annotations

import pytest

import kapy.api
from kapy.api import ConversionError, UnknownKind, convert, default, validate
from kapy.kube import Document
from kapy.kube.names import GroupKind


def machine(api: str = "v1beta2", /, **spec: object) -> Document:
    reference = (
        {"apiGroup": "infrastructure.cluster.x-k8s.io"}
        if api == "v1beta2"
        else {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1"}
    )
    named = {**reference, "kind": "DevMachine", "name": "m"}
    return {
        "apiVersion": f"cluster.x-k8s.io/{api}",
        "kind": "Machine",
        "metadata": {"name": "m", "namespace": "default"},
        "spec": {
            "clusterName": "c",
            "bootstrap": {"dataSecretName": "boot"},
            "infrastructureRef": named,
            **spec,
        },
    }


def as_v1beta2(kind: GroupKind) -> str:
    return f"{kind.group}/v1beta2"


def test_a_valid_object_gets_its_defaults() -> None:
    document = machine(version="1.34.0")
    filled = default(document)
    assert filled["spec"]["version"] == "v1.34.0"
    assert document["spec"]["version"] == "1.34.0"
    assert default(filled) is filled
    assert validate(filled, schema=True) == []


def test_an_object_of_an_older_version_keeps_its_version() -> None:
    filled = default(machine("v1beta1", version="1.34.0"), reference_version=as_v1beta2)
    assert filled["apiVersion"] == "cluster.x-k8s.io/v1beta1"
    assert filled["spec"]["version"] == "v1.34.0"
    assert filled["spec"]["nodeDeletionTimeout"] == "10s"


def test_all_errors_are_reported_with_their_fields() -> None:
    wrong = machine(version="v1.34", minReadySeconds=-1, clusterName="")
    assert {field_error.field for field_error in validate(wrong, schema=True)} == {
        "spec.minReadySeconds",
        "spec.clusterName",
    }
    assert [field_error.field for field_error in validate(machine(version="v1.34"))] == [
        "spec.version"
    ]


def test_a_value_of_another_type_is_an_error_of_its_field() -> None:
    (error,) = validate(machine(version=3))
    assert error.field == "spec.version"


def test_an_object_of_another_kind_is_refused_by_name() -> None:
    with pytest.raises(UnknownKind, match="apps/v1 Deployment"):
        validate({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}})


def test_an_unknown_version_is_an_error_that_lists_the_served_ones() -> None:
    with pytest.raises(ConversionError, match=r"cluster.x-k8s.io/v1beta1, cluster.x-k8s.io/v1beta"):
        convert(machine(), "cluster.x-k8s.io/v1alpha4")


def test_a_reference_of_an_unknown_version_is_named() -> None:
    with pytest.raises(ConversionError, match=r"Machine default/m .*spec.infrastructureRef"):
        convert(machine(), "cluster.x-k8s.io/v1beta1")


def test_a_broken_object_is_refused_with_object_and_field() -> None:
    broken = machine("v1beta1", nodeDrainTimeout="ten")
    with pytest.raises(ConversionError, match=r"Machine default/m .*spec.nodeDrainTimeout"):
        convert(broken, "cluster.x-k8s.io/v1beta2")


def test_the_package_exports_nothing_else() -> None:
    with pytest.raises(AttributeError):
        kapy.api.anything  # noqa: B018
