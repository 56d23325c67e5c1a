"""The variables that a ClusterClass defines, as v1beta1 had them."""

from typing import Annotated, Any, ClassVar

from msgspec import field

from kapy.api import cluster_class_variables as new
from kapy.api.v1beta1.model import OldModel
from kapy.kube.model import rules


class VariableSchemaMetadata(OldModel):
    """What is noted about a part of a variable."""

    labels: new.Labels = field(default_factory=dict)
    annotations: new.Annotations = field(default_factory=dict)


class ClusterClassVariableMetadata(OldModel):
    """What is noted about a variable."""

    labels: new.Labels = field(default_factory=dict)
    annotations: new.Annotations = field(default_factory=dict)


class ValidationRule(new.ValidationRule):
    """A CEL rule that values must keep."""

    ZEROS: ClassVar[bool] = True


class JSONSchemaProps(OldModel):
    """What values of a variable, or of a part of one, look like.

    Schemas within it are read in full, but a server shows and checks them as anything.
    """

    description: new.Description = ""
    example: new.Example = None
    type: new.Type = ""
    properties: Annotated[dict[str, "JSONSchemaProps"], new.PROPERTIES] = field(
        default_factory=dict
    )
    additional_properties: Annotated["JSONSchemaProps | None", new.ADDITIONAL_PROPERTIES] = None
    max_properties: new.MaxProperties = None
    min_properties: new.MinProperties = None
    required: Annotated[
        list[new.FieldName], rules("The fields that an object must have.", max_items=1000)
    ] = field(default_factory=list)
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
    enum: Annotated[list[Any], rules("The values to choose from.", max_items=100)] = field(
        default_factory=list
    )
    default: new.Default = None
    validations: Annotated[
        list[ValidationRule],
        rules(
            "CEL rules that the value must keep.",
            max_items=100,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["rule"],
        ),
    ] = field(default_factory=list, name="x-kubernetes-validations")
    metadata: Annotated[VariableSchemaMetadata | None, rules("What is noted about the value.")] = (
        field(default=None, name="x-metadata")
    )
    int_or_string: Annotated[bool, new.INT_OR_STRING] = field(
        default=False, name="x-kubernetes-int-or-string"
    )
    all_of: Annotated[list["JSONSchemaProps"], new.ALL_OF] = field(default_factory=list)
    one_of: Annotated[list["JSONSchemaProps"], new.ONE_OF] = field(default_factory=list)
    any_of: Annotated[list["JSONSchemaProps"], new.ANY_OF] = field(default_factory=list)
    not_: Annotated["JSONSchemaProps | None", new.NOT] = None


class VariableSchema(OldModel):
    """The schema of a variable."""

    schema: Annotated[
        "JSONSchemaProps", rules("The schema, in a part of OpenAPI v3's language.")
    ] = field(name="openAPIV3Schema")


_Required = Annotated[bool, rules("Whether every Cluster must have a value for it.")]
_Metadata = Annotated[ClusterClassVariableMetadata, rules("What is noted about the variable.")]
_Schema = Annotated[VariableSchema, rules("What its values look like.")]


class ClusterClassVariable(OldModel, kw_only=True):
    """A variable that Clusters give a value and patches use."""

    name: new.VariableName
    required: _Required
    metadata: _Metadata = field(default_factory=ClusterClassVariableMetadata)
    schema: _Schema


class ClusterClassStatusVariableDefinition(OldModel, kw_only=True):
    """One definition of a variable, and where it comes from."""

    from_: Annotated[
        str,
        rules(
            "`inline` for the ClusterClass itself, or the external patch that defines it.",
            min_length=1,
            max_length=256,
        ),
    ]
    required: _Required
    metadata: _Metadata = field(default_factory=ClusterClassVariableMetadata)
    schema: _Schema


class ClusterClassStatusVariable(OldModel, kw_only=True):
    """A variable with all of its definitions."""

    name: new.VariableName
    definitions_conflict: Annotated[
        bool, rules("Whether the definitions are not the same.", zero="written")
    ] = False
    definitions: Annotated[
        list[ClusterClassStatusVariableDefinition],
        rules(
            "The variable as the ClusterClass and its external patches define it.", max_items=100
        ),
    ]
