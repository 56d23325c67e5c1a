"""The variables that a ClusterClass defines, and the schemas of their values."""

from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import field

from kapy.kube import Document
from kapy.kube.model import Model, rules

Labels = Annotated[
    dict[str, str],
    rules(
        "labels are key-value pairs that tools attach to the variable. Cluster API does "
        "not read them."
    ),
]
Annotations = Annotated[
    dict[str, str],
    rules(
        "annotations are key-value pairs that tools attach to the variable. Cluster API "
        "does not read them."
    ),
]


class VariableSchemaMetadata(Model):
    """VariableSchemaMetadata is metadata of a value for tools."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    labels: Labels = field(default_factory=dict)
    annotations: Annotations = field(default_factory=dict)


class ClusterClassVariableMetadata(Model):
    """ClusterClassVariableMetadata is metadata of a variable in the format of v1beta1."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    labels: Labels = field(default_factory=dict)
    annotations: Annotations = field(default_factory=dict)


class ValidationRule(Model):
    """ValidationRule is a rule in the Common Expression Language (CEL) that values must satisfy."""

    rule: Annotated[
        str,
        rules(
            "rule is a CEL expression that must be true for valid values. The value is "
            "available as self. The previous value is available as oldSelf. At most 4096 "
            "characters are allowed.",
            min_length=1,
            max_length=4096,
        ),
    ]
    message: Annotated[
        str,
        rules(
            "message is the error message for invalid values. If it is not set, the message "
            "contains the rule. At most 512 characters are allowed.",
            min_length=1,
            max_length=512,
        ),
    ] = ""
    message_expression: Annotated[
        str,
        rules(
            "messageExpression is a CEL expression that computes the error message. It takes "
            "precedence over message. message is used if the expression fails.",
            min_length=1,
            max_length=1024,
        ),
    ] = ""
    reason: Annotated[
        str,
        rules(
            "reason is the machine-readable reason of the error. Allowed values are "
            "FieldValueInvalid, FieldValueForbidden, FieldValueRequired and "
            "FieldValueDuplicate. Defaults to FieldValueInvalid.",
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
            "fieldPath is the path of the field to which the error refers, relative to the "
            "place of the rule, for example .size. It must be a field of the schema.",
            min_length=1,
            max_length=512,
        ),
    ] = ""


def _bound_rules(description: str) -> msgspec.Meta:
    return rules(description, format="int64")


Description = Annotated[
    str,
    rules(
        "description explains the purpose of the value to humans. At most 4096 "
        "characters are allowed.",
        min_length=1,
        max_length=4096,
    ),
]
Example = Annotated[Any, rules("example is an example of a valid value.")]
Type = Annotated[
    str,
    rules(
        "type is the type of the value. Allowed values are object, array, string, "
        "integer, number and boolean.",
        enum=["object", "array", "string", "integer", "number", "boolean"],
    ),
]
PROPERTIES: Final = rules(
    "properties are the schemas of the fields of an object by their names. It must "
    "not be set together with additionalProperties.",
    schemaless=True,
)
ADDITIONAL_PROPERTIES: Final = rules(
    "additionalProperties is the schema of the values of a map. It must not be set "
    "together with properties.",
    schemaless=True,
)
MaxProperties = Annotated[
    int | None,
    _bound_rules("maxProperties is the maximum number of fields of an object or entries of a map."),
]
MinProperties = Annotated[
    int | None,
    _bound_rules("minProperties is the minimum number of fields of an object or entries of a map."),
]
FieldName = Annotated[str, rules(min_length=1, max_length=256)]
ITEMS: Final = rules("items is the schema of the items of an array.", schemaless=True)
MaxItems = Annotated[
    int | None, _bound_rules("maxItems is the maximum number of items of an array.")
]
MinItems = Annotated[
    int | None, _bound_rules("minItems is the minimum number of items of an array.")
]
UNIQUE_ITEMS: Final = rules(
    "uniqueItems tells whether the items of an array must be different from each other."
)
Format = Annotated[
    str,
    rules(
        "format is an OpenAPI format that a value must match, for example ipv4, cidr or "
        "date-time. Formats that the server does not know are ignored.",
        min_length=1,
        max_length=32,
    ),
]
MaxLength = Annotated[
    int | None, _bound_rules("maxLength is the maximum length of a string in characters.")
]
MinLength = Annotated[
    int | None, _bound_rules("minLength is the minimum length of a string in characters.")
]
Pattern = Annotated[
    str,
    rules(
        "pattern is a regular expression that a string must match, in the syntax of Go.",
        min_length=1,
        max_length=512,
    ),
]
Maximum = Annotated[
    int | None, _bound_rules("maximum is the largest allowed value of an integer or number.")
]
EXCLUSIVE_MAXIMUM: Final = rules(
    "exclusiveMaximum tells whether the value of maximum itself is not allowed."
)
Minimum = Annotated[
    int | None, _bound_rules("minimum is the smallest allowed value of an integer or number.")
]
EXCLUSIVE_MINIMUM: Final = rules(
    "exclusiveMinimum tells whether the value of minimum itself is not allowed."
)
PRESERVE_UNKNOWN_FIELDS: Final = rules(
    "x-kubernetes-preserve-unknown-fields keeps fields of an object that the schema "
    "does not define. Without it such fields are rejected."
)
Default = Annotated[
    Any, rules("default is the value of a field that is not set. It must match the schema.")
]
INT_OR_STRING: Final = rules(
    "x-kubernetes-int-or-string tells that the value is an integer or a string. No "
    "type must be set beside it."
)
ALL_OF: Final = rules("allOf are schemas that a value must match all together.", schemaless=True)
ONE_OF: Final = rules("oneOf are schemas of which a value must match exactly one.", schemaless=True)
ANY_OF: Final = rules(
    "anyOf are schemas of which a value must match at least one.", schemaless=True
)
NOT: Final = rules("not is a schema that a value must not match.", schemaless=True)


