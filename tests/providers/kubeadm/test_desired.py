"""The objects that the control plane creates: names, Machines, KubeadmConfigs."""

from __future__ import annotations

import pytest

from kapy.api.embedded import ContractVersionedObjectReference as Reference
from kapy.kube import Document
from kapy.kube.model import encode
from kapy.providers.kubeadm.controlplane.desired import (
    BadMachineName,
    desired_machines,
    feature_gates,
    kubeadm_config_spec,
    machine_name,
    new_kubeadm_config,
)
from tests.providers.kubeadm.building import control_plane

REFERENCE = Reference(kind="K", name="n", api_group="g")


def named(template: str) -> Document:
    return {"machineNaming": {"template": template}}


def test_the_same_slot_has_the_same_name() -> None:
    kcp = control_plane()
    name = machine_name(kcp, "c1", (1, "a"))
    assert name == machine_name(control_plane(), "c1", (1, "a"))
    assert name != machine_name(kcp, "c1", (1, "b"))
    assert name != machine_name(control_plane(uid="other"), "c1", (1, "a"))
    assert name.startswith("cp-")
    assert len(name) == len("cp-") + 5


def test_a_template_names_machines() -> None:
    kcp = control_plane(named("{{ .cluster.name }}-x-{{ .random }}"))
    assert machine_name(kcp, "c1", (1,)).startswith("c1-x-")


def test_a_long_name_keeps_its_suffix() -> None:
    kcp = control_plane(name="x" * 80)
    name = machine_name(kcp, "c1", (1,))
    assert len(name) == 63
    assert name != machine_name(kcp, "c1", (2,))


@pytest.mark.parametrize("template", ["fixed", "{{ .random }}{{ range }}"])
def test_a_template_that_gives_no_unique_name_is_refused(template: str) -> None:
    with pytest.raises(BadMachineName):
        machine_name(control_plane(named(template)), "c1", (1,))


def test_labels_of_a_control_plane_with_a_long_name_are_valid() -> None:
    labels = desired_machines(control_plane(name="x" * 80), "c1").labels
    assert len(labels["cluster.x-k8s.io/control-plane-name"]) <= 63


def test_labels_of_users_do_not_hide_required_ones() -> None:
    metadata = {"labels": {"cluster.x-k8s.io/cluster-name": "theirs", "team": "blue"}}
    template = {"metadata": metadata, "spec": {"infrastructureRef": encode(REFERENCE)}}
    labels = desired_machines(control_plane({"machineTemplate": template}), "c1").labels
    assert (labels["cluster.x-k8s.io/cluster-name"], labels["team"]) == ("c1", "blue")


def test_required_readiness_gates_precede_those_of_users() -> None:
    gates = [{"conditionType": "Mine"}, {"conditionType": "EtcdPodHealthy", "polarity": "Negative"}]
    spec = {"infrastructureRef": encode(REFERENCE), "readinessGates": gates}
    kcp = control_plane({"machineTemplate": {"spec": spec}})
    machine = desired_machines(kcp, "c1").new_machine(
        "m", "", version="v1.34.0", infrastructure=REFERENCE, config=REFERENCE
    )
    results = [
        (gate["conditionType"], "polarity" in gate) for gate in machine["spec"]["readinessGates"]
    ]
    assert results[-3:] == [
        ("EtcdPodHealthy", False),
        ("EtcdMemberHealthy", False),
        ("Mine", False),
    ]
    assert "failureDomain" not in machine["spec"]


@pytest.mark.parametrize(
    ("version", "gates"),
    [
        ("v1.30.9", {}),
        ("v1.31.0", {"ControlPlaneKubeletLocalMode": True}),
        ("v1.35.2", {"ControlPlaneKubeletLocalMode": True}),
        ("v1.36.0", {}),
    ],
)
def test_the_gate_of_local_kubelets_follows_the_version(
    version: str, gates: dict[str, bool]
) -> None:
    assert feature_gates({}, version) == gates
    chosen = {"ControlPlaneKubeletLocalMode": False}
    assert feature_gates(chosen, version) == chosen


def test_init_and_join_configurations_keep_their_fields() -> None:
    registration = {"nodeRegistration": {"name": "n"}}
    parts = {"initConfiguration": registration, "joinConfiguration": registration}
    kcp = control_plane({"kubeadmConfigSpec": parts})
    init = encode(kubeadm_config_spec(kcp, join=False))
    join = encode(kubeadm_config_spec(kcp, join=True))
    assert (init.get("initConfiguration"), init.get("joinConfiguration")) == (registration, None)
    assert join.get("initConfiguration") is None
    assert join["joinConfiguration"] == {**registration, "controlPlane": {}}


def test_the_owner_of_a_new_config_is_not_its_controller() -> None:
    config = new_kubeadm_config(control_plane(), "c1", "m", join=True)
    (owner,) = config["metadata"]["ownerReferences"]
    assert (owner["kind"], owner.get("controller")) == ("KubeadmControlPlane", None)
