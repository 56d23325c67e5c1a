"""Addresses and their claims, in their older versions."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.api.conversion import DATA, convert
from kapy.kube import Document

GROUP = "ipam.cluster.x-k8s.io"
CLUSTER = "cluster.x-k8s.io/cluster-name"
NOTE = "conversion.cluster.x-k8s.io/cluster-name-label-set"
POOL = {"apiGroup": "ipam.example.com", "kind": "Pool", "name": "p"}


def claim(version: str, spec: Document, **metadata: Any) -> Document:
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "IPAddressClaim",
        "metadata": {"name": "one", **metadata},
        "spec": spec,
    }


def test_the_oldest_version_keeps_the_name_of_the_cluster_in_a_label() -> None:
    stored = claim("v1beta2", {"clusterName": "c", "poolRef": POOL})
    old = convert(stored, f"{GROUP}/v1alpha1")
    assert old["spec"] == {"poolRef": POOL}
    assert old["metadata"]["labels"] == {CLUSTER: "c"}
    assert old["metadata"]["annotations"][NOTE] == "false"
    assert convert(old, f"{GROUP}/v1beta2") == stored


@pytest.mark.parametrize("label", ["c", "d"])
def test_an_existing_label_is_kept(label: str) -> None:
    stored = claim("v1beta2", {"clusterName": "c", "poolRef": POOL}, labels={CLUSTER: label})
    old = convert(stored, f"{GROUP}/v1alpha1")
    assert old["metadata"]["labels"] == {CLUSTER: "c"}
    assert set(old["metadata"]["annotations"]) == {DATA}
    assert convert(old, f"{GROUP}/v1beta2")["metadata"]["labels"] == {CLUSTER: "c"}


def test_a_label_that_a_user_gave_names_the_cluster() -> None:
    old = claim("v1alpha1", {"poolRef": POOL}, labels={CLUSTER: "c"})
    stored = claim("v1beta2", {"clusterName": "c", "poolRef": POOL}, labels={CLUSTER: "c"})
    assert convert(old, f"{GROUP}/v1beta2") == stored


def test_an_absent_group_is_null_where_the_field_is_a_pointer() -> None:
    stored = claim("v1beta2", {"poolRef": {"kind": "Pool", "name": "p"}})
    old = convert(stored, f"{GROUP}/v1beta1")
    assert old["spec"]["poolRef"] == {"apiGroup": None, "kind": "Pool", "name": "p"}
    assert convert(old, f"{GROUP}/v1beta2") == stored
