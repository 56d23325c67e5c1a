"""Where rules are kept that contract documents have in the same words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.contract.rules.row import Row

LIVES: Final = (
    "providers/scripted/test_lives.py::test_clusters_of_all_providers_live_and_die_side_by_side"
)
RELEASED: Final = (
    "providers/scripted/test_released.py::test_core_manages_objects_of_a_released_provider"
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
    "contract/test_broken_providers.py::test_conditions_that_cannot_be_read_are_reported"
)
IN_MEMORY: Final = (
    "providers/inmemory/test_conformance.py::test_the_in_memory_provider_keeps_every_rule"
)
RIGHTS: Final = "contract/test_rights.py::test_a_custom_group_is_read_once_core_may_read_it"
SDK_MACHINES: Final = "sdk/test_infra_machine.py::test_a_good_provider_conforms"
SDK_CLUSTERS: Final = "sdk/test_infra_cluster.py::test_a_good_provider_conforms"
FLAG_NAMESPACE: Final = "apps/test_manager_flags.py::test_a_manager_can_be_limited_to_one_namespace"
FLAG_FILTER: Final = (
    "apps/test_manager_flags.py::test_a_watch_filter_ignores_objects_without_the_label"
)


def scope(lines: Sequence[int]) -> Row:
    """All resources: scope."""
    return Row(
        ("scope",),
        lines,
        ("contract/external.py",),
        ("contract/test_resolve.py::test_resources_are_namespaced", DEFINITIONS),
    )


def metadata(lines: Sequence[int]) -> Row:
    """All resources: TypeMeta and ObjectMeta."""
    return Row(
        ("metadata", "owner-set"),
        lines,
        ("contract/ownership.py", "sdk/contract_objects.py"),
        (LIVES, RELEASED),
    )


def api_version(
    general: Sequence[int],
    group: Sequence[int],
    policy: Sequence[int],
    label: Sequence[int],
    value: Sequence[int],
) -> list[Row]:
    """All resources: APIVersion field value."""
    return [
        Row(
            ("references",),
            general,
            ("contract/external.py", "apps/conversion.py"),
            (
                "contract/test_external.py::"
                "test_objects_are_read_in_the_version_that_the_crd_names_now",
                LIVES,
            ),
        ),
        Row(
            ("rights", "rights-asked"),
            group,
            ("contract/external.py",),
            (RIGHTS, "contract/test_external.py::test_a_failed_read_is_not_absence", LIVES),
        ),
        Row(
            ("deprecation", "version-read"),
            policy,
            ("contract/resolve.py",),
            ("contract/test_resolve.py::test_versions_have_an_order", LIVES),
        ),
        Row(
            ("contract-label", "version-read", "broken-told"),
            label,
            ("contract/resolve.py",),
            (
                "contract/test_resolve.py::"
                "test_the_newest_contract_and_of_it_the_newest_version_win",
                "contract/test_resolve.py::test_without_a_known_contract_nothing_can_be_read",
                "contract/test_broken_providers.py::"
                "test_a_crd_without_a_contract_is_reported_until_it_has_one",
            ),
        ),
        Row(
            ("label-versions", "version-read", "broken-told"),
            value,
            ("contract/resolve.py",),
            (
                "contract/test_resolve.py::"
                "test_versions_that_the_crd_lacks_or_does_not_serve_are_passed_over",
                "contract/test_resolve.py::test_a_label_without_any_version_to_take_is_reported",
                "contract/test_broken_providers.py::test_templates_that_cannot_be_read_are_reported",
                "contract/test_broken_providers.py::"
                "test_a_crd_without_a_contract_is_reported_until_it_has_one",
            ),
        ),
    ]


def definition(define: Sequence[int], lists: Sequence[int]) -> list[Row]:
    """The kind and its list."""
    return _defined(("definition", "crd-name", "broken-told"), define, "list", lists)


def template(define: Sequence[int], lists: Sequence[int]) -> list[Row]:
    """The kind of templates and its list."""
    return _defined(("template", "template-name", "crd-name"), define, "template-list", lists)


def _defined(
    names: Sequence[str], define: Sequence[int], of_list: str, lists: Sequence[int]
) -> list[Row]:
    missing = "contract/test_broken_providers.py::test_a_kind_that_is_not_installed_is_awaited"
    return [
        Row(
            names,
            define,
            ("contract/resolve.py", "kube/plural.py"),
            ("kube/test_plural.py::test_kinds_have_plurals", missing, RELEASED),
        ),
        Row((of_list,), lists, ("api/crds.py", "apiserver/verbs/read.py"), (DEFINITIONS, LIVES)),
    ]


def internals(lines: Sequence[int]) -> Row:
    """Nothing but the contract may be relied on."""
    return Row(("internals",), lines, ("sdk/__init__.py",), (LIVES, RELEASED))


def instances(lines: Sequence[int]) -> Row:
    """--namespace and --watch-filter."""
    return Row(("instances",), lines, ("engine/options.py",), (FLAG_NAMESPACE, FLAG_FILTER))


def pausing(lines: Sequence[int], entries: Sequence[int], held: Sequence[str]) -> list[Row]:
    """Pausing, and the Paused condition."""
    modules = ("conditions/paused.py",)
    return [
        Row(("pausing",), lines, modules, held),
        Row(("paused-condition",), entries, modules, held),
    ]
