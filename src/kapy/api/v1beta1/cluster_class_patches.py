"""The patches of a ClusterClass, as v1beta1 had them."""

from typing import Annotated, Any

from msgspec import field

from kapy.api.v1beta1.model import OldModel
from kapy.kube.model import rules


class ClassNames(OldModel):
    names: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=256)]],
        rules(max_items=100),
    ] = field(default_factory=list)


class PatchSelectorMatch(OldModel):
    control_plane: bool = False
    infrastructure_cluster: bool = False
    machine_deployment_class: ClassNames | None = None
    machine_pool_class: ClassNames | None = None


class PatchSelector(OldModel):
    api_version: Annotated[str, rules(min_length=1, max_length=512)]
    kind: Annotated[str, rules(min_length=1, max_length=256)]
    match_resources: PatchSelectorMatch


class JSONPatchValue(OldModel):
    variable: Annotated[
        str | None,
        rules(min_length=1, max_length=256),
    ] = None
    template: Annotated[
        str | None,
        rules(min_length=1, max_length=10240),
    ] = None


class JSONPatch(OldModel):
    op: Annotated[str, rules(enum=["add", "replace", "remove"])]
    path: Annotated[
        str,
        rules(min_length=1, max_length=512),
    ]
    value: Any = None
    value_from: JSONPatchValue | None = None


class PatchDefinition(OldModel):
    selector: PatchSelector
    json_patches: Annotated[list[JSONPatch], rules(max_items=100)]


class ExternalPatchDefinition(OldModel):
    generate_extension: Annotated[
        str | None,
        rules(
            same_as="ExternalPatchDefinition.generatePatchesExtension", min_length=1, max_length=512
        ),
    ] = None
    validate_extension: Annotated[
        str | None,
        rules(
            same_as="ExternalPatchDefinition.validateTopologyExtension",
            min_length=1,
            max_length=512,
        ),
    ] = None
    discover_variables_extension: Annotated[
        str | None,
        rules(min_length=1, max_length=512),
    ] = None
    settings: dict[str, str] = field(default_factory=dict)


class ClusterClassPatch(OldModel):
    name: Annotated[str, rules(min_length=1, max_length=256)]
    description: Annotated[str, rules(min_length=1, max_length=1024)] = ""
    enabled_if: Annotated[
        str | None,
        rules(
            min_length=1,
            max_length=256,
        ),
    ] = None
    definitions: Annotated[list[PatchDefinition], rules(max_items=100)] = field(
        default_factory=list
    )
    external: ExternalPatchDefinition | None = None
