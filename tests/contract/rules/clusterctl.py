"""The clusterctl provider contract (`../shared/seeds/clusterctl-provider-contract.ko.txt`)."""

from __future__ import annotations

from typing import Final

from tests.contract.rules import clusterctl_move, clusterctl_repositories, clusterctl_templates
from tests.contract.rules.rule import Document, Rule
from tests.contract.rules.shared import LIVES, RELEASED

READING: Final = "clusterctl/components/reading.py"
NAMESPACE: Final = "clusterctl/components/namespace.py"
CHECKS: Final = "clusterctl/components/checks.py"
VARIABLES: Final = "clusterctl/variables.py"
COMPONENTS: Final = "clusterctl/test_components.py"
WARNED: Final = f"{COMPONENTS}::test_rules_that_upstream_does_not_enforce_are_warnings"
REFUSED: Final = f"{COMPONENTS}::test_what_breaks_the_contract_is_refused"
ENVSUBST: Final = "oracle/test_samples.py::test_the_samples_of_a_pure_topic_pass"
LISTED: Final = f"{COMPONENTS}::test_variables_are_filled_in_and_listed"

METADATA: Final = [
    Rule(
        "2 Metadata YAML",
        "MUST",
        (128,),
        "A provider publishes `metadata.yaml`; without it no version is installed, and the message "
        "names provider and file.",
        ("clusterctl/metadata.py", "clusterctl/provider_files.py"),
        ("clusterctl/test_metadata.py::test_a_missing_file_is_told_with_the_provider",),
    ),
    Rule(
        "2 Metadata YAML",
        "MUST",
        (130, 132, 135, 137, 138, 140, 142, 143),
        "It has the release series, each with the contract (API version of Cluster API) that its "
        "versions keep to; every mistake of the file is told.",
        ("clusterctl/metadata.py",),
        (
            "clusterctl/test_metadata.py::"
            "test_a_version_keeps_to_the_contract_of_its_release_series",
            "clusterctl/test_metadata.py::test_every_mistake_of_the_file_is_told",
            "clusterctl/test_metadata.py::test_broken_yaml_is_told_with_its_line",
        ),
    ),
    Rule(
        "2 Metadata YAML",
        "kapy",
        (145, 149),
        "No metadata is built in: what a release says of itself counts, so that newer releases "
        "need no newer kapy.",
        ("clusterctl/metadata.py",),
        (
            "clusterctl/test_metadata.py::test_a_version_that_belongs_nowhere_is_refused",
            "clusterctl/test_upgrade.py::test_metadata_without_the_installed_series_is_told",
        ),
    ),
]

FILE: Final = [
    Rule(
        "3 Components YAML",
        "MUST",
        (155,),
        "One YAML file has all that is needed to install the provider: CRDs, Deployments, RBAC.",
        (READING, "clusterctl/install/providers.py"),
        ("clusterctl/test_install.py::test_a_first_init_installs_the_usual_providers_too",),
    ),
    Rule(
        "3.1 Naming conventions",
        "SHOULD",
        (161, *range(163, 170)),
        "`core-components.yaml`, and `infrastructure-`, `bootstrap-`, `control-plane-`, `ipam-`, "
        "`runtime-extension-` and `addon-components.yaml`, are where predefined providers are "
        "read; another name is addressed by `url`.",
        ("clusterctl/config/predefined.py", "clusterctl/repository/folder.py"),
        (
            "oracle/test_clusterctl.py::test_the_samples_pass",
            "clusterctl/repository/test_near.py::test_a_folder_is_a_repository",
        ),
    ),
    Rule(
        "3.2 Target namespace",
        "SHOULD",
        (173,),
        "One Namespace object names the namespace where the provider goes by default.",
        (READING,),
        (f"{COMPONENTS}::test_the_namespace_of_the_file_is_the_default_target",),
    ),
    Rule(
        "3.2 Target namespace",
        "MUST",
        (175,),
        "All objects are in the target namespace, but for those that are not namespaced.",
        (NAMESPACE,),
        (
            f"{COMPONENTS}::test_everything_is_in_the_target_namespace",
            f"{COMPONENTS}::test_objects_that_are_not_namespaced_get_no_namespace",
        ),
    ),
    Rule(
        "3.2 Target namespace",
        "kapy",
        (177,),
        "Without a Namespace object, the user has to name one with `--target-namespace`.",
        (READING,),
        (REFUSED, f"{COMPONENTS}::test_a_namespace_is_added_where_the_file_has_none"),
    ),
    Rule(
        "3.2 Target namespace",
        "kapy",
        (179,),
        "More than one Namespace object is an error that names them, and nothing is installed.",
        (READING,),
        (
            REFUSED,
            "clusterctl/test_install.py::"
            "test_what_cannot_be_had_is_told_before_anything_is_written",
        ),
    ),
]

