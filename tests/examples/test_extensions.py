"""The extensions in `examples/extensions` do what their first line says."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path
from typing import Any

import msgspec
import pytest

from kapy.api.absent import read_with_zeros
from kapy.api.cluster_class import ClusterClass
from kapy.hooks import (
    BEFORE_CLUSTER_CREATE,
    BEFORE_CLUSTER_DELETE,
    BEFORE_CLUSTER_UPGRADE,
    DISCOVER_VARIABLES,
    GENERATE_PATCHES,
    VALIDATE_TOPOLOGY,
    BeforeClusterCreateRequest,
    BeforeClusterDeleteRequest,
    BeforeClusterUpgradeRequest,
    DiscoverVariablesRequest,
    Extension,
    GeneratePatchesRequest,
    ValidateTopologyRequest,
)
from kapy.kube import Document
from kapy.testing.extension import ask, check_deterministic, check_idempotent, check_rules

FOLDER = Path(__file__).parents[2] / "examples" / "extensions"


def example(name: str) -> Extension:
    extension: Extension = run_path(str(FOLDER / f"{name}.py"))["extension"]
    return extension


def cluster(replicas: int = 1, **metadata: Any) -> Document:
    workers = {"machineDeployments": [{"replicas": replicas}, {}]}
    topology = {"controlPlane": {"replicas": 3}, "workers": workers}
    return {"metadata": {"name": "herd", **metadata}, "spec": {"topology": topology}}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"machines": "14"}, ("Success", 0, "")),
        ({"machines": "13"}, ("Success", 60, "14 machines are wanted, 13 are free")),
        ({}, ("Failure", 0, 'settings.machines of the ExtensionConfig is "", not a number')),
    ],
)
async def test_the_quota_example_blocks_creation(
    settings: dict[str, str], expected: tuple[str, int, str]
) -> None:
    request = BeforeClusterCreateRequest(cluster=cluster(10), settings=settings)
    retry_response = await ask(example("quota_gate"), BEFORE_CLUSTER_CREATE, request, "machines")
    assert (
        retry_response.status,
        retry_response.retry_after_seconds,
        retry_response.message,
    ) == expected


@pytest.mark.parametrize(
    ("labels", "seconds", "message"),
    [
        ({}, 0, ""),
        (
            {"example.com/frozen": "fair"},
            300,
            "the upgrade to v1.35.0 waits until the label example.com/frozen (fair) is taken away",
        ),
    ],
)
async def test_the_change_freeze_example_blocks_upgrades(
    labels: dict[str, str], seconds: int, message: str
) -> None:
    request = BeforeClusterUpgradeRequest(
        cluster=cluster(labels=labels),
        from_kubernetes_version="v1.34.0",
        to_kubernetes_version="v1.35.0",
    )
    retry_response = await ask(example("change_freeze"), BEFORE_CLUSTER_UPGRADE, request, "freeze")
    assert (retry_response.retry_after_seconds, retry_response.message) == (seconds, message)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, ("Success", 5)),
        ({"example.com/backup": "done"}, ("Success", 0)),
        ({"example.com/backup": "failed"}, ("Failure", 0)),
    ],
)
async def test_the_backup_example_runs_before_deletion(
    said: dict[str, str], expected: tuple[str, int]
) -> None:
    request = BeforeClusterDeleteRequest(cluster=cluster(annotations=said))
    retry_response = await ask(
        example("backup_before_delete"), BEFORE_CLUSTER_DELETE, request, "backup"
    )
    assert (retry_response.status, retry_response.retry_after_seconds) == expected


TEMPLATE = {
    "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
    "kind": "DevMachineTemplate",
    "spec": {"template": {"spec": {}}},
}
HOLDER = {
    "apiVersion": "cluster.x-k8s.io/v1beta2",
    "kind": "MachineDeployment",
    "namespace": "default",
    "name": "md",
    "fieldPath": "spec.template.spec.infrastructureRef",
}
ITEM = {"uid": "1", "holderReference": HOLDER, "object": TEMPLATE}


async def test_the_registry_example_patches_templates() -> None:
    extension = example("registry_patches")
    document = {"variables": [{"name": "registry", "value": "r.example.com"}], "items": [ITEM]}
    request = msgspec.convert(document, GeneratePatchesRequest)
    response = await ask(extension, GENERATE_PATCHES, request, "registry-patches")
    (patch,) = [msgspec.json.decode(response_item.patch or b"") for response_item in response.items]
    annotations = {"example.com/registry": "r.example.com"}
    assert patch == {"spec": {"template": {"metadata": {"annotations": annotations}}}}
    await check_deterministic(extension, GENERATE_PATCHES, request, "registry-patches")
    await check_idempotent(extension, request, "registry-patches")


async def test_the_registry_example_validates_the_topology() -> None:
    request = msgspec.convert({"items": [ITEM]}, ValidateTopologyRequest)
    response = await ask(example("registry_patches"), VALIDATE_TOPOLOGY, request, "registry-check")
    assert response.message == "the machine template of md has no registry"


async def test_registry_variables_match_the_cluster_class() -> None:
    response = await ask(
        example("registry_patches"),
        DISCOVER_VARIABLES,
        DiscoverVariablesRequest(),
        "registry-variables",
    )
    spec = {"spec": {"variables": response.variables}}
    (variable,) = read_with_zeros(spec, ClusterClass).spec.variables
    assert (variable.name, variable.required) == ("registry", False)


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.py")))
async def test_every_example_keeps_the_rules(name: str) -> None:
    await check_rules(example(name))
