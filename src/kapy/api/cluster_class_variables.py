"""The variables that a ClusterClass defines, and the schemas of their values."""

from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import field

from kapy.kube import Document
from kapy.kube.model import Model, rules

Labels = Annotated[dict[str, str], rules("Labels of the variable.")]
Annotations = Annotated[dict[str, str], rules("Annotations of the variable.")]


class VariableSchemaMetadata(Model):
    """What is noted about a part of a variable."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    labels: Labels = field(default_factory=dict)
    annotations: Annotations = field(default_factory=dict)


class ClusterClassVariableMetadata(Model):
    """What v1beta1 noted about a variable."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    labels: Labels = field(default_factory=dict)
    annotations: Annotations = field(default_factory=dict)


class ValidationRule(Model):
    """A CEL rule that values must keep."""

    rule: Annotated[
        str,
        rules(
            "A CEL expression over `self`; values are good while it is true.",
            min_length=1,
            max_length=4096,
        ),
    ]
    message: Annotated[str, rules("What is said of a bad value.", min_length=1, max_length=512)] = (
        ""
    )
    message_expression: Annotated[
        str,
        rules(
            "A CEL expression that makes the message; it comes before `message`.",
            min_length=1,
            max_length=1024,
        ),
    ] = ""
    reason: Annotated[
        str,
        rules(
            "The kind of error that a bad value is.",
            enum=[
                "FieldValueInvalid",
                "FieldValueForbidden",
                "FieldValueRequired",
                "FieldValueDuplicate",
            ],
            default="FieldValueInvalid",
        ),
    ] = ""
    field_path: Annotated[
        str,
        rules(
            "The field below this one that the error is about, as in .size.",
            min_length=1,
            max_length=512,
        ),
    ] = ""


def _bound(description: str) -> msgspec.Meta:
    return rules(description, format="int64")


Description = Annotated[str, rules("What the value is for.", min_length=1, max_length=4096)]
Example = Annotated[Any, rules("An example of a value.")]
Type = Annotated[
    str,
    rules("The value's type.", enum=["object", "array", "string", "integer", "number", "boolean"]),
]
PROPERTIES: Final = rules("The fields of an object, with their schemas.", schemaless=True)
ADDITIONAL_PROPERTIES: Final = rules(
    "The schema of the values of a map, whose keys are not known.", schemaless=True
)
MaxProperties = Annotated[int | None, _bound("How many members an object may have.")]
MinProperties = Annotated[int | None, _bound("How many members an object must have.")]
FieldName = Annotated[str, rules(min_length=1, max_length=256)]
ITEMS: Final = rules("The schema of the items of a list.", schemaless=True)
MaxItems = Annotated[int | None, _bound("How many items a list may have.")]
MinItems = Annotated[int | None, _bound("How many items a list must have.")]
UNIQUE_ITEMS: Final = rules("Whether no two items of a list may be equal.")
Format = Annotated[
    str, rules("The format of a text, or the size of a number.", min_length=1, max_length=32)
]
MaxLength = Annotated[int | None, _bound("How many characters a text may have.")]
MinLength = Annotated[int | None, _bound("How many characters a text must have.")]
Pattern = Annotated[
    str, rules("The regular expression that a text matches.", min_length=1, max_length=512)
]
Maximum = Annotated[int | None, _bound("The largest number.")]
EXCLUSIVE_MAXIMUM: Final = rules("Whether the largest number is itself too large.")
Minimum = Annotated[int | None, _bound("The smallest number.")]
EXCLUSIVE_MINIMUM: Final = rules("Whether the smallest number is itself too small.")
PRESERVE_UNKNOWN_FIELDS: Final = rules(
    "Whether an object keeps fields that its schema does not name."
)
Default = Annotated[Any, rules("The value when none is given.")]
INT_OR_STRING: Final = rules("Whether the value is a whole number or a text.")
ALL_OF: Final = rules("Schemas that all must hold.", schemaless=True)
ONE_OF: Final = rules("Schemas of which exactly one must hold.", schemaless=True)
ANY_OF: Final = rules("Schemas of which at least one must hold.", schemaless=True)
NOT: Final = rules("A schema that must not hold.", schemaless=True)