MANAGERS: Final = [
    Rule(
        "3.3 Controllers and watched namespaces",
        "MUST",
        (183, 185),
        "Controllers and extension servers run as Deployments, in a container called `manager`; a "
        "file without one is warned of.",
        (CHECKS, "clusterctl/components/images.py"),
        (WARNED,),
    ),
    Rule(
        "3.3 Controllers and watched namespaces",
        "MUST",
        (187,),
        "A manager takes `--namespace`, the namespace that it looks into. kapy's own do.",
        ("cli/controller_options.py",),
        ("apps/test_manager_flags.py::test_one_namespace_only",),
    ),
    Rule(
        "3.3 Controllers and watched namespaces",
        "kapy",
        (187,),
        "What is installed watches all namespaces: a manager that was told another one is told "
        "none, with a warning.",
        ("clusterctl/components/watching.py", CHECKS),
        (
            f"{COMPONENTS}::test_a_manager_watches_all_namespaces",
            "clusterctl/test_install.py::test_a_second_instance_is_refused_and_the_first_one_named",
        ),
    ),
    Rule(
        "3.3 Controllers and watched namespaces",
        "SHOULD",
        (189,),
        "Images have canonical names; where they have not, it is said which one.",
        ("clusterctl/config/images.py",),
        ("clusterctl/config/test_settings.py::test_an_image_without_its_whole_name_is_told",),
    ),
]

SUBSTITUTION: Final = [
    Rule(
        "3.4 Variables",
        "kapy",
        (193,),
        "`${VAR}` is replaced; the provider's name is a good beginning of a variable's.",
        (VARIABLES, "clusterctl/envsubst/__init__.py"),
        (LISTED,),
    ),
    Rule(
        "3.4 Variables",
        "kapy",
        (195,),
        "Blanks around the name do not matter: `${ VAR }`.",
        (VARIABLES,),
        ("clusterctl/test_variables.py::test_all_missing_variables_are_named_at_once", ENVSUBST),
    ),
    Rule(
        "3.4 Variables",
        "kapy",
        (197,),
        "`${VAR$FOO}` and what else cannot be read is refused, with line and place.",
        (VARIABLES,),
        (
            "clusterctl/test_variables.py::"
            "test_a_substitution_that_cannot_be_read_is_shown_with_its_line",
        ),
    ),
    Rule(
        "3.4 Variables",
        "kapy",
        (199, 205),
        "Substitution is that of drone/envsubst, with its functions.",
        ("clusterctl/envsubst/functions.py", "clusterctl/envsubst/parser.py"),
        (ENVSUBST, "clusterctl/test_variables.py::test_any_text_is_filled_in_or_refused"),
    ),
    Rule(
        "3.4 Variables",
        "kapy",
        (202, 203, 205),
        "Where VAR is not set or empty, `${VAR:=default}`, `${VAR=default}` and `${VAR:-default}` "
        "are the default.",
        ("clusterctl/envsubst/functions.py",),
        (ENVSUBST, LISTED),
    ),
    Rule(
        "3.4 Variables",
        "SHOULD",
        (207,),
        "A provider tells its users which variables there are; `generate provider --describe` and "
        "`generate cluster --list-variables` do so, too.",
        ("cli/generate_provider.py", "cli/generate_cluster.py"),
        (
            "cli/test_generate.py::test_a_provider_is_described",
            "cli/test_generate.py::test_variables_are_listed_the_required_ones_first",
        ),
    ),
]