class JSONSchemaProps(Model):
    """JSONSchemaProps is a JSON schema as OpenAPI v3 defines it, limited to what structural
    schemas allow. Nested schemas are not validated by the CRD but by the admission of
    ClusterClasses.
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
            "required are the names of the fields that an object must have. At most 1000 are "
            "allowed.",
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
        rules(
            "enum are the allowed values. At most 100 are allowed.",
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    default: Default = None
    validations: Annotated[
        list[ValidationRule],
        rules(
            "x-kubernetes-validations are CEL rules that a value must satisfy. At most 100 "
            "are allowed.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["rule"],
        ),
    ] = field(default_factory=list, name="x-kubernetes-validations")
    metadata: Annotated[
        VariableSchemaMetadata,
        rules("x-metadata is metadata of the value for tools. Cluster API does not read it."),
    ] = field(default_factory=VariableSchemaMetadata, name="x-metadata")
    int_or_string: Annotated[bool | None, INT_OR_STRING] = field(
        default=None, name="x-kubernetes-int-or-string"
    )
    all_of: Annotated[list["JSONSchemaProps"], ALL_OF] = field(default_factory=list)
    one_of: Annotated[list["JSONSchemaProps"], ONE_OF] = field(default_factory=list)
    any_of: Annotated[list["JSONSchemaProps"], ANY_OF] = field(default_factory=list)
    not_: Annotated["JSONSchemaProps | None", NOT] = None


class VariableSchema(Model):
    """VariableSchema is the schema of the values of a variable."""

    schema: Annotated[
        "JSONSchemaProps",
        rules(
            "openAPIV3Schema is the schema of the values, in the format of OpenAPI v3. It "
            "must be a structural schema."
        ),
    ] = field(name="openAPIV3Schema")


VariableName = Annotated[
    str,
    rules(
        "name is the name of the variable. It must be unique, must not be builtin and "
        "must not contain a dot.",
        min_length=1,
        max_length=256,
    ),
]
_Required = Annotated[
    bool,
    rules(
        "required tells whether each Cluster must give a value for the variable. A "
        "required variable has no top-level default.",
        zero="kept",
    ),
]
_Metadata = Annotated[
    ClusterClassVariableMetadata,
    rules(
        "deprecatedV1Beta1Metadata is the metadata of the variable in the format of "
        "v1beta1. It is deprecated. Use x-metadata in the schema instead."
    ),
]
_Schema = Annotated[VariableSchema, rules("schema is the schema of the values of the variable.")]


class ClusterClassVariable(Model, kw_only=True):
    """ClusterClassVariable defines a variable for which Clusters give values."""

    name: VariableName
    required: _Required
    deprecated_v1beta1_metadata: _Metadata = field(
        default_factory=ClusterClassVariableMetadata, name="deprecatedV1Beta1Metadata"
    )
    schema: _Schema


class ClusterClassStatusVariableDefinition(Model, kw_only=True):
    """ClusterClassStatusVariableDefinition is one definition of a variable and its origin."""

    from_: Annotated[
        str,
        rules(
            "from is the origin of the definition. It is inline for the ClusterClass itself. "
            "Otherwise it is the name of the external patch whose extension defines the "
            "variable.",
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
    """ClusterClassStatusVariable is a variable with all its definitions."""

    name: VariableName
    definitions_conflict: Annotated[
        bool | None,
        rules(
            "definitionsConflict tells whether the definitions of the variable differ. While "
            "they conflict, no Cluster can set the variable. The VariablesReady condition is "
            "False then."
        ),
    ] = None
    definitions: Annotated[
        list[ClusterClassStatusVariableDefinition],
        rules(
            "definitions are the definitions of the variable by the ClusterClass and by its "
            "external patches. At most 100 are stored.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ]
