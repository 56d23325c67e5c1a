"""Tests of the decoding and encoding of our kinds."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kapy.api.cluster import Cluster
from kapy.api.dev_cluster import DevCluster
from kapy.api.dev_machine import DevMachine
from kapy.api.machine import Machine
from kapy.api.machine_status import MachineNodeReference
from kapy.kube import Document
from kapy.kube.meta import read, to_document

REF = {"apiGroup": "g.example.com", "kind": "Thing", "name": "one"}


def a_machine(**more: Any) -> Document:
    spec = {"clusterName": "c", "bootstrap": {"configRef": REF}, "infrastructureRef": REF}
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Machine",
        "metadata": {"name": "m", "namespace": "default"},
        "spec": spec,
        **more,
    }


@pytest.mark.parametrize(
    "status",
    [
        {"phase": "Running", "nodeRef": {"name": "n"}},
        {"initialization": {"infrastructureProvisioned": False}},
        {"conditions": [{"type": "Ready", "status": "True", "reason": "R", "message": ""}]},
    ],
)
def test_a_decoded_status_is_encoded_unchanged(status: Document) -> None:
    document = a_machine(status=status)
    assert to_document(read(document, Machine)) == document


def test_a_machine_without_status_can_be_asked_for_its_conditions() -> None:
    machine = read(a_machine(), Machine)
    assert machine.status.conditions == []
    assert machine.status.initialization.infrastructure_provisioned is None


def test_an_empty_status_and_empty_parts_stay_off_the_wire() -> None:
    machine = read(a_machine(status={"initialization": {}, "addresses": []}), Machine)
    assert to_document(machine) == a_machine()
    machine.status.node_ref = MachineNodeReference(name="n")
    assert to_document(machine)["status"] == {"nodeRef": {"name": "n"}}


def test_an_object_whose_emptiness_matters_is_written() -> None:
    document = {
        "apiVersion": DevCluster.RESOURCE.api_version,
        "kind": "DevCluster",
        "metadata": {"name": "c"},
        "spec": {"backend": {"inMemory": {}}},
    }
    assert to_document(read(document, DevCluster)) == document


def test_zero_and_false_are_not_absent() -> None:
    document = a_machine()
    document["spec"] = {**document["spec"], "minReadySeconds": 0}
    assert to_document(read(document, Machine))["spec"]["minReadySeconds"] == 0
    cluster = {
        "apiVersion": Cluster.RESOURCE.api_version,
        "kind": "Cluster",
        "metadata": {"name": "c"},
        "spec": {"paused": False},
    }
    assert to_document(read(cluster, Cluster)) == cluster


def test_empty_parts_of_list_members_stay_off_the_wire_too() -> None:
    domains = [{"name": "a", "attributes": {}}, {"name": "b", "controlPlane": True}]
    cluster = read(
        {"metadata": {"name": "c"}, "spec": {}, "status": {"failureDomains": domains}}, Cluster
    )
    assert to_document(cluster)["status"] == {
        "failureDomains": [{"name": "a"}, {"name": "b", "controlPlane": True}]
    }


def test_names_on_the_wire_are_upstreams() -> None:
    document = a_machine()
    document["spec"] = {**document["spec"], "providerID": "in-memory:///m"}
    machine = read(document, Machine)
    assert machine.spec.provider_id == "in-memory:///m"
    assert to_document(machine)["spec"]["providerID"] == "in-memory:///m"


def test_values_unknown_to_this_version_are_decoded() -> None:
    machine = read(a_machine(status={"phase": "Dreaming", "mood": "fine"}), Machine)
    assert machine.status.phase == "Dreaming"


def test_a_wrong_type_is_reported_with_its_path() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"\$\.status\.conditions"):
        read(a_machine(status={"conditions": "many"}), Machine)


def test_a_dev_machine_without_a_spec_can_be_read() -> None:
    machine = read({"metadata": {"name": "m"}}, DevMachine)
    assert machine.spec.backend.in_memory is None
