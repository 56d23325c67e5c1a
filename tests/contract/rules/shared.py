"""Rules that every contract document has in the same words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.contract.rules.rule import Rule

LIVES: Final = (
    "providers/scripted/test_lives.py::test_clusters_of_all_providers_live_and_die_side_by_side"
)
RELEASED: Final = (
    "providers/scripted/test_released.py::test_a_released_provider_is_moved_through_its_life"
)
DEFINITIONS: Final = "api/test_crds.py::test_a_crd_is_the_released_one"
FIELDS: Final = "contract/test_fields.py::test_a_field_is_read_where_its_contract_says"
SCHEMAS: Final = "contract/test_resolve.py::test_a_schema_has_every_mandatory_field"
BROKEN_CLUSTERS: Final = (
    "contract/test_broken_providers.py::test_a_cluster_says_how_its_parts_break_the_contract"
)
BROKEN_MACHINES: Final = (
    "contract/test_broken_providers.py::test_a_machine_says_how_its_parts_break_the_contract"
)
CONDITIONS: Final = (
    "contract/test_broken_providers.py::test_conditions_that_cannot_be_read_are_told"
)
RIGHTS: Final = "contract/test_rights.py::test_a_group_of_its_own_is_read_once_core_may"
SDK_MACHINES: Final = "sdk/test_infra_machine.py::test_a_good_provider_conforms"
SDK_CLUSTERS: Final = "sdk/test_infra_cluster.py::test_a_good_provider_conforms"
FLAG_NAMESPACE: Final = "apps/test_manager_flags.py::test_one_namespace_only"
FLAG_FILTER: Final = (
    "apps/test_manager_flags.py::test_a_watch_filter_leaves_alone_what_has_not_the_label"
)


def scope(lines: Sequence[int]) -> Rule:
    """All resources: scope."""
    return Rule(
        "All resources: scope",
        "MUST",
        lines,
        "All resources are namespaced. Core refuses a CRD of scope Cluster, by name.",
        ("contract/definitions.py",),
        ("contract/test_resolve.py::test_resources_are_namespaced", DEFINITIONS),
    )


def metadata(lines: Sequence[int]) -> Rule:
    """All resources: TypeMeta and ObjectMeta."""
    return Rule(
        "All resources: TypeMeta and ObjectMeta",
        "MUST",
        lines,
        "Objects have apiVersion, kind and metadata; of the latter, core writes owner references "
        "and the cluster's label, and nothing else of the object.",
        ("contract/ownership.py", "sdk/lens.py"),
        (LIVES, RELEASED),
    )


def api_version(
    general: Sequence[int],
    group: Sequence[int],
    policy: Sequence[int],
    label: Sequence[int],
    value: Sequence[int],
) -> list[Rule]:
    """All resources: APIVersion field value."""
    return [
        Rule(
            "All resources: APIVersion",
            "MUST",
            general,
            "Group and version of what core refers to are looked after: the group stands in the "
            "reference, the version follows from the CRD.",
            ("contract/external.py", "apps/conversion.py"),
            (
                "contract/test_external.py::"
                "test_objects_are_read_in_the_version_that_the_crd_names_now",
                LIVES,
            ),
        ),
        Rule(
            "All resources: API group",
            "MUST",
            group,
            "A provider with an API group of its own gives core full rights with a ClusterRole "
            'labelled `cluster.x-k8s.io/aggregate-to-manager: "true"`; a condition asks for it '
            "where it lacks.",
            ("contract/external.py",),
            (RIGHTS, "contract/test_external.py::test_a_failed_read_is_not_absence", LIVES),
        ),
        *(
            [
                Rule(
                    "All resources: version",
                    "SHOULD",
                    policy,
                    "Versions follow Kubernetes' deprecation policy and need not be those of core: "
                    "any spelling is read, ordered as Kubernetes orders versions.",
                    ("contract/resolve.py",),
                    ("contract/test_resolve.py::test_versions_have_an_order", LIVES),
                )
            ]
            if policy
            else []
        ),
        Rule(
            "All resources: version",
            "MUST",
            label,
            "The CRD has a label `cluster.x-k8s.io/<contract version>`: the newest contract that "
            "core understands wins; without one, a condition names CRD and label.",
            ("contract/resolve.py",),
            (
                "contract/test_resolve.py::"
                "test_the_newest_contract_and_of_it_the_newest_version_win",
                "contract/test_resolve.py::test_without_a_known_contract_nothing_can_be_read",
                "contract/test_broken_providers.py::"
                "test_a_crd_without_a_contract_is_told_until_it_has_one",
            ),
        ),
        Rule(
            "All resources: version",
            "MUST",
            value,
            "Its value is a list of versions joined by underscores, each one of the CRD's: the "
            "newest that the CRD has and serves is taken; if there is none, a condition names CRD, "
            "label and version.",
            ("contract/resolve.py",),
            (
                "contract/test_resolve.py::"
                "test_versions_that_the_crd_lacks_or_does_not_serve_are_passed_over",
                "contract/test_resolve.py::test_a_label_without_any_version_to_take_is_told",
                "contract/test_broken_providers.py::test_templates_that_cannot_be_read_are_told",
                "contract/test_broken_providers.py::"
                "test_a_crd_without_a_contract_is_told_until_it_has_one",
            ),
        ),
    ]


def definition(kind: str, define: Sequence[int], lists: Sequence[int]) -> list[Rule]:
    """Resource and list definition."""
    section = f"{kind}, {kind}List resource definition"
    found = [
        Rule(
            section,
            "MUST",
            define,
            f"There is a {kind}, its CRD named as CalculateCRDName names it: by that name alone "
            "core finds it, and says it when it is not there.",
            ("contract/crd_names.py", "kube/plural.py"),
            (
                "kube/test_plural.py::test_plurals",
                "contract/test_broken_providers.py::"
                "test_a_kind_that_nobody_installed_is_waited_for",
                RELEASED,
            ),
        )
    ]
    if lists:
        found.append(
            Rule(
                section,
                "MUST",
                lists,
                f"Its list is called {kind}List.",
                ("api/crds.py", "apiserver/verbs/reading.py"),
                (DEFINITIONS, LIVES),
            )
        )
    return found


def internals(lines: Sequence[int], kind: str) -> Rule:
    """Nothing but the contract may be relied on."""
    return Rule(
        "Never rely on Cluster API behaviours not defined as a contract rule",
        "MUST",
        lines,
        f"The maker of {kind}s relies on the contract alone: providers use `kapy.sdk` "
        "or are written in any language, and live under this core without knowing it.",
        ("sdk/__init__.py",),
        (LIVES, RELEASED),
    )


def instances(lines: Sequence[int]) -> Rule:
    """--namespace and --watch-filter."""
    return Rule(
        "Support for running multiple instances",
        "SHOULD",
        lines,
        "Controllers know `--namespace` and `--watch-filter`.",
        ("engine/options.py",),
        (FLAG_NAMESPACE, FLAG_FILTER),
    )


def pausing(
    kind: str, lines: Sequence[int], shown: Sequence[int], held: Sequence[str]
) -> list[Rule]:
    """Pausing, and the Paused condition."""
    section = f"{kind}: pausing"
    kept = ("conditions/paused.py",)
    return [
        Rule(
            section,
            "SHOULD",
            lines,
            "Nothing is done while `spec.paused` of the Cluster or the annotation "
            "`cluster.x-k8s.io/paused` of the object says so.",
            kept,
            held,
        ),
        Rule(
            section,
            "SHOULD",
            shown,
            "The Paused condition says which of the two it is.",
            kept,
            held,
        ),
    ]
