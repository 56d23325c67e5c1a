"""Sections 4 and 5 of the clusterctl provider contract: cluster templates and ClusterClasses."""

from __future__ import annotations

from typing import Final

from tests.contract.rules.row import Row

SOURCES: Final = "clusterctl/templates/sources.py"
CLASSES: Final = "clusterctl/templates/classes.py"
GENERATE: Final = "clusterctl/templates/generate.py"
TEMPLATES: Final = "clusterctl/test_templates.py"
ONE_NAMESPACE: Final = f"{TEMPLATES}::test_a_template_is_filled_and_put_into_one_namespace"
ADDED: Final = f"{TEMPLATES}::test_a_cluster_class_comes_before_the_cluster_that_is_made_of_it"
LISTED: Final = "cli/test_generate.py::test_variables_are_listed_the_required_ones_first"
RECORDED: Final = "oracle/test_recorded.py::test_generated_yaml_is_upstreams_to_the_byte"

ROWS: Final = [
    Row(("templates-found",), (219,), (SOURCES, GENERATE), (ONE_NAMESPACE, RECORDED)),
    Row(("classes-found",), (221,), (CLASSES,), (ADDED, RECORDED)),
    Row(
        ("template-names", "templates-found"),
        (227, 229),
        (SOURCES,),
        (ADDED, f"{TEMPLATES}::test_templates_that_cannot_be_used_are_refused"),
    ),
    Row(
        ("flavors-told", "templates-found"),
        (231,),
        ("clusterctl/repository/releases.py",),
        (
            "clusterctl/repository/test_folders.py::"
            "test_a_missing_file_is_reported_with_the_existing_ones",
            "clusterctl/repository/test_github_and_gitlab.py::test_an_asset_that_a_release_does_not_have_is_reported",
        ),
    ),
    Row(
        ("template-namespace", "template-one-namespace"),
        (235, 237),
        (GENERATE,),
        (ONE_NAMESPACE,),
    ),
    Row(
        ("templates-changed",),
        (241,),
        (GENERATE,),
        (ONE_NAMESPACE, f"{TEMPLATES}::test_all_variables_that_are_missing_are_named"),
    ),
    Row(
        ("variables-told", "variables-listed"),
        (243,),
        ("cli/generate_cluster.py",),
        (LISTED, f"{TEMPLATES}::test_variables_are_listed_with_their_defaults"),
    ),
    Row(
        ("common-variables", "common-values"),
        (247, 249, 251),
        ("clusterctl/templates/generate.py", "cli/generate_cluster.py"),
        (
            "cli/test_generate.py::test_a_cluster_is_printed",
            f"{TEMPLATES}::test_machine_counts_come_from_flags_the_environment_or_defaults",
        ),
    ),
    Row(("classes-found",), (255,), (CLASSES,), (ADDED,)),
    Row(
        ("class-names", "classes-found"),
        (261, 263),
        (CLASSES,),
        (ADDED, f"{TEMPLATES}::test_templates_that_cannot_be_used_are_refused"),
    ),
    Row(
        ("classes-told", "classes-found"),
        (265,),
        (CLASSES,),
        (f"{TEMPLATES}::test_templates_that_cannot_be_used_are_refused",),
    ),
    Row(
        ("class-namespace", "class-references", "class-objects"),
        (269, 271, 273),
        (CLASSES,),
        (ADDED, f"{TEMPLATES}::test_a_cluster_class_of_another_namespace_is_generated_there"),
    ),
    Row(
        ("class-sharing", "classes-added"),
        (275,),
        (CLASSES,),
        (f"{TEMPLATES}::test_an_incomplete_cluster_class_is_not_completed",),
    ),
    Row(("class-variables",), (279, 281), (CLASSES,), (ADDED, RECORDED)),
    Row(
        ("classes-added",),
        (285,),
        (CLASSES,),
        (
            ADDED,
            f"{TEMPLATES}::test_a_cluster_class_that_is_there_is_left_out",
            f"{TEMPLATES}::test_a_management_cluster_without_cluster_api_has_no_classes",
        ),
    ),
]
