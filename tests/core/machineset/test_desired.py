"""The Machines that a MachineSet wants."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.api.machine import Machine
from kapy.api.machine_set import MachineSet
from kapy.api.names import Label
from kapy.core.machineset.desired import BadNaming, machine_name, new_machine, update_machine
from kapy.kube import Document
from kapy.kube.meta import read

TEMPLATE = {"apiGroup": "x.example.com", "kind": "ThingTemplate", "name": "t"}
THING = {"apiGroup": "x.example.com", "kind": "Thing", "name": "m"}


def machine_set(naming: str = "", **spec: Any) -> MachineSet:
    template: Document = {
        "metadata": {"labels": {"pool": "a"}, "annotations": {"note": "n"}},
        "spec": {
            "clusterName": "c",
            "version": "v1.35.0",
            "bootstrap": {"configRef": TEMPLATE},
            "infrastructureRef": TEMPLATE,
            "minReadySeconds": 5,
            **spec,
        },
    }
    labels = {Label.DEPLOYMENT_NAME: "md"}
    return read(
        {
            "metadata": {"name": "ms", "namespace": "ns", "uid": "u", "labels": labels},
            "spec": {
                "clusterName": "c",
                "selector": {},
                "template": template,
                **({"machineNaming": {"template": naming}} if naming else {}),
            },
        },
        MachineSet,
    )


def test_a_name_is_the_same_for_the_same_slot() -> None:
    value = machine_set()
    assert machine_name(value, 1).startswith("ms-")
    assert machine_name(value, 1) == machine_name(value, 1)
    assert machine_name(value, 1) != machine_name(value, 2)


def test_names_follow_the_template_and_fit() -> None:
    value = machine_set("{{.cluster.name}}-{{ .random }}-x")
    name = machine_name(value, 1)
    assert name.startswith("c-")
    assert name.endswith("-x")
    assert len(machine_name(machine_set("{{ .random }}" + "y" * 90), 1)) == 63


@pytest.mark.parametrize(
    "template",
    ["{{ .machineSet.name }}", "{{ .random }}-{{ .node.name }}", "{{ upper .random }}"],
)
def test_templates_that_cannot_be_used_are_refused(template: str) -> None:
    with pytest.raises(BadNaming):
        machine_name(machine_set(template), 1)


def test_a_new_machine_has_all_of_the_template() -> None:
    intent = new_machine(machine_set(), "m", bootstrap=THING, infrastructure=THING)
    assert intent["metadata"]["labels"] == {
        "pool": "a",
        Label.SET_NAME: "ms",
        Label.DEPLOYMENT_NAME: "md",
    }
    assert intent["metadata"]["annotations"] == {"note": "n"}
    assert intent["spec"] == {
        "clusterName": "c",
        "version": "v1.35.0",
        "minReadySeconds": 5,
        "bootstrap": {"configRef": THING},
        "infrastructureRef": THING,
    }
    (owner,) = intent["metadata"]["ownerReferences"]
    assert owner["controller"]
    assert owner["blockOwnerDeletion"]


def test_an_existing_machine_keeps_fields_that_need_a_rollout() -> None:
    spec = {
        "clusterName": "c",
        "version": "v1.34.0",
        "bootstrap": {"configRef": THING, "dataSecretName": "secret"},
        "infrastructureRef": THING,
        "failureDomain": "fd",
    }
    metadata = {"name": "m", "uid": "mu", "finalizers": ["theirs"]}
    machine = read({"metadata": metadata, "spec": spec}, Machine)
    intent = update_machine(machine_set(), machine)
    assert intent["spec"] == {
        "clusterName": "c",
        "version": "v1.34.0",
        "failureDomain": "fd",
        "minReadySeconds": 5,
        "bootstrap": {"configRef": THING},
        "infrastructureRef": THING,
    }
    assert intent["metadata"]["uid"] == "mu"
    assert intent["metadata"]["finalizers"] == ["theirs", "machine.cluster.x-k8s.io"]
