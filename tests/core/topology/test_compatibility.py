"""Tests of the compatibility check between a current object and the desired object."""

from __future__ import annotations

import pytest

from kapy.core.topology.errors import CannotReconcile
from kapy.core.topology.planning import check_compatible
from kapy.kube import Document


def herd(
    kind: str = "Herd", group: str = "a.io", version: str = "v1", name: str = "one", ns: str = "ns"
) -> Document:
    metadata = {"name": name, "namespace": ns}
    return {"apiVersion": f"{group}/{version}", "kind": kind, "metadata": metadata}


def changed(was: str, is_: str) -> str:
    return f'of Herd.a.io/one cannot be changed from "{was}" to "{is_}"'


@pytest.mark.parametrize(
    ("desired", "message"),
    [
        (herd(version="v2"), ""),
        (herd(name="two"), ""),
        (herd("Flock"), "metadata.kind: Forbidden: apiVersion.kind " + changed("Herd", "Flock")),
        (
            herd(group="b.io"),
            "metadata.apiVersion: Forbidden: apiVersion.group " + changed("a.io", "b.io"),
        ),
        (
            herd(ns="other"),
            "metadata.namespace: Forbidden: metadata.namespace " + changed("ns", "other"),
        ),
    ],
)
def test_references_in_use_keep_kind_and_namespace(desired: Document, message: str) -> None:
    if not message:
        check_compatible(herd(), desired)
        return
    with pytest.raises(CannotReconcile) as caught:
        check_compatible(herd(), desired)
    assert str(caught.value).startswith(message)


def test_an_object_keeps_its_name_and_a_bootstrap_template_may_be_of_another_kind() -> None:
    with pytest.raises(CannotReconcile, match='from "one" to "two"'):
        check_compatible(herd(), herd(name="two"), strictly=True)
    check_compatible(herd(), herd("Flock", name="two"), any_kind=True)
    with pytest.raises(CannotReconcile, match="same namespace as the Cluster"):
        check_compatible(herd(), herd("Flock", ns="other"), any_kind=True)
