"""Answers the three handlers of upstream's `clusterclass-in-memory.yaml`, which stays as it is.

Registered as `scale`, the name that the class asks for.
"""

from typing import Any

from kapy.hooks import (
    DISCOVER_VARIABLES,
    GENERATE_PATCHES,
    GENERATE_UPGRADE_PLAN,
    DiscoverVariablesRequest,
    DiscoverVariablesResponse,
    Extension,
    GeneratePatchesRequest,
    GeneratePatchesResponse,
    GenerateUpgradePlanRequest,
    GenerateUpgradePlanResponse,
    HookFailed,
)
from kapy.hooks.mutation import Template, patch_templates

extension = Extension()


def text(name: str, default: str, **more: Any) -> dict[str, Any]:
    schema = {"type": "string", "default": default, **more}
    return {"name": name, "required": False, "schema": {"openAPIV3Schema": schema}}


@extension.handles(DISCOVER_VARIABLES, name="discover-variables")
async def discover_variables(_: DiscoverVariablesRequest) -> DiscoverVariablesResponse:
    surge = text("kubeadmControlPlaneMaxSurge", "1", enum=["0", "1"])
    images = text("imageRepository", "registry.k8s.io", minLength=1)
    return DiscoverVariablesResponse(variables=[surge, images])


@extension.handles(GENERATE_PATCHES, name="generate-patches")
async def generate_patches(request: GeneratePatchesRequest) -> GeneratePatchesResponse:
    return patch_templates(request, set_up_control_plane)


def set_up_control_plane(template: Template) -> None:
    if not template.is_a("controlplane.cluster.x-k8s.io", "KubeadmControlPlaneTemplate"):
        return
    surge = int(template.variables.require("kubeadmControlPlaneMaxSurge", str))
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge}}
    template.spec["rollout"] = {"strategy": strategy}
    config = template.spec.setdefault("kubeadmConfigSpec", {}).setdefault(
        "clusterConfiguration", {}
    )
    config["imageRepository"] = template.variables.require("imageRepository", str)


@extension.handles(GENERATE_UPGRADE_PLAN, name="generate-upgrade-plan")
async def generate_upgrade_plan(request: GenerateUpgradePlanRequest) -> GenerateUpgradePlanResponse:
    """The first release of each minor version on the way, and the wanted one."""
    wanted, here = request.to_kubernetes_version, request.from_control_plane_kubernetes_version
    if wanted == here:  # workers follow
        return GenerateUpgradePlanResponse()
    between = [f"v1.{minor}.0" for minor in range(minor_of(here) + 1, minor_of(wanted))]
    return GenerateUpgradePlanResponse.through([*between, wanted])


def minor_of(version: str) -> int:
    match version.split("."):
        case ["v1", minor, *_] if minor.isdecimal():
            return int(minor)
    raise HookFailed(f'"{version}" is no version of Kubernetes 1')
