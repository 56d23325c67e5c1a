"""The clusterctl provider contract (`../shared/seeds/clusterctl-provider-contract.ko.txt`)."""

from __future__ import annotations

from typing import Final

from kapy.testing.conformance.rules import clusterctl
from tests.contract.rules import clusterctl_move, clusterctl_repositories, clusterctl_templates
from tests.contract.rules.row import Kept, Row
from tests.contract.rules.shared import LIVES, RELEASED

READING: Final = "clusterctl/components/reading.py"
NAMESPACE: Final = "clusterctl/components/namespace.py"
CHECKS: Final = "clusterctl/components/checks.py"
VARIABLES: Final = "clusterctl/variables.py"
COMPONENTS: Final = "clusterctl/test_components.py"
WARNED: Final = f"{COMPONENTS}::test_rules_that_upstream_does_not_enforce_are_warnings"
REFUSED: Final = f"{COMPONENTS}::test_components_that_violate_the_contract_are_refused"
ENVSUBST: Final = "oracle/test_samples.py::test_the_samples_of_a_pure_topic_pass"
LISTED: Final = f"{COMPONENTS}::test_variables_are_filled_in_and_listed"

METADATA: Final = [
    Row(
        ("repository", "metadata-told"),
        (128,),
        ("clusterctl/metadata.py", "clusterctl/provider.py"),
        ("clusterctl/test_metadata.py::test_a_missing_file_is_reported_with_the_provider",),
    ),
    Row(
        ("metadata-version", "metadata-kind", "release-series", "metadata-told"),
        (130, 132, 135, 137, 138, 140, 142, 143),
        ("clusterctl/metadata.py",),
        (
            "clusterctl/test_metadata.py::"
            "test_a_version_keeps_to_the_contract_of_its_release_series",
            "clusterctl/test_metadata.py::test_every_mistake_of_the_file_is_reported",
            "clusterctl/test_metadata.py::test_broken_yaml_is_reported_with_its_line",
        ),
    ),
    Row(
        ("metadata-counts", "release-in-series"),
        (145, 149),
        ("clusterctl/metadata.py",),
        (
            "clusterctl/test_metadata.py::test_a_version_without_a_release_series_is_refused",
            "clusterctl/test_upgrade.py::test_metadata_without_the_installed_series_is_reported",
        ),
    ),
]

FILE: Final = [
    Row(
        ("installed",),
        (155,),
        (READING, "clusterctl/install/providers.py"),
        ("clusterctl/test_install.py::test_a_first_init_installs_the_usual_providers_too",),
    ),
    Row(
        ("components-name",),
        (161, *range(163, 170)),
        ("clusterctl/config/providers.py", "clusterctl/repository/folder.py"),
        (
            "oracle/test_clusterctl.py::test_the_samples_pass",
            "clusterctl/repository/test_folders.py::test_a_local_folder_is_a_repository",
        ),
    ),
    Row(
        ("namespace",),
        (173,),
        (READING,),
        (f"{COMPONENTS}::test_the_namespace_of_the_file_is_the_default_target",),
    ),
    Row(
        ("in-namespace",),
        (175,),
        (NAMESPACE,),
        (
            f"{COMPONENTS}::test_everything_is_in_the_target_namespace",
            f"{COMPONENTS}::test_objects_that_are_not_namespaced_get_no_namespace",
        ),
    ),
    Row(
        ("namespace-needed",),
        (177,),
        (READING,),
        (REFUSED, f"{COMPONENTS}::test_a_namespace_is_added_where_the_file_has_none"),
    ),
    Row(
        ("one-namespace", "namespaces-refused"),
        (179,),
        (READING,),
        (
            REFUSED,
            "clusterctl/test_install.py::"
            "test_unavailable_providers_are_reported_before_anything_is_written",
        ),
    ),
]

MANAGERS: Final = [
    Row(
        ("manager", "rules-told"),
        (183, 185),
        (CHECKS, "clusterctl/components/images.py"),
        (WARNED,),
    ),
    Row(
        ("namespace-flag",),
        (187,),
        ("cli/controller_options.py",),
        ("apps/test_manager_flags.py::test_a_manager_can_be_limited_to_one_namespace",),
    ),
    Row(
        ("watching",),
        (187,),
        ("clusterctl/components/watching.py", CHECKS),
        (
            f"{COMPONENTS}::test_a_manager_watches_all_namespaces",
            "clusterctl/test_install.py::test_a_second_instance_is_refused_and_the_first_one_named",
        ),
    ),
    Row(
        ("images",),
        (189,),
        ("clusterctl/config/images.py",),
        ("clusterctl/config/test_settings.py::test_an_image_without_its_whole_name_is_reported",),
    ),
]

