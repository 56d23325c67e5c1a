"""The control plane of a managed cluster."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.contract.fields import Version
from kapy.kube import Document
from tests.topology.managed import (
    Asked,
    at,
    blueprint,
    made,
    settled,
    the_plane,
    topology,
)

GATE = [{"conditionType": "G"}]
TAINT = [{"key": "k", "effect": "NoSchedule", "propagation": "Always"}]


TIMEOUTS = {"nodeDrainTimeoutSeconds": 90, "nodeDeletionTimeoutSeconds": 0}


@pytest.mark.parametrize(
    ("contract", "path", "expected"),
    [
        (Version.V1BETA2, "replicas", 3),
        (Version.V1BETA2, "version", "v1.34.0"),
        (Version.V1BETA2, "rollout.after", "2029-12-31T23:00:00Z"),
        (Version.V1BETA2, "machineTemplate.spec.readinessGates", GATE),
        (Version.V1BETA1, "machineTemplate.readinessGates", GATE),
        (Version.V1BETA2, "machineTemplate.spec.taints", TAINT),
        (Version.V1BETA1, "machineTemplate.taints", TAINT),
        (Version.V1BETA2, "machineTemplate.spec.deletion", TIMEOUTS),
        (Version.V1BETA1, "machineTemplate.nodeDrainTimeout", "1m30s"),
        (Version.V1BETA1, "machineTemplate.nodeDeletionTimeout", "0s"),
        (Version.V1BETA1, "machineTemplate.nodeVolumeDetachTimeout", None),
    ],
)
async def test_a_control_plane_is_written_by_its_contract(
    contract: Version, path: str, expected: Any
) -> None:
    plane = await the_plane(
        topology(
            controlPlane={
                "readinessGates": GATE,
                "rollout": {"after": "2030-01-01T00:00:00+01:00"},
                "deletion": {"nodeDrainTimeoutSeconds": 90},
            }
        ),
        {
            "spec": {
                "controlPlane": {
                    "taints": TAINT,
                    "deletion": {**TIMEOUTS, "nodeDrainTimeoutSeconds": 1},
                }
            }
        },
        contract=contract,
    )
    assert at(plane["spec"], path) == expected


async def test_fields_unset_in_the_topology_come_from_the_template() -> None:
    plane = await the_plane(
        topology(controlPlane=None),
        {"spec": {"controlPlane": {"machineInfrastructure": None}}},
        plane={"replicas": 5, "mine": {"is": "kept"}},
    )
    assert plane["spec"] == {"replicas": 5, "mine": {"is": "kept"}, "version": "v1.34.0"}


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        (None, "infra.io/v1"),
        (
            {"apiVersion": "infra.io/v9", "kind": "ThingMachineTemplate", "name": "old"},
            "infra.io/v9",
        ),
        ({"apiVersion": "infra.io/v9", "kind": "OtherTemplate", "name": "old"}, "infra.io/v1"),
        (
            {"apiVersion": "infra.com/v9", "kind": "ThingMachineTemplate", "name": "old"},
            "infra.io/v1",
        ),
    ],
)
async def test_a_version_raised_by_others_is_not_lowered(
    there: Document | None, expected: str
) -> None:
    first = settled(await made(contract=Version.V1BETA1))
    plane = first.control_plane.object
    assert plane is not None
    if there is None:
        first.control_plane.object = None
    else:
        machines = {**plane["spec"]["machineTemplate"], "infrastructureRef": there}
        spec = {**plane["spec"], "machineTemplate": machines}
        first.control_plane.object = {**plane, "spec": spec}
    again = await Asked(first).state(blueprint(first.cluster, contract=Version.V1BETA1))
    assert again.control_plane.object is not None
    ref = again.control_plane.object["spec"]["machineTemplate"]["infrastructureRef"]
    assert (ref["apiVersion"], ref["namespace"]) == (expected, "ns")
    assert ref["name"] == (there["name"] if there else ref["name"])
