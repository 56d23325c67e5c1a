"""The variables and patches of a ClusterClass, as v1beta1 had them."""

from typing import Annotated, Any, Final

from kapy.api import cluster_class_patches, cluster_class_variables
from kapy.api.cluster_class_variables import ClusterClassVariableMetadata
from kapy.api.older.difference import Difference
from kapy.api.older.rows import (
    looser,
    moved,
    plain_values,
    pointers,
    renamed,
    replaced,
    retyped,
    written,
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
        looser("required", "enum", "validations"),
    ),
    Difference(cluster_class_variables.VariableSchema),
    Difference(
        cluster_class_variables.ClusterClassVariable,
        replaced("deprecated_v1beta1_metadata"),
        moved("deprecatedV1Beta1Metadata", **_METADATA),
    ),
    Difference(
        cluster_class_variables.ClusterClassStatusVariableDefinition,
        replaced("deprecated_v1beta1_metadata"),
        moved("deprecatedV1Beta1Metadata", **_METADATA),
    ),
    Difference(
        cluster_class_variables.ClusterClassStatusVariable,
        plain_values("definitions_conflict"),
        written("definitions_conflict"),
        looser("definitions"),
    ),
    Difference(cluster_class_patches.ClassNames, looser("names")),
    Difference(
        cluster_class_patches.PatchSelectorMatch,
        plain_values("control_plane", "infrastructure_cluster"),
    ),
    Difference(
        cluster_class_patches.PatchSelector,
        retyped(
            api_version=Annotated[str, rules(min_length=1, max_length=512)],
            kind=Annotated[str, rules(min_length=1, max_length=256)],
        ),
    ),
    Difference(cluster_class_patches.JSONPatchValue, pointers("variable", "template")),
    Difference(cluster_class_patches.JSONPatch, retyped(value=Any)),
    Difference(cluster_class_patches.PatchDefinition, looser("json_patches")),
    Difference(
        cluster_class_patches.ExternalPatchDefinition,
        renamed(
            generate_extension="generate_patches_extension",
            validate_extension="validate_topology_extension",
        ),
        pointers("generate_extension", "validate_extension", "discover_variables_extension"),
    ),
    Difference(
        cluster_class_patches.ClusterClassPatch, pointers("enabled_if"), looser("definitions")
    ),
)
