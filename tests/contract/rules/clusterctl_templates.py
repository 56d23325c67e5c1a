"""Sections 4 and 5 of the clusterctl provider contract: cluster templates and ClusterClasses."""

from __future__ import annotations

from typing import Final

from tests.contract.rules.rule import Rule

SOURCES: Final = "clusterctl/templates/sources.py"
CLASSES: Final = "clusterctl/templates/classes.py"
GENERATE: Final = "clusterctl/templates/generate.py"
TEMPLATES: Final = "clusterctl/test_templates.py"
ONE_NAMESPACE: Final = f"{TEMPLATES}::test_a_template_is_filled_and_put_into_one_namespace"
ADDED: Final = f"{TEMPLATES}::test_a_cluster_class_comes_before_the_cluster_that_is_made_of_it"
LISTED: Final = "cli/test_generate.py::test_variables_are_listed_the_required_ones_first"
RECORDED: Final = "oracle/test_recorded.py::test_generated_yaml_is_upstreams_to_the_byte"

RULES: Final = [
    Rule(
        "4 Workload cluster templates",
        "SHOULD",
        (219,),
        "`generate cluster` prints all objects of a workload cluster, from one YAML file.",
        (SOURCES, GENERATE),
        (ONE_NAMESPACE, RECORDED),
    ),
    Rule(
        "4 Workload cluster templates",
        "SHOULD",
        (221,),
        "A template with a managed topology needs the Cluster only, and a ClusterClass.",
        (CLASSES,),
        (ADDED, RECORDED),
    ),
    Rule(
        "4.1 Naming conventions",
        "MUST",
        (227, 229),
        "Templates are beside the components: `cluster-template.yaml`, and "
        "`cluster-template-FLAVOR.yaml` for `--flavor FLAVOR`.",
        (SOURCES,),
        (ADDED, f"{TEMPLATES}::test_templates_that_cannot_be_used_are_refused"),
    ),
    Rule(
        "4.1 Naming conventions",
        "SHOULD",
        (231,),
        "A provider tells its users which templates there are; who asks for one that is not there "
        "is told those that are.",
        ("clusterctl/repository/releases.py",),
        (
            "clusterctl/repository/test_near.py::"
            "test_what_a_folder_does_not_have_is_told_with_what_it_has",
            "clusterctl/repository/test_far.py::test_an_asset_that_a_release_does_not_have_is_told",
        ),
    ),
    Rule(
        "4.2 Target namespace",
        "MUST",
        (235, 237),
        "All objects are in one namespace, which is there already: none is added.",
        (GENERATE,),
        (ONE_NAMESPACE,),
    ),
    Rule(
        "4.3 Variables",
        "kapy",
        (241,),
        "Templates have variables, as components have.",
        (GENERATE,),
        (ONE_NAMESPACE, f"{TEMPLATES}::test_all_variables_that_are_missing_are_named"),
    ),
    Rule(
        "4.3 Variables",
        "SHOULD",
        (243,),
        "A provider tells its users what they mean; `--list-variables` says which there are.",
        ("cli/generate_cluster.py",),
        (LISTED, f"{TEMPLATES}::test_variables_are_listed_with_their_defaults"),
    ),
    Rule(
        "4.3.1 Common variables",
        "kapy",
        (247, 249, 251),
        "NAMESPACE, KUBERNETES_VERSION, CONTROL_PLANE_MACHINE_COUNT and WORKER_MACHINE_COUNT are "
        "what the flags say, also `--controlplane-machine-count`; CLUSTER_NAME is the argument.",
        ("clusterctl/templates/wishes.py", "cli/generate_cluster.py"),
        (
            "cli/test_generate.py::test_a_cluster_is_printed",
            f"{TEMPLATES}::test_counts_come_from_flags_then_the_environment_then_are_one_and_none",
        ),
    ),
    Rule(
        "5 ClusterClass definitions",
        "SHOULD",
        (255,),
        "A provider may have ClusterClasses that are used along with its templates.",
        (CLASSES,),
        (ADDED,),
    ),
    Rule(
        "5.1 Naming conventions",
        "MUST",
        (261, 263),
        "The definition of a class NAME is `clusterclass-NAME.yaml`, beside the components; NAME "
        "is that of the Cluster's topology.",
        (CLASSES,),
        (ADDED, f"{TEMPLATES}::test_templates_that_cannot_be_used_are_refused"),
    ),
    Rule(
        "5.1 Naming conventions",
        "SHOULD",
        (265,),
        "A provider tells its users which classes there are; one that is not there is named.",
        (CLASSES,),
        (f"{TEMPLATES}::test_templates_that_cannot_be_used_are_refused",),
    ),
    Rule(
        "5.2 Target namespace",
        "SHOULD",
        (269, 271, 273),
        "Neither the objects of a class nor its references name a namespace, which is there "
        "already: they get that of the class.",
        (CLASSES,),
        (ADDED, f"{TEMPLATES}::test_a_cluster_class_of_another_namespace_goes_there"),
    ),
    Rule(
        "5.2 Target namespace",
        "SHOULD",
        (275,),
        "Classes share no objects; an object that is there already is never changed by the class "
        "of a template.",
        (CLASSES,),
        (f"{TEMPLATES}::test_half_a_cluster_class_is_not_added_to",),
    ),
    Rule(
        "5.3 Variables",
        "SHOULD",
        (279, 281),
        "Classes have variables of their own, and should have no others; those that are there are "
        "replaced and listed, as upstream does.",
        (CLASSES,),
        (ADDED, RECORDED),
    ),
    Rule(
        "5.4 Notes",
        "kapy",
        (285,),
        "A class is added to what `generate cluster` prints, unless the management cluster has it.",
        (CLASSES,),
        (
            ADDED,
            f"{TEMPLATES}::test_a_cluster_class_that_is_there_is_left_out",
            f"{TEMPLATES}::test_a_management_cluster_without_cluster_api_has_no_classes",
        ),
    ),
]
