"""The variables that a ClusterClass defines, and the schemas of their values."""

from typing import Annotated, Any, ClassVar

from msgspec import field

from kapy.kube import Document
from kapy.kube.model import Model, rules

_Labels = Annotated[dict[str, str], rules("Labels of the variable.")]
_Annotations = Annotated[dict[str, str], rules("Annotations of the variable.")]


class VariableSchemaMetadata(Model):
    """What is noted about a part of a variable."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    labels: _Labels = field(default_factory=dict)
    annotations: _Annotations = field(default_factory=dict)


class ClusterClassVariableMetadata(Model):
    """What v1beta1 noted about a variable."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    labels: _Labels = field(default_factory=dict)
    annotations: _Annotations = field(default_factory=dict)


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


_Bound = int | None
_INT64 = "int64"


class JSONSchemaProps(Model):
    """What values of a variable, or of a part of one, look like.

    Schemas within it are read in full, but a server shows and checks them as anything.
    """

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    description: Annotated[str, rules("What the value is for.", min_length=1, max_length=4096)] = ""
    example: Annotated[Any, rules("An example of a value.")] = None
    type: Annotated[
        str,
        rules(
            "The value's type.",
            enum=["object", "array", "string", "integer", "number", "boolean"],
        ),
    ] = ""
    properties: Annotated[
        "dict[str, JSONSchemaProps]",
        rules("The fields of an object, with their schemas.", schemaless=True),
    ] = field(default_factory=dict)
    additional_properties: Annotated[
        "JSONSchemaProps | None",
        rules("The schema of the values of a map, whose keys are not known.", schemaless=True),
    ] = None
    max_properties: Annotated[
        _Bound, rules("How many members an object may have.", format=_INT64)
    ] = None
    min_properties: Annotated[
        _Bound, rules("How many members an object must have.", format=_INT64)
    ] = None
    required: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=256)]],
        rules(
            "The fields that an object must have.",
            min_items=1,
            max_items=1000,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    items: Annotated[
        "JSONSchemaProps | None", rules("The schema of the items of a list.", schemaless=True)
    ] = None
    max_items: Annotated[_Bound, rules("How many items a list may have.", format=_INT64)] = None
    min_items: Annotated[_Bound, rules("How many items a list must have.", format=_INT64)] = None
    unique_items: Annotated[bool | None, rules("Whether no two items of a list may be equal.")] = (
        None
    )
    format: Annotated[
        str,
        rules("The format of a text, or the size of a number.", min_length=1, max_length=32),
    ] = ""
    max_length: Annotated[_Bound, rules("How many characters a text may have.", format=_INT64)] = (
        None
    )
    min_length: Annotated[_Bound, rules("How many characters a text must have.", format=_INT64)] = (
        None
    )
    pattern: Annotated[
        str,
        rules("The regular expression that a text matches.", min_length=1, max_length=512),
    ] = ""
    maximum: Annotated[_Bound, rules("The largest number.", format=_INT64)] = None
    exclusive_maximum: Annotated[
        bool | None, rules("Whether the largest number is itself too large.")
    ] = None
    minimum: Annotated[_Bound, rules("The smallest number.", format=_INT64)] = None
    exclusive_minimum: Annotated[
        bool | None, rules("Whether the smallest number is itself too small.")
    ] = None
    preserve_unknown_fields: Annotated[
        bool | None, rules("Whether an object keeps fields that its schema does not name.")
    ] = field(default=None, name="x-kubernetes-preserve-unknown-fields")
    enum: Annotated[
        list[Any],
        rules("The values to choose from.", max_items=100, x_kubernetes_list_type="atomic"),
    ] = field(default_factory=list)
    default: Annotated[Any, rules("The value when none is given.")] = None
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
    int_or_string: Annotated[
        bool | None, rules("Whether the value is a whole number or a text.")
    ] = field(default=None, name="x-kubernetes-int-or-string")
    all_of: Annotated[
        "list[JSONSchemaProps]", rules("Schemas that all must hold.", schemaless=True)
    ] = field(default_factory=list)
    one_of: Annotated[
        "list[JSONSchemaProps]",
        rules("Schemas of which exactly one must hold.", schemaless=True),
    ] = field(default_factory=list)
    any_of: Annotated[
        "list[JSONSchemaProps]",
        rules("Schemas of which at least one must hold.", schemaless=True),
    ] = field(default_factory=list)
    not_: Annotated[
        "JSONSchemaProps | None", rules("A schema that must not hold.", schemaless=True)
    ] = field(default=None, name="not")


class VariableSchema(Model):
    """The schema of a variable."""

    schema: Annotated[JSONSchemaProps, rules("The schema, in a part of OpenAPI v3's language.")] = (
        field(name="openAPIV3Schema")
    )


_Name = Annotated[str, rules("The variable's name.", min_length=1, max_length=256)]
_Required = Annotated[
    bool,
    rules("Whether every Cluster must have a value for it.", zero="kept"),
]
_Metadata = Annotated[ClusterClassVariableMetadata, rules("What v1beta1 noted about the variable.")]
_Schema = Annotated[VariableSchema, rules("What its values look like.")]


class ClusterClassVariable(Model, kw_only=True):
    """A variable that Clusters give a value and patches use."""

    name: _Name
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
    ] = field(name="from")
    required: _Required
    deprecated_v1beta1_metadata: _Metadata = field(
        default_factory=ClusterClassVariableMetadata, name="deprecatedV1Beta1Metadata"
    )
    schema: _Schema


class ClusterClassStatusVariable(Model, kw_only=True):
    """A variable with all of its definitions."""

    name: _Name
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
