"""The patches of a ClusterClass: how variables change what is made of the templates."""

from typing import Annotated, Any, ClassVar

from msgspec import UNSET, field

from kapy.api.patterns import DOMAIN_PATH, KIND
from kapy.kube import Document
from kapy.kube.model import Model, rules


class ClassNames(Model):
    """Names classes of worker machines."""

    names: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=256)]],
        rules(
            "The classes' names; a `*` at an end stands for anything.",
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)


class PatchSelectorMatch(Model):
    """Which uses of a template are changed."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    control_plane: Annotated[
        bool | None, rules("Those for the control plane and its machines.")
    ] = None
    infrastructure_cluster: Annotated[
        bool | None, rules("That for the cluster's infrastructure.")
    ] = None
    machine_deployment_class: Annotated[
        ClassNames | None, rules("Those of these classes of MachineDeployments.")
    ] = None
    machine_pool_class: Annotated[
        ClassNames | None, rules("Those of these classes of MachinePools.")
    ] = None


class PatchSelector(Model):
    """Which templates are changed."""

    api_version: Annotated[
        str,
        rules(
            "The API group and version of the templates.",
            min_length=1,
            max_length=317,
            pattern=DOMAIN_PATH,
        ),
    ]
    kind: Annotated[str, rules("The templates' kind.", min_length=1, max_length=63, pattern=KIND)]
    match_resources: Annotated[PatchSelectorMatch, rules("Which uses of them are changed.")]


class JSONPatchValue(Model):
    """Where the value of a change comes from."""

    variable: Annotated[
        str,
        rules("A variable, or a part of one, as in size.cpu.", min_length=1, max_length=256),
    ] = ""
    template: Annotated[
        str,
        rules("A Go template over the variables that makes it.", min_length=1, max_length=10240),
    ] = ""


class JSONPatch(Model):
    """One change (RFC 6902)."""

    op: Annotated[str, rules("What is done.", enum=["add", "replace", "remove"])]
    path: Annotated[
        str,
        rules("Where, below /spec, as in /spec/template/spec.", min_length=1, max_length=512),
    ]
    value: Annotated[Any, rules("The value to put there.")] = UNSET
    value_from: Annotated[
        JSONPatchValue | None, rules("Where the value to put there comes from.")
    ] = None


class PatchDefinition(Model):
    """Changes of some templates."""

    selector: Annotated[PatchSelector, rules("Which templates are changed.")]
    json_patches: Annotated[
        list[JSONPatch],
        rules(
            "The changes, in their order.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ]


class ExternalPatchDefinition(Model):
    """A patch that runtime extensions make."""

    generate_patches_extension: Annotated[
        str,
        rules("The extension that makes the changes.", min_length=1, max_length=512),
    ] = ""
    validate_topology_extension: Annotated[
        str,
        rules("The extension that checks the result.", min_length=1, max_length=512),
    ] = ""
    discover_variables_extension: Annotated[
        str,
        rules("The extension that says which variables it uses.", min_length=1, max_length=512),
    ] = ""
    settings: Annotated[
        dict[str, str], rules("What the extensions are told, besides their own settings.")
    ] = field(default_factory=dict)


class ClusterClassPatch(Model):
    """One patch, said here or made by extensions."""

    name: Annotated[str, rules("The patch's name.", min_length=1, max_length=256)]
    description: Annotated[str, rules("What the patch is for.", min_length=1, max_length=1024)] = ""
    enabled_if: Annotated[
        str,
        rules(
            "A Go template over the variables; the patch counts when it makes `true`.",
            min_length=1,
            max_length=256,
        ),
    ] = ""
    definitions: Annotated[
        list[PatchDefinition],
        rules(
            "The changes; not together with `external`.",
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    external: Annotated[
        ExternalPatchDefinition | None,
        rules("The extensions that make the changes; not together with `definitions`."),
    ] = None
