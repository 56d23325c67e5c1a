"""Sets up machines as a platform wants them, and checks that they still are: one extension in the
place of the ten inline patches in `platform_patches.yaml`."""

from typing import Any

from kapy.hooks import (
    DISCOVER_VARIABLES,
    GENERATE_PATCHES,
    VALIDATE_TOPOLOGY,
    DiscoverVariablesRequest,
    DiscoverVariablesResponse,
    Extension,
    GeneratePatchesRequest,
    GeneratePatchesResponse,
    ValidateTopologyRequest,
    ValidateTopologyResponse,
)
from kapy.hooks.mutation import Template, Variables, patch_templates, templates

CONTROL_PLANE = "controlplane.cluster.x-k8s.io", "KubeadmControlPlaneTemplate"
WORKERS = "bootstrap.cluster.x-k8s.io", "KubeadmConfigTemplate"
TEXTS = {"type": "array", "items": {"type": "string"}}
SCHEMAS: dict[str, dict[str, Any]] = {
    "registry": {"type": "string", "default": "registry.example.com"},
    "verbosity": {"type": "integer", "minimum": 0, "maximum": 9, "default": 2},
    "apiServerNames": {**TEXTS, "default": ["localhost", "127.0.0.1"]},
    "maxPods": {"type": "integer", "minimum": 10, "maximum": 250, "default": 110},
    "bootCommands": {**TEXTS, "default": ["systemctl start time-sync"]},
    "proxy": {"type": "string", "default": ""},
}

extension = Extension()


@extension.handles(DISCOVER_VARIABLES, name="platform-variables")
async def variables(_: DiscoverVariablesRequest) -> DiscoverVariablesResponse:
    definitions = [
        {"name": name, "required": False, "schema": {"openAPIV3Schema": schema}}
        for name, schema in SCHEMAS.items()
    ]
    return DiscoverVariablesResponse(variables=definitions)


@extension.handles(GENERATE_PATCHES, name="platform-patches")
async def patches(request: GeneratePatchesRequest) -> GeneratePatchesResponse:
    return patch_templates(request, set_up)


def set_up(template: Template) -> None:
    if template.is_a(*CONTROL_PLANE):
        machine = template.spec.setdefault("kubeadmConfigSpec", {})
        set_up_components(machine.setdefault("clusterConfiguration", {}), template.variables)
        set_up_machine(machine, template.variables, "initConfiguration", "joinConfiguration")
    elif template.is_a(*WORKERS):
        set_up_machine(template.spec, template.variables, "joinConfiguration")


def set_up_components(configuration: dict[str, Any], values: Variables) -> None:
    configuration["imageRepository"] = values.require("registry", str)
    verbose = [{"name": "v", "value": str(values.require("verbosity", int))}]
    for component in ("apiServer", "controllerManager", "scheduler"):
        configuration.setdefault(component, {})["extraArgs"] = verbose
    configuration["apiServer"]["certSANs"] = values.require("apiServerNames", list[str])


def set_up_machine(machine: dict[str, Any], values: Variables, *nodes: str) -> None:
    for node in nodes:
        registration = machine.setdefault(node, {}).setdefault("nodeRegistration", {})
        arguments = registration.setdefault("kubeletExtraArgs", [])
        others = [argument for argument in arguments if argument["name"] != "max-pods"]
        limit = {"name": "max-pods", "value": str(values.require("maxPods", int))}
        registration["kubeletExtraArgs"] = [*others, limit]
    machine["preKubeadmCommands"] = values.require("bootCommands", list[str])
    if proxy := values.get("proxy", str, ""):
        path = "/etc/systemd/system.conf.d/proxy.conf"
        machine["files"] = [{"path": path, "content": f"DefaultEnvironment=HTTPS_PROXY={proxy}"}]


@extension.handles(VALIDATE_TOPOLOGY, name="platform-check")
async def check(request: ValidateTopologyRequest) -> ValidateTopologyResponse:
    """What other patches made of it since then."""
    for template in templates(request):
        if template.is_a(*CONTROL_PLANE):
            wanted = template.variables.require("registry", str)
            machine = template.spec.get("kubeadmConfigSpec", {})
            repository = machine.get("clusterConfiguration", {}).get("imageRepository")
            if repository != wanted:
                return ValidateTopologyResponse.refuse(
                    f"the control plane takes images from {repository}, and not from {wanted}"
                )
    return ValidateTopologyResponse()
