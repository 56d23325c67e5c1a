"""Patches and checks of templates, as authors write them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kapy.hooks import (
    GENERATE_PATCHES,
    VALIDATE_TOPOLOGY,
    Extension,
    GeneratePatchesRequest,
    GeneratePatchesResponse,
    ValidateTopologyRequest,
    ValidateTopologyResponse,
)
from kapy.hooks.mutation import Template, patch_templates, templates
from kapy.kube import Document
from kapy.testing.extension import ask, check_deterministic, check_idempotent

INFRA = "infrastructure.cluster.x-k8s.io"


def holder(kind: str = "MachineDeployment", path: str = "spec.template") -> Document:
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": kind,
        "namespace": "default",
        "name": "md",
        "fieldPath": path,
    }


def template(kind: str, **spec: Any) -> Document:
    return {
        "apiVersion": f"{INFRA}/v1beta2",
        "kind": kind,
        "spec": {"template": {"spec": spec}},
    }


def a_request(*variables: tuple[str, Any], own: tuple[tuple[str, Any], ...] = ()) -> Any:
    def listed(values: tuple[tuple[str, Any], ...]) -> list[Document]:
        return [{"name": name, "value": value} for name, value in values]

    machine = template("DevMachineTemplate", disks=["a"], labels={"old": "1"})
    return msgspec.convert(
        {
            "variables": listed(variables),
            "items": [
                {
                    "uid": "1",
                    "holderReference": holder(),
                    "object": machine,
                    "variables": listed(own),
                },
                {
                    "uid": "2",
                    "holderReference": holder("Cluster"),
                    "object": template("DevClusterTemplate"),
                },
            ],
        },
        GeneratePatchesRequest,
    )


@pytest.fixture
def extension() -> Extension:
    extension = Extension()

    @extension.handles(GENERATE_PATCHES, name="registry")
    async def registry(request: GeneratePatchesRequest) -> GeneratePatchesResponse:
        return patch_templates(request, mirror)

    @extension.handles(GENERATE_PATCHES, name="growing")
    async def growing(request: GeneratePatchesRequest) -> GeneratePatchesResponse:
        return patch_templates(
            request, lambda value: value.spec.setdefault("disks", []).append("b")
        )

    @extension.handles(VALIDATE_TOPOLOGY, name="check")
    async def check(request: ValidateTopologyRequest) -> ValidateTopologyResponse:
        bare = [item.holder.name for item in templates(request) if "registry" not in item.spec]
        if bare:
            return ValidateTopologyResponse.refuse(f"{', '.join(bare)} has no registry")
        return ValidateTopologyResponse()

    return extension


def mirror(value: Template) -> None:
    if value.is_a(INFRA, "DevMachineTemplate") and value.is_held_by("MachineDeployment"):
        value.spec["registry"] = value.variables.require("registry", str)
        value.spec["disks"] = [*value.variables.get("disks", list[str], []), "root"]
        value.spec["labels"] = {"class": value.variables.builtin.cluster.topology.class_ref.name}


BUILTIN = {"cluster": {"name": "c", "topology": {"classRef": {"name": "quick", "namespace": "n"}}}}


async def test_changes_of_a_function_become_the_patch(extension: Extension) -> None:
    request = a_request(
        ("registry", "all.example.com"),
        ("builtin", BUILTIN),
        own=(("registry", "mine.example.com"), ("builtin", {"machineDeployment": {"name": "md"}})),
    )
    response = await ask(extension, GENERATE_PATCHES, request, "registry")
    (item,) = response.items
    assert (item.uid, item.patch_type) == ("1", "JSONMergePatch")
    assert msgspec.json.decode(item.patch or b"") == {
        "spec": {
            "template": {
                "spec": {
                    "registry": "mine.example.com",
                    "disks": ["root"],
                    "labels": {"class": "quick", "old": None},
                }
            }
        }
    }
    await check_deterministic(extension, GENERATE_PATCHES, request, "registry")
    await check_idempotent(extension, request, "registry")


async def test_a_patch_that_grows_is_found(extension: Extension) -> None:
    with pytest.raises(AssertionError, match="growing changes 1 again"):
        await check_idempotent(extension, a_request(), "growing")


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ((), 'the variable "registry" is needed and has no value'),
        ((("registry", 5),), 'the variable "registry" cannot be used: Expected `str`, got `int`'),
        (
            (("registry", "r"), ("disks", [1])),
            'the variable "disks" cannot be used: Expected `str`, got `int` - at `$[0]`',
        ),
    ],
)
async def test_variables_have_types(
    extension: Extension, variables: tuple[tuple[str, Any], ...], sentence: str
) -> None:
    response = await ask(extension, GENERATE_PATCHES, a_request(*variables), "registry")
    assert (response.status, response.message) == ("Failure", sentence)


async def test_templates_can_be_read(extension: Extension) -> None:
    items = [{"holderReference": holder(), "object": template("DevMachineTemplate")}, None]
    request = msgspec.convert({"items": items}, ValidateTopologyRequest)
    response = await ask(extension, VALIDATE_TOPOLOGY, request, "check")
    assert (response.status, response.message) == ("Failure", "md has no registry")
