"""MachineDeployments and MachinePools of a managed cluster."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.kube import Document
from kapy.kube.model import encode
from tests.topology.managed import (
    at,
    deployment,
    deployment_class,
    pool,
    pool_class,
    the_deployment,
    the_pool,
)

GATE = [{"conditionType": "G"}]
TAINT = [{"key": "k", "effect": "NoSchedule", "propagation": "Always"}]


@pytest.mark.parametrize(
    ("said", "of_class", "path", "expected"),
    [
        ({"minReadySeconds": 0}, {"minReadySeconds": 9}, "template.spec.minReadySeconds", 0),
        ({}, {"minReadySeconds": 9}, "template.spec.minReadySeconds", 9),
        ({"failureDomain": "f"}, {"failureDomain": "g"}, "template.spec.failureDomain", "f"),
        ({}, {"failureDomain": "g"}, "template.spec.failureDomain", "g"),
        ({"readinessGates": GATE}, {}, "template.spec.readinessGates", GATE),
        ({}, {"readinessGates": GATE}, "template.spec.readinessGates", GATE),
        ({"taints": TAINT}, {}, "template.spec.taints", TAINT),
        ({}, {"taints": TAINT}, "template.spec.taints", TAINT),
        (
            {"deletion": {"order": "Oldest"}},
            {"deletion": {"order": "Newest"}},
            "deletion.order",
            "Oldest",
        ),
        ({}, {"deletion": {"order": "Newest"}}, "deletion.order", "Newest"),
        (
            {"deletion": {"nodeDrainTimeoutSeconds": 0}},
            {"deletion": {"nodeDrainTimeoutSeconds": 5, "nodeDeletionTimeoutSeconds": 7}},
            "template.spec.deletion",
            {"nodeDrainTimeoutSeconds": 0, "nodeDeletionTimeoutSeconds": 7},
        ),
        (
            {"healthCheck": {"remediation": {"maxInFlight": 1}}},
            {"healthCheck": {"remediation": {"maxInFlight": "20%"}}},
            "remediation.maxInFlight",
            1,
        ),
        ({}, {"healthCheck": {"remediation": {"maxInFlight": 2}}}, "remediation.maxInFlight", 2),
        (
            {"rollout": {"after": "2030-01-01T00:00:00Z"}},
            {"rollout": {"strategy": {"type": "OnDelete"}}},
            "rollout",
            {"after": "2030-01-01T00:00:00Z"},
        ),
        ({}, {"rollout": {"strategy": {"type": "OnDelete"}}}, "rollout.strategy.type", "OnDelete"),
        ({"replicas": None}, {}, "replicas", None),
        ({"replicas": 0}, {}, "replicas", 0),
    ],
)
async def test_a_machine_deployment_takes_its_fields_from_the_topology_or_its_class(
    said: Document, of_class: Document, path: str, expected: Any
) -> None:
    result = await the_deployment(deployment(**said), deployment_class(**of_class))
    assert at(encode(result.spec), path) == expected


@pytest.mark.parametrize(
    ("said", "of_class", "path", "expected"),
    [
        ({"minReadySeconds": 1}, {"minReadySeconds": 9}, "template.spec.minReadySeconds", 1),
        ({}, {"minReadySeconds": 9}, "template.spec.minReadySeconds", 9),
        ({"failureDomains": ["f"]}, {"failureDomains": ["g"]}, "failureDomains", ["f"]),
        ({}, {"failureDomains": ["g"]}, "failureDomains", ["g"]),
        ({}, {"taints": TAINT}, "template.spec.taints", TAINT),
        (
            {"deletion": {"nodeDrainTimeoutSeconds": 3}},
            {"deletion": {"nodeVolumeDetachTimeoutSeconds": 5}},
            "template.spec.deletion",
            {"nodeDrainTimeoutSeconds": 3, "nodeVolumeDetachTimeoutSeconds": 5},
        ),
        ({"replicas": None}, {}, "replicas", None),
    ],
)
async def test_a_machine_pool_takes_its_fields_from_the_topology_or_its_class(
    said: Document, of_class: Document, path: str, expected: Any
) -> None:
    machine_pool = await the_pool(pool(**said), pool_class(**of_class))
    assert at(encode(machine_pool.spec), path) == expected