LABELS: Final = [
    Rule(
        "3.5 Labels",
        "SHOULD",
        (211,),
        "All objects of a file have the label `cluster.x-k8s.io/provider`, so that what `kubectl "
        "apply` installed is taken over as it is; an object without it is warned of.",
        (CHECKS, "clusterctl/install/providers.py"),
        (WARNED, "clusterctl/test_install.py::test_what_kubectl_applied_is_taken_over_as_it_is"),
    ),
    Rule(
        "3.5 Labels",
        "kapy",
        (213, 215),
        "The label is the prefix of the provider's type and its name, for core `cluster-api`; the "
        "providers of the list have theirs.",
        ("clusterctl/provider.py", "clusterctl/config/predefined.py"),
        (
            "clusterctl/config/test_settings.py::"
            "test_predefined_providers_have_the_labels_of_the_contract",
        ),
    ),
]

OWNERS: Final = [
    Rule(
        "6 OwnerReferences chain",
        "MUST",
        (289, 295),
        "Everything of a provider leads to a Cluster by owner references; what does not is left "
        "behind by a move, which names it.",
        ("clusterctl/move/graph.py", "clusterctl/move/discovery.py"),
        (
            "clusterctl/move/test_rules.py::test_what_hangs_below_a_cluster",
            "e2e/test_move.py::test_a_cluster_moves_to_another_plane_and_is_reached_there",
        ),
    ),
    Rule(
        "6 OwnerReferences chain",
        "core",
        (291, 293),
        "What Cluster API's objects refer to gets its owner reference from core: infrastructure "
        "of a Cluster that of the Cluster, infrastructure of a Machine that of the Machine.",
        ("contract/ownership.py",),
        (LIVES, RELEASED),
    ),
]

FURTHER: Final = [
    Rule(
        "7.1 Transformations of components",
        "kapy",
        (301, 303),
        "Variables are replaced; the Namespace object gets the target's name, and all namespaced "
        "objects that namespace; all objects are labelled.",
        (READING, NAMESPACE),
        (
            LISTED,
            f"{COMPONENTS}::test_everything_is_in_the_target_namespace",
            f"{COMPONENTS}::test_every_object_has_the_labels_of_the_provider_and_keeps_its_own",
            "oracle/test_recorded.py::test_generated_yaml_is_upstreams_to_the_byte",
        ),
    ),
    Rule(
        "7.2 Transformations of cluster templates",
        "kapy",
        (307, 309),
        "Variables are replaced, and all objects get the target namespace; nothing else changes.",
        ("clusterctl/templates/generate.py",),
        (
            clusterctl_templates.ONE_NAMESPACE,
            "oracle/test_recorded.py::test_generated_yaml_is_upstreams_to_the_byte",
        ),
    ),
    Rule(
        "7.3 Links to external objects",
        "kapy",
        (313, 315, 317),
        "Files have all that they need; what they refer to elsewhere is neither looked for nor "
        "changed, and is its author's business.",
        (READING,),
        (f"{COMPONENTS}::test_what_a_file_refers_to_need_not_be_in_it",),
    ),
]

DOCUMENT: Final = Document(
    name="clusterctl",
    title="clusterctl provider",
    view=None,
    source="seeds/clusterctl-provider-contract.ko.txt",
    pattern=r"\S",
    rules=[
        *clusterctl_repositories.RULES,
        *METADATA,
        *FILE,
        *MANAGERS,
        *SUBSTITUTION,
        *LABELS,
        *clusterctl_templates.RULES,
        *OWNERS,
        *FURTHER,
        *clusterctl_move.RULES,
    ],
    aside={
        # Titles.
        *(1, 3, 5, 6, 10, 26, 30, 34, 38, 54, 58, 64, 77, 117, 126, 153, 159, 171, 181, 191, 209),
        *(217, 225, 233, 239, 245, 253, 259, 267, 277, 283, 287, 297, 299, 305, 311, 319),
        *(331, 339),
        # Who decides on the list of providers, and when.
        *(36, 40, 42, 44, 50, 52),
        # Where else to read.
        *(28, 73, 147, 151),
        # "The following rules apply".
        *(157, 223, 257),
        # References and comments of readers.
        *range(345, 360),
    },
)
