"""Cloning a provider's object from its template."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from kapy.contract import FieldProblem, Template, clone_template
from kapy.kube import Document
from kapy.kube.meta import OwnerReference


def template(inner: Any) -> Document:
    return {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
        "kind": "FooMachineTemplate",
        "metadata": {"name": "workers", "namespace": "default", "labels": {"not": "copied"}},
        "spec": {"template": inner},
    }


def test_a_clone_names_its_owner_and_template() -> None:
    metadata = {"labels": {"a": "b", "over": "x"}, "annotations": {"c": "d"}, "finalizers": ["f"]}
    source = template({"metadata": metadata, "spec": {"size": 3}})
    before = deepcopy(source)
    owner = OwnerReference(api_version="v1", kind="K", name="n", uid="u", controller=True)
    clone = clone_template(
        source, name="one", namespace="ns", cluster_name="c", owner=owner, labels={"over": "y"}
    )
    assert source == before
    assert clone == {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
        "kind": "FooMachine",
        "metadata": {
            "name": "one",
            "namespace": "ns",
            "labels": {"a": "b", "over": "y", "cluster.x-k8s.io/cluster-name": "c"},
            "annotations": {
                "c": "d",
                "cluster.x-k8s.io/cloned-from-name": "workers",
                "cluster.x-k8s.io/cloned-from-groupkind": (
                    "FooMachineTemplate.infrastructure.cluster.x-k8s.io"
                ),
            },
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u", "controller": True}
            ],
        },
        "spec": {"size": 3},
    }


def test_an_empty_template_makes_an_empty_object() -> None:
    clone = clone_template(template({}), name="one", namespace="ns", cluster_name="c")
    assert "spec" not in clone
    assert "ownerReferences" not in clone["metadata"]


def test_a_template_of_the_wrong_form_is_reported() -> None:
    with pytest.raises(FieldProblem) as caught:
        clone_template(template("text"), name="one", namespace="ns", cluster_name="c")
    assert str(caught.value) == (
        ".spec.template: is no object, but string in FooMachineTemplate default/workers"
    )


def test_a_template_tells_its_labels() -> None:
    view = Template(template({"metadata": {"labels": {"a": "b"}}}))
    assert view.metadata is not None
    assert view.metadata.labels == {"a": "b"}


@pytest.mark.parametrize("spec", [{}, {"template": {}}, {"template": None}, None])
def test_a_template_without_a_spec_makes_an_object_without_one(spec: Any) -> None:
    source = {**template({}), "spec": spec}
    document = clone_template(source, name="one", namespace="ns", cluster_name="c")
    assert document["kind"] == "FooMachine"
    assert document["metadata"]["name"] == "one"
    assert "spec" not in document
