"""Reading a provider's object through its contract."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.api.embedded import (
    APIEndpoint,
    ContractVersionedObjectReference,
    FailureDomain,
    MachineAddress,
    StatusVersion,
)
from kapy.contract import (
    BootstrapConfig,
    ControlPlane,
    InfraCluster,
    InfraMachine,
    MissingField,
    Version,
    View,
    WrongType,
    fields_of,
)
from kapy.kube import Document

OLD, NEW = Version.V1BETA1, Version.V1BETA2


def at(path: str, value: Any) -> Document:
    document: Any = value
    for part in reversed(path.split(".")):
        document = {part: document}
    return {"metadata": {"name": "one"}, **document}


@pytest.mark.parametrize(
    ("view", "name", "path", "contract", "value", "expected"),
    [
        (InfraMachine, "provider_id", "spec.providerID", NEW, "x://1", "x://1"),
        (InfraMachine, "provisioned", "status.initialization.provisioned", NEW, True, True),
        (InfraMachine, "provisioned", "status.ready", OLD, True, True),
        (
            InfraMachine,
            "addresses",
            "status.addresses",
            NEW,
            [{"type": "InternalIP", "address": "10.0.0.1"}],
            [MachineAddress(type="InternalIP", address="10.0.0.1")],
        ),
        (
            InfraCluster,
            "control_plane_endpoint",
            "spec.controlPlaneEndpoint",
            NEW,
            {"host": "h", "port": 6443},
            APIEndpoint(host="h", port=6443),
        ),
        (
            InfraCluster,
            "failure_domains",
            "status.failureDomains",
            NEW,
            [{"name": "b", "controlPlane": True}, {"name": "a"}],
            [
                FailureDomain(name="a", control_plane=False),
                FailureDomain(name="b", control_plane=True),
            ],
        ),
        (
            InfraCluster,
            "failure_domains",
            "status.failureDomains",
            OLD,
            {"b": {"controlPlane": True}, "a": {"attributes": {"k": "v"}}},
            [
                FailureDomain(name="a", control_plane=False, attributes={"k": "v"}),
                FailureDomain(name="b", control_plane=True),
            ],
        ),
        (
            ControlPlane,
            "infrastructure_ref",
            "spec.machineTemplate.infrastructureRef",
            OLD,
            {"apiVersion": "infra.io/v1", "kind": "ThingTemplate", "name": "t", "namespace": "n"},
            ContractVersionedObjectReference(kind="ThingTemplate", name="t", api_group="infra.io"),
        ),
        (
            ControlPlane,
            "node_drain_timeout",
            "spec.machineTemplate.nodeDrainTimeout",
            OLD,
            "1m30s",
            90,
        ),
        (
            BootstrapConfig,
            "data_secret_created",
            "status.initialization.dataSecretCreated",
            NEW,
            True,
            True,
        ),
        (BootstrapConfig, "data_secret_created", "status.ready", OLD, False, False),
        (ControlPlane, "up_to_date_replicas", "status.upToDateReplicas", NEW, 3, 3),
        (ControlPlane, "up_to_date_replicas", "status.updatedReplicas", OLD, 3, 3),
        (ControlPlane, "initialized", "status.initialized", OLD, True, True),
    ],
)
def test_a_field_is_read_where_its_contract_says(
    view: type[View], name: str, path: str, contract: Version, value: Any, expected: Any
) -> None:
    infra = view(at(path, value), contract)
    assert getattr(infra, name) == expected
    assert fields_of(view)[name].path(contract) == path


def test_unset_fields_are_none_unless_required() -> None:
    machine = InfraMachine({"metadata": {"name": "one"}, "spec": {}})
    assert machine.provider_id is None
    with pytest.raises(MissingField, match=r"\.spec\.providerID: mandatory field is not set"):
        InfraMachine.provider_id.require(machine)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (at("spec", "text"), ".spec: expected an object, got string"),
        (at("spec.providerID", 7), ".spec.providerID: expected a string, got integer"),
    ],
)
def test_a_wrong_type_is_reported_with_its_path(document: Document, message: str) -> None:
    with pytest.raises(WrongType) as caught:
        _ = InfraMachine(document).provider_id
    assert str(caught.value) == message


@pytest.mark.parametrize("value", [{}, {"a": "text"}, [7], 7])
def test_failure_domains_of_the_wrong_form_are_reported(value: Any) -> None:
    with pytest.raises(WrongType):
        _ = InfraCluster(at("status.failureDomains", value)).failure_domains


def a_control_plane(status: Document, contract: Version = NEW) -> ControlPlane:
    spec = {"version": "v1.35.0", "replicas": 3}
    return ControlPlane({"metadata": {"name": "cp"}, "spec": spec, "status": status}, contract)


@pytest.mark.parametrize(
    ("status", "provisioning", "upgrading"),
    [
        ({}, True, False),
        ({"version": "v1.35.0"}, False, False),
        ({"version": "v1.34.0"}, False, True),
        ({"versions": [{"version": "v1.34.0"}, {"version": "v1.35.0"}]}, False, True),
        ({"versions": [{"version": "v1.35.0", "replicas": 3}]}, False, False),
    ],
)
def test_a_control_plane_is_provisioning_or_upgrading(
    status: Document, *, provisioning: bool, upgrading: bool
) -> None:
    plane = a_control_plane(status)
    assert (plane.is_provisioning, plane.is_upgrading) == (provisioning, upgrading)


def test_a_control_plane_scales_until_all_counts_are_equal() -> None:
    counts = {"replicas": 3, "readyReplicas": 3, "upToDateReplicas": 3}
    assert a_control_plane(counts).is_scaling
    assert not a_control_plane({**counts, "availableReplicas": 3}).is_scaling
    old = {"replicas": 3, "readyReplicas": 3, "updatedReplicas": 3}
    assert not a_control_plane(old, OLD).is_scaling
    assert a_control_plane({**old, "unavailableReplicas": 1}, OLD).is_scaling


def test_a_version_that_is_none_breaks_the_contract() -> None:
    with pytest.raises(WrongType, match="newest"):
        _ = a_control_plane({"version": "newest"}).is_upgrading


def test_versions_are_counted() -> None:
    counts = [("v1.34.0", 1), ("v1.35.0", 2)]
    status = [{"version": version, "replicas": number} for version, number in counts]
    plane = a_control_plane({"versions": status})
    assert plane.status_versions == [
        StatusVersion(version=version, replicas=number) for version, number in counts
    ]
    assert plane.current_version == "v1.34.0"