SUBSTITUTION: Final = [
    Row(
        ("substitution", "variable-names"),
        (193,),
        (VARIABLES, "clusterctl/envsubst/__init__.py"),
        (LISTED,),
    ),
    Row(
        ("substitution",),
        (195,),
        (VARIABLES,),
        ("clusterctl/test_variables.py::test_all_missing_variables_are_named_at_once", ENVSUBST),
    ),
    Row(
        ("substitution-refused",),
        (197,),
        (VARIABLES,),
        (
            "clusterctl/test_variables.py::"
            "test_a_substitution_that_cannot_be_read_is_shown_with_its_line",
        ),
    ),
    Row(
        ("functions",),
        (199, 205),
        ("clusterctl/envsubst/functions.py", "clusterctl/envsubst/parser.py"),
        (ENVSUBST, "clusterctl/test_variables.py::test_any_text_is_filled_in_or_refused"),
    ),
    Row(("functions",), (202, 203, 205), ("clusterctl/envsubst/functions.py",), (ENVSUBST, LISTED)),
    Row(
        ("variables-told", "variables-listed"),
        (207,),
        ("cli/generate_provider.py", "cli/generate_cluster.py"),
        (
            "cli/test_generate.py::test_a_provider_is_described",
            "cli/test_generate.py::test_variables_are_listed_the_required_ones_first",
        ),
    ),
]

LABELS: Final = [
    Row(
        ("labels", "rules-told"),
        (211,),
        (CHECKS, "clusterctl/install/providers.py"),
        (
            WARNED,
            "clusterctl/test_install.py::test_objects_applied_by_kubectl_are_adopted_unchanged",
        ),
    ),
    Row(
        ("label-names",),
        (213, 215),
        ("clusterctl/provider.py", "clusterctl/config/providers.py"),
        (
            "clusterctl/config/test_settings.py::"
            "test_predefined_providers_have_the_labels_of_the_contract",
        ),
    ),
]

OWNERS: Final = [
    Row(
        ("owners", "owners-told"),
        (289, 295),
        ("clusterctl/move/graph.py", "clusterctl/move/discovery.py"),
        (
            "clusterctl/move/test_rules.py::test_descendants_of_a_cluster_are_moved",
            "e2e/test_move.py::test_a_cluster_moves_to_another_plane_and_is_reached_there",
        ),
    ),
    Row(("owners-set",), (291, 293), ("contract/ownership.py",), (LIVES, RELEASED)),
]

FURTHER: Final = [
    Row(
        ("components-changed",),
        (301, 303),
        (READING, NAMESPACE),
        (
            LISTED,
            f"{COMPONENTS}::test_everything_is_in_the_target_namespace",
            f"{COMPONENTS}::test_every_object_has_the_labels_of_the_provider_and_keeps_its_own",
            "oracle/test_recorded.py::test_generated_yaml_is_upstreams_to_the_byte",
        ),
    ),
    Row(
        ("templates-changed",),
        (307, 309),
        ("clusterctl/templates/generate.py",),
        (
            clusterctl_templates.ONE_NAMESPACE,
            "oracle/test_recorded.py::test_generated_yaml_is_upstreams_to_the_byte",
        ),
    ),
    Row(
        ("links", "links-left"),
        (313, 315, 317),
        (READING,),
        (f"{COMPONENTS}::test_referenced_objects_may_be_missing_in_the_file",),
    ),
]

KEPT: Final = Kept(
    document=clusterctl.DOCUMENT,
    view=None,
    source="seeds/clusterctl-provider-contract.ko.txt",
    pattern=r"\S",
    rows=[
        *clusterctl_repositories.ROWS,
        *METADATA,
        *FILE,
        *MANAGERS,
        *SUBSTITUTION,
        *LABELS,
        *clusterctl_templates.ROWS,
        *OWNERS,
        *FURTHER,
        *clusterctl_move.ROWS,
    ],
    aside={
        # Titles.
        *(1, 3, 5, 6, 10, 26, 30, 34, 38, 54, 58, 64, 77, 117, 126, 153, 159, 171, 181, 191, 209),
        *(217, 225, 233, 239, 245, 253, 259, 267, 277, 283, 287, 297, 299, 305, 311, 319),
        *(331, 339),
        # Decisions on the list of providers, and their times.
        *(36, 40, 42, 44, 50, 52),
        # Where else to read.
        *(28, 73, 147, 151),
        # "The following rules apply".
        *(157, 223, 257),
        # References and comments of readers.
        *range(345, 360),
    },
)
