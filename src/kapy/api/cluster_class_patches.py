"""The patches of a ClusterClass: changes of its templates that depend on variables."""

from typing import Annotated, Any, ClassVar

from msgspec import UNSET, field

from kapy.api.patterns import DOMAIN_PATH, KIND
from kapy.kube import Document
from kapy.kube.model import Model, rules


class ClassNames(Model):
    """ClassNames is a list of names of worker classes."""

    names: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=256)]],
        rules(
            "names are the names of the selected worker classes. An asterisk at the "
            "beginning or at the end of a name matches any characters. At most 100 are "
            "allowed.",
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)


class PatchSelectorMatch(Model):
    """PatchSelectorMatch selects templates by the place in which a ClusterClass refers to
    them. At least one field must be set.
    """

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    control_plane: Annotated[
        bool | None,
        rules(
            "controlPlane selects the templates that the control plane refers to. This is "
            "the control plane template or the template of its machines' infrastructure. "
            "Defaults to false."
        ),
    ] = None
    infrastructure_cluster: Annotated[
        bool | None,
        rules(
            "infrastructureCluster selects the template of the infrastructure of the "
            "cluster. Defaults to false."
        ),
    ] = None
    machine_deployment_class: Annotated[
        ClassNames | None,
        rules(
            "machineDeploymentClass selects the templates that the named MachineDeployment "
            "classes refer to."
        ),
    ] = None
    machine_pool_class: Annotated[
        ClassNames | None,
        rules(
            "machinePoolClass selects the templates that the named MachinePool classes refer to."
        ),
    ] = None


class PatchSelector(Model):
    """PatchSelector selects the templates to which a patch applies."""

    api_version: Annotated[
        str,
        rules(
            "apiVersion is the API group and version of the templates, for example "
            "infrastructure.cluster.x-k8s.io/v1beta2.",
            min_length=1,
            max_length=317,
            pattern=DOMAIN_PATH,
        ),
    ]
    kind: Annotated[
        str,
        rules(
            "kind is the kind of the templates, for example DevMachineTemplate.",
            min_length=1,
            max_length=63,
            pattern=KIND,
        ),
    ]
    match_resources: Annotated[
        PatchSelectorMatch,
        rules(
            "matchResources selects the templates by the place in which the ClusterClass "
            "refers to them."
        ),
    ]


class JSONPatchValue(Model):
    """JSONPatchValue is the source of the value of a JSON patch. Exactly one field must be set."""

    variable: Annotated[
        str,
        rules(
            "variable is the path of a variable whose value is used, for example "
            "workers.size. Variables that begin with builtin are provided by Cluster API.",
            min_length=1,
            max_length=256,
        ),
    ] = ""
    template: Annotated[
        str,
        rules(
            "template is a Go template that renders the value as YAML. It can use the "
            "variables of the class and the builtin variables. At most 10240 characters are "
            "allowed.",
            min_length=1,
            max_length=10240,
        ),
    ] = ""


class JSONPatch(Model):
    """JSONPatch is one operation of a JSON patch as defined in RFC 6902."""

    op: Annotated[
        str,
        rules(
            "op is the operation. Allowed values are add, replace and remove.",
            enum=["add", "replace", "remove"],
        ),
    ]
    path: Annotated[
        str,
        rules(
            "path is the JSON pointer of the field that changes. It must begin with /spec. "
            "Items of lists can only be added, at the beginning with index 0 or at the end "
            "with -.",
            min_length=1,
            max_length=512,
        ),
    ]
    value: Annotated[
        Any,
        rules(
            "value is the constant value for add and replace. Exactly one of value and "
            "valueFrom must be set for these operations."
        ),
    ] = UNSET
    value_from: Annotated[
        JSONPatchValue | None,
        rules(
            "valueFrom is the source of a computed value for add and replace. Exactly one of "
            "value and valueFrom must be set for these operations."
        ),
    ] = None


class PatchDefinition(Model):
    """PatchDefinition is a list of changes together with the templates to which it applies."""

    selector: Annotated[
        PatchSelector, rules("selector selects the templates to which the changes apply.")
    ]
    json_patches: Annotated[
        list[JSONPatch],
        rules(
            "jsonPatches are the changes. They are applied in the order of the list. At most "
            "100 are allowed.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ]


class ExternalPatchDefinition(Model):
    """ExternalPatchDefinition names the runtime extension handlers of an external patch."""

    generate_patches_extension: Annotated[
        str,
        rules(
            "generatePatchesExtension is the name of a runtime extension handler for the "
            "GeneratePatches hook. The handler returns the changes.",
            min_length=1,
            max_length=512,
        ),
    ] = ""
    validate_topology_extension: Annotated[
        str,
        rules(
            "validateTopologyExtension is the name of a runtime extension handler for the "
            "ValidateTopology hook. The handler accepts or rejects the resulting objects.",
            min_length=1,
            max_length=512,
        ),
    ] = ""
    discover_variables_extension: Annotated[
        str,
        rules(
            "discoverVariablesExtension is the name of a runtime extension handler for the "
            "DiscoverVariables hook. The handler returns definitions of variables.",
            min_length=1,
            max_length=512,
        ),
    ] = ""
    settings: Annotated[
        dict[str, str],
        rules(
            "settings are key-value pairs that are sent to the extension with each request. "
            "They take precedence over the settings of the ExtensionConfig."
        ),
    ] = field(default_factory=dict)


class ClusterClassPatch(Model):
    """ClusterClassPatch changes the objects of a Cluster, either by definitions or by runtime
    extensions.
    """

    name: Annotated[
        str,
        rules(
            "name is the name of the patch. It must be unique in the ClusterClass.",
            min_length=1,
            max_length=256,
        ),
    ]
    description: Annotated[
        str,
        rules(
            "description explains the purpose of the patch to humans. At most 1024 "
            "characters are allowed.",
            min_length=1,
            max_length=1024,
        ),
    ] = ""
    enabled_if: Annotated[
        str,
        rules(
            "enabledIf is a Go template that decides whether the patch applies. The patch "
            "applies if the template renders to true. It can use the variables of the class "
            "and the builtin variables. If it is not set, the patch always applies.",
            min_length=1,
            max_length=256,
        ),
    ] = ""
    definitions: Annotated[
        list[PatchDefinition],
        rules(
            "definitions are the changes of the patch. Exactly one of definitions and "
            "external must be set. At most 100 are allowed.",
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    external: Annotated[
        ExternalPatchDefinition | None,
        rules(
            "external names the runtime extensions that compute the changes. Exactly one of "
            "definitions and external must be set. The feature gate RuntimeSDK must be "
            "enabled."
        ),
    ] = None
