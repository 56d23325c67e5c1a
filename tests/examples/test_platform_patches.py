"""One extension in the place of ten inline patches: both make the same of the same variables."""

from __future__ import annotations

from copy import deepcopy
from random import Random
from runpy import run_path
from typing import Any

import msgspec
import pytest
import yaml

from kapy._aio.clock import loop_clock
from kapy.api.cluster_class import ClusterClass
from kapy.api.kubeadm_config import KubeadmConfigTemplate
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.apps.all_in_one import management_plane
from kapy.conditions import is_true
from kapy.hooks import VALIDATE_TOPOLOGY, ValidateTopologyRequest
from kapy.kube import Document, Key
from kapy.testing.extension import InProcess, ask
from kapy.testing.story import Story
from tests.core.topology.topology_story import objects
from tests.examples.test_extensions import FOLDER, HOLDER, example
from tests.hooks.extension import config
from tests.stories.plane import own_kinds
from tests.stories.test_extensions import OPEN

SCHEMAS: dict[str, Document] = run_path(str(FOLDER / "platform_patches.py"))["SCHEMAS"]
INLINE: list[Document] = yaml.safe_load((FOLDER / "platform_patches.yaml").read_text())
EXTERNAL = {
    "name": "platform",
    "external": {
        "discoverVariablesExtension": "platform-variables.platform",
        "generatePatchesExtension": "platform-patches.platform",
        "validateTopologyExtension": "platform-check.platform",
    },
}
VALUES: list[dict[str, Any]] = [
    {},
    {
        "registry": "mirror.example.com",
        "verbosity": 5,
        "apiServerNames": ["herd.example.com"],
        "maxPods": 40,
        "bootCommands": ["true", "echo {{ moo }}"],
        "proxy": "http://proxy.example.com:3128",
    },
]


def clusters(patches: list[Document], class_variables: list[Document]) -> list[Document]:
    """The sample's class with these patches and variables, and a Cluster for each of VALUES."""
    results = deepcopy(objects())
    cluster = next(item for item in results if item["kind"] == "Cluster")
    results.remove(cluster)
    for document in results:
        if document["kind"] == "ClusterClass":
            document["spec"]["patches"] = patches
            document["spec"].pop("variables")
            if class_variables:
                document["spec"]["variables"] = class_variables
    for number, values in enumerate(VALUES):
        document = deepcopy(cluster)
        document["metadata"]["name"] = f"herd-{number}"
        variables = [{"name": name, "value": value} for name, value in values.items()]
        document["spec"]["topology"]["variables"] = variables
        document["spec"]["topology"]["workers"]["machineDeployments"][0]["replicas"] = 0
        results.append(document)
    return results


async def made(patches: list[Document], variables: list[Document]) -> list[Any]:
    """Return the bootstrap specs of the machines of every Cluster, as the patches make them."""
    post = InProcess(platform=example("platform_patches"))
    async with management_plane(OPEN, clock=loop_clock(), random=Random(0), post=post) as plane:
        story = Story(plane.client, own_kinds())
        *class_objects, document, other = clusters(patches, variables)
        await story.create([config("platform")])
        await story.create(class_objects)
        await story.until(
            ClusterClass,
            "meadow",
            lambda cluster_class: is_true(cluster_class.status.conditions, "VariablesReady"),
        )
        await story.create([document, other])
        await story.settle(2)
        templates = await plane.client.list(KubeadmConfigTemplate.RESOURCE, "default")
        result = []
        for number in range(len(VALUES)):
            name = Key("default", f"herd-{number}-control-plane")
            control_plane = await plane.client.get(KubeadmControlPlane.RESOURCE, name)
            (workers,) = [
                item
                for item in templates.items
                if item["metadata"]["name"].startswith(f"herd-{number}-")
            ]
            result.append([control_plane["spec"]["kubeadmConfigSpec"], workers["spec"]])
        return result


async def test_inline_and_external_patches_make_the_same_machines() -> None:
    variables = [
        {"name": name, "required": False, "schema": {"openAPIV3Schema": schema}}
        for name, schema in SCHEMAS.items()
    ]
    assert len(INLINE) == 10
    inline, external = await made(INLINE, variables), await made([EXTERNAL], [])
    assert external == inline
    assert external[0] != external[1]


@pytest.mark.parametrize(
    ("repository", "message"),
    [
        ("registry.example.com", ""),
        (
            "elsewhere",
            "the control plane takes images from elsewhere, and not from registry.example.com",
        ),
    ],
)
async def test_later_foreign_patches_are_found(repository: str, message: str) -> None:
    machine = {"clusterConfiguration": {"imageRepository": repository}}
    template = {
        "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2",
        "kind": "KubeadmControlPlaneTemplate",
        "spec": {"template": {"spec": {"kubeadmConfigSpec": machine}}},
    }
    document = {
        "variables": [{"name": "registry", "value": "registry.example.com"}],
        "items": [{"holderReference": HOLDER, "object": template}],
    }
    request = msgspec.convert(document, ValidateTopologyRequest)
    response = await ask(example("platform_patches"), VALIDATE_TOPOLOGY, request, "platform-check")
    assert response.message == message
