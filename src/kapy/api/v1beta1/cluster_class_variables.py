"""The variables and patches of a ClusterClass, as v1beta1 had them."""

from typing import Annotated, Any, Final

from kapy.api import cluster_class_patches, cluster_class_variables
from kapy.api.cluster_class_variables import ClusterClassVariableMetadata
from kapy.api.older.difference import Difference
from kapy.api.older.rows import (
    drop,
    loosen,
    move,
    plain_values,
    pointers,
    rename,
    retype,
    write_zeros,
)
from kapy.kube.model import rules

_METADATA: Final[dict[str, Any]] = {
    "metadata": Annotated[
        ClusterClassVariableMetadata,
        rules("metadata is metadata of the variable for tools. Cluster API does not read it."),
    ]
}

DIFFERENCES: Final = (
    Difference(cluster_class_variables.VariableSchemaMetadata),
    Difference(cluster_class_variables.ClusterClassVariableMetadata),
    Difference(cluster_class_variables.ValidationRule),
    Difference(
        cluster_class_variables.JSONSchemaProps,
        plain_values(
            "unique_items",
            "exclusive_maximum",
            "exclusive_minimum",
            "preserve_unknown_fields",
            "int_or_string",
        ),
        pointers("metadata"),
        loosen("required", "enum", "validations"),
    ),
    Difference(cluster_class_variables.VariableSchema),
    Difference(
        cluster_class_variables.ClusterClassVariable,
        drop("deprecated_v1beta1_metadata"),
        move("deprecatedV1Beta1Metadata", **_METADATA),
    ),
    Difference(
        cluster_class_variables.ClusterClassStatusVariableDefinition,
        drop("deprecated_v1beta1_metadata"),
        move("deprecatedV1Beta1Metadata", **_METADATA),
    ),
    Difference(
        cluster_class_variables.ClusterClassStatusVariable,
        plain_values("definitions_conflict"),
        write_zeros("definitions_conflict"),
        loosen("definitions"),
    ),
    Difference(cluster_class_patches.ClassNames, loosen("names")),
    Difference(
        cluster_class_patches.PatchSelectorMatch,
        plain_values("control_plane", "infrastructure_cluster"),
    ),
    Difference(
        cluster_class_patches.PatchSelector,
        retype(
            api_version=Annotated[str, rules(min_length=1, max_length=512)],
            kind=Annotated[str, rules(min_length=1, max_length=256)],
        ),
    ),
    Difference(cluster_class_patches.JSONPatchValue, pointers("variable", "template")),
    Difference(cluster_class_patches.JSONPatch, retype(value=Any)),
    Difference(cluster_class_patches.PatchDefinition, loosen("json_patches")),
    Difference(
        cluster_class_patches.ExternalPatchDefinition,
        rename(
            generate_extension="generate_patches_extension",
            validate_extension="validate_topology_extension",
        ),
        pointers("generate_extension", "validate_extension", "discover_variables_extension"),
    ),
    Difference(
        cluster_class_patches.ClusterClassPatch, pointers("enabled_if"), loosen("definitions")
    ),
)
