"""The patches of a ClusterClass, as v1beta1 had them."""

from typing import Annotated, Any

from msgspec import field

from kapy.api.v1beta1.model import OldModel
from kapy.kube.model import rules


class ClassNames(OldModel):
    """Names classes of worker machines."""

    names: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=256)]],
        rules("The classes' names; a `*` at an end stands for anything.", max_items=100),
    ] = field(default_factory=list)


class PatchSelectorMatch(OldModel):
    """Which uses of a template are changed."""

    control_plane: Annotated[bool, rules("Those for the control plane and its machines.")] = False
    infrastructure_cluster: Annotated[bool, rules("That for the cluster's infrastructure.")] = False
    machine_deployment_class: Annotated[
        ClassNames | None, rules("Those of these classes of MachineDeployments.")
    ] = None
    machine_pool_class: Annotated[
        ClassNames | None, rules("Those of these classes of MachinePools.")
    ] = None


class PatchSelector(OldModel):
    """Which templates are changed."""

    api_version: Annotated[
        str, rules("The API group and version of the templates.", min_length=1, max_length=512)
    ]
    kind: Annotated[str, rules("The templates' kind.", min_length=1, max_length=256)]
    match_resources: Annotated[PatchSelectorMatch, rules("Which uses of them are changed.")]


class JSONPatchValue(OldModel):
    """Where the value of a change comes from."""

    variable: Annotated[
        str | None,
        rules("A variable, or a part of one, as in size.cpu.", min_length=1, max_length=256),
    ] = None
    template: Annotated[
        str | None,
        rules("A Go template over the variables that makes it.", min_length=1, max_length=10240),
    ] = None


class JSONPatch(OldModel):
    """One change (RFC 6902)."""

    op: Annotated[str, rules("What is done.", enum=["add", "replace", "remove"])]
    path: Annotated[
        str,
        rules("Where, below /spec, as in /spec/template/spec.", min_length=1, max_length=512),
    ]
    value: Annotated[Any, rules("The value to put there.")] = None
    value_from: Annotated[
        JSONPatchValue | None, rules("Where the value to put there comes from.")
    ] = None


class PatchDefinition(OldModel):
    """Changes of some templates."""

    selector: Annotated[PatchSelector, rules("Which templates are changed.")]
    json_patches: Annotated[list[JSONPatch], rules("The changes, in their order.", max_items=100)]


class ExternalPatchDefinition(OldModel):
    """A patch that runtime extensions make."""

    generate_extension: Annotated[
        str | None,
        rules("The extension that makes the changes.", min_length=1, max_length=512),
    ] = None
    validate_extension: Annotated[
        str | None,
        rules("The extension that checks the result.", min_length=1, max_length=512),
    ] = None
    discover_variables_extension: Annotated[
        str | None,
        rules("The extension that says which variables it uses.", min_length=1, max_length=512),
    ] = None
    settings: Annotated[
        dict[str, str], rules("What the extensions are told, besides their own settings.")
    ] = field(default_factory=dict)


class ClusterClassPatch(OldModel):
    """One patch, said here or made by extensions."""

    name: Annotated[str, rules("The patch's name.", min_length=1, max_length=256)]
    description: Annotated[str, rules("What the patch is for.", min_length=1, max_length=1024)] = ""
    enabled_if: Annotated[
        str | None,
        rules(
            "A Go template over the variables; the patch counts when it makes `true`.",
            min_length=1,
            max_length=256,
        ),
    ] = None
    definitions: Annotated[
        list[PatchDefinition], rules("The changes; not together with `external`.", max_items=100)
    ] = field(default_factory=list)
    external: Annotated[
        ExternalPatchDefinition | None,
        rules("The extensions that make the changes; not together with `definitions`."),
    ] = None
