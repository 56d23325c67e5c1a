"""MachineHealthChecks of a managed cluster."""

from __future__ import annotations

import pytest

from kapy.kube import Document
from kapy.kube.model import encode
from tests.topology.managed import (
    OWNER,
    deployment,
    deployment_class,
    made,
)

CHECKS = {"checks": {"nodeStartupTimeoutSeconds": 30}}
OTHER = {"remediation": {"triggerIf": {"unhealthyInRange": "[1-2]"}}}


@pytest.mark.parametrize(
    ("said", "of_class", "expected"),
    [
        ({}, {}, None),
        ({}, CHECKS, {"checks": {"nodeStartupTimeoutSeconds": 30}}),
        ({"enabled": False}, CHECKS, None),
        ({"enabled": True}, CHECKS, {"checks": {"nodeStartupTimeoutSeconds": 30}}),
        ({"enabled": True}, {}, None),
        (OTHER, CHECKS, {"checks": {"nodeStartupTimeoutSeconds": 600}, **OTHER}),
        ({"enabled": False, **OTHER}, CHECKS, None),
    ],
)
async def test_health_checks_come_from_the_topology_or_its_class(
    said: Document, of_class: Document, expected: Document | None
) -> None:
    change = deployment(healthCheck=said)
    change["spec"]["topology"]["controlPlane"] = {"healthCheck": said}
    klass = deployment_class(healthCheck=of_class)
    klass["spec"]["controlPlane"] = {"healthCheck": of_class}
    state = await made(change, klass)

    md = state.machine_deployments["md"]
    plane = state.control_plane
    assert plane.object is not None
    for check, name, labels in (
        (
            md.machine_health_check,
            md.object.metadata.name,
            {"topology.cluster.x-k8s.io/deployment-name": "md"},
        ),
        (
            plane.machine_health_check,
            plane.object["metadata"]["name"],
            {"cluster.x-k8s.io/control-plane": ""},
        ),
    ):
        if expected is None:
            assert check is None
            continue
        assert check is not None
        assert check.metadata.name == name
        assert encode(check)["metadata"]["ownerReferences"] == OWNER
        assert encode(check.spec) == {
            "clusterName": "c",
            "selector": {"matchLabels": {"topology.cluster.x-k8s.io/owned": "", **labels}},
            **expected,
        }


async def test_a_control_plane_without_machines_has_no_health_check() -> None:
    klass = {"spec": {"controlPlane": {"machineInfrastructure": None, "healthCheck": CHECKS}}}
    state = await made(None, klass)
    assert state.control_plane.machine_health_check is None
    assert state.control_plane.infrastructure_machine_template is None