class JSONSchemaProps(Model):
    """What values of a variable, or of a part of one, look like.

    Schemas within it are read in full, but a server shows and checks them as anything.
    """

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    description: Description = ""
    example: Example = None
    type: Type = ""
    properties: Annotated[dict[str, "JSONSchemaProps"], PROPERTIES] = field(default_factory=dict)
    additional_properties: Annotated["JSONSchemaProps | None", ADDITIONAL_PROPERTIES] = None
    max_properties: MaxProperties = None
    min_properties: MinProperties = None
    required: Annotated[
        list[FieldName],
        rules(
            "The fields that an object must have.",
            min_items=1,
            max_items=1000,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    items: Annotated["JSONSchemaProps | None", ITEMS] = None
    max_items: MaxItems = None
    min_items: MinItems = None
    unique_items: Annotated[bool | None, UNIQUE_ITEMS] = None
    format: Format = ""
    max_length: MaxLength = None
    min_length: MinLength = None
    pattern: Pattern = ""
    maximum: Maximum = None
    exclusive_maximum: Annotated[bool | None, EXCLUSIVE_MAXIMUM] = None
    minimum: Minimum = None
    exclusive_minimum: Annotated[bool | None, EXCLUSIVE_MINIMUM] = None
    preserve_unknown_fields: Annotated[bool | None, PRESERVE_UNKNOWN_FIELDS] = field(
        default=None, name="x-kubernetes-preserve-unknown-fields"
    )
    enum: Annotated[
        list[Any],
        rules("The values to choose from.", max_items=100, x_kubernetes_list_type="atomic"),
    ] = field(default_factory=list)
    default: Default = None
    validations: Annotated[
        list[ValidationRule],
        rules(
            "CEL rules that the value must keep.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["rule"],
        ),
    ] = field(default_factory=list, name="x-kubernetes-validations")
    metadata: Annotated[VariableSchemaMetadata, rules("What is noted about the value.")] = field(
        default_factory=VariableSchemaMetadata, name="x-metadata"
    )
    int_or_string: Annotated[bool | None, INT_OR_STRING] = field(
        default=None, name="x-kubernetes-int-or-string"
    )
    all_of: Annotated[list["JSONSchemaProps"], ALL_OF] = field(default_factory=list)
    one_of: Annotated[list["JSONSchemaProps"], ONE_OF] = field(default_factory=list)
    any_of: Annotated[list["JSONSchemaProps"], ANY_OF] = field(default_factory=list)
    not_: Annotated["JSONSchemaProps | None", NOT] = None


class VariableSchema(Model):
    """The schema of a variable."""

    schema: Annotated[
        "JSONSchemaProps", rules("The schema, in a part of OpenAPI v3's language.")
    ] = field(name="openAPIV3Schema")


VariableName = Annotated[str, rules("The variable's name.", min_length=1, max_length=256)]
_Required = Annotated[
    bool,
    rules("Whether every Cluster must have a value for it.", zero="kept"),
]
_Metadata = Annotated[ClusterClassVariableMetadata, rules("What v1beta1 noted about the variable.")]
_Schema = Annotated[VariableSchema, rules("What its values look like.")]


class ClusterClassVariable(Model, kw_only=True):
    """A variable that Clusters give a value and patches use."""

    name: VariableName
    required: _Required
    deprecated_v1beta1_metadata: _Metadata = field(
        default_factory=ClusterClassVariableMetadata, name="deprecatedV1Beta1Metadata"
    )
    schema: _Schema


class ClusterClassStatusVariableDefinition(Model, kw_only=True):
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
    deprecated_v1beta1_metadata: _Metadata = field(
        default_factory=ClusterClassVariableMetadata, name="deprecatedV1Beta1Metadata"
    )
    schema: _Schema


class ClusterClassStatusVariable(Model, kw_only=True):
    """A variable with all of its definitions."""

    name: VariableName
    definitions_conflict: Annotated[
        bool | None, rules("Whether the definitions are not the same.")
    ] = None
    definitions: Annotated[
        list[ClusterClassStatusVariableDefinition],
        rules(
            "The variable as the ClusterClass and its external patches define it.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ]
