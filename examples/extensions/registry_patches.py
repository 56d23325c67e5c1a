"""Sets the registry that machines take images from, in all machine templates, and checks it."""

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
from kapy.hooks.mutation import Template, patch_templates, templates

GROUP = "infrastructure.cluster.x-k8s.io"
KIND = "DevMachineTemplate"
ANNOTATION = "example.com/registry"
VARIABLE = {
    "name": "registry",
    "required": False,
    "schema": {
        "openAPIV3Schema": {"type": "string", "default": "registry.example.com", "minLength": 1}
    },
}

extension = Extension()


@extension.handles(DISCOVER_VARIABLES, name="registry-variables")
async def variables(_: DiscoverVariablesRequest) -> DiscoverVariablesResponse:
    return DiscoverVariablesResponse(variables=[VARIABLE])


@extension.handles(GENERATE_PATCHES, name="registry-patches")
async def patches(request: GeneratePatchesRequest) -> GeneratePatchesResponse:
    return patch_templates(request, set_registry)


def set_registry(template: Template) -> None:
    if template.is_a(GROUP, KIND):
        metadata = template.object["spec"]["template"].setdefault("metadata", {})
        annotations = metadata.setdefault("annotations", {})
        annotations[ANNOTATION] = template.variables.require("registry", str)


@extension.handles(VALIDATE_TOPOLOGY, name="registry-check")
async def check(request: ValidateTopologyRequest) -> ValidateTopologyResponse:
    for template in templates(request):
        metadata = template.object.get("spec", {}).get("template", {}).get("metadata", {})
        if template.is_a(GROUP, KIND) and ANNOTATION not in metadata.get("annotations", {}):
            return ValidateTopologyResponse.refuse(
                f"the machine template of {template.holder.name} has no registry"
            )
    return ValidateTopologyResponse()
