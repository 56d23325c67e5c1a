"""The variables that a ClusterClass defines, as v1beta1 had them."""

from typing import Annotated, Any, ClassVar

from msgspec import field

from kapy.api import cluster_class_variables as new
from kapy.api.v1beta1.model import OldModel
from kapy.kube.model import rules


class VariableSchemaMetadata(OldModel):
    labels: new.Labels = field(default_factory=dict)
    annotations: new.Annotations = field(default_factory=dict)


class ClusterClassVariableMetadata(OldModel):
    labels: new.Labels = field(default_factory=dict)
    annotations: new.Annotations = field(default_factory=dict)


class ValidationRule(new.ValidationRule):
    ZEROS: ClassVar[bool] = True


class JSONSchemaProps(OldModel):
    description: new.Description = ""
    example: new.Example = None
    type: new.Type = ""
    properties: Annotated[dict[str, "JSONSchemaProps"], new.PROPERTIES] = field(
        default_factory=dict
    )
    additional_properties: Annotated["JSONSchemaProps | None", new.ADDITIONAL_PROPERTIES] = None
    max_properties: new.MaxProperties = None
    min_properties: new.MinProperties = None
    required: Annotated[list[new.FieldName], rules(max_items=1000)] = field(default_factory=list)
    items: Annotated["JSONSchemaProps | None", new.ITEMS] = None
    max_items: new.MaxItems = None
    min_items: new.MinItems = None
    unique_items: Annotated[bool, new.UNIQUE_ITEMS] = False
    format: new.Format = ""
    max_length: new.MaxLength = None
    min_length: new.MinLength = None
    pattern: new.Pattern = ""
    maximum: new.Maximum = None
    exclusive_maximum: Annotated[bool, new.EXCLUSIVE_MAXIMUM] = False
    minimum: new.Minimum = None
    exclusive_minimum: Annotated[bool, new.EXCLUSIVE_MINIMUM] = False
    preserve_unknown_fields: Annotated[bool, new.PRESERVE_UNKNOWN_FIELDS] = field(
        default=False, name="x-kubernetes-preserve-unknown-fields"
    )
    enum: Annotated[list[Any], rules(max_items=100)] = field(default_factory=list)
    default: new.Default = None
    validations: Annotated[
        list[ValidationRule],
        rules(
            max_items=100,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["rule"],
        ),
    ] = field(default_factory=list, name="x-kubernetes-validations")
    metadata: VariableSchemaMetadata | None = field(default=None, name="x-metadata")
    int_or_string: Annotated[bool, new.INT_OR_STRING] = field(
        default=False, name="x-kubernetes-int-or-string"
    )
    all_of: Annotated[list["JSONSchemaProps"], new.ALL_OF] = field(default_factory=list)
    one_of: Annotated[list["JSONSchemaProps"], new.ONE_OF] = field(default_factory=list)
    any_of: Annotated[list["JSONSchemaProps"], new.ANY_OF] = field(default_factory=list)
    not_: Annotated["JSONSchemaProps | None", new.NOT] = None


class VariableSchema(OldModel):
    schema: "JSONSchemaProps" = field(name="openAPIV3Schema")


_Required = bool
_Metadata = Annotated[
    ClusterClassVariableMetadata,
    rules("metadata is metadata of the variable for tools. Cluster API does not read it."),
]
_Schema = VariableSchema


class ClusterClassVariable(OldModel, kw_only=True):
    name: new.VariableName
    required: _Required
    metadata: _Metadata = field(default_factory=ClusterClassVariableMetadata)
    schema: _Schema


class ClusterClassStatusVariableDefinition(OldModel, kw_only=True):
    from_: Annotated[
        str,
        rules(
            min_length=1,
            max_length=256,
        ),
    ]
    required: _Required
    metadata: _Metadata = field(default_factory=ClusterClassVariableMetadata)
    schema: _Schema


class ClusterClassStatusVariable(OldModel, kw_only=True):
    name: new.VariableName
    definitions_conflict: Annotated[bool, rules(zero="written")] = False
    definitions: Annotated[
        list[ClusterClassStatusVariableDefinition],
        rules(max_items=100),
    ]
