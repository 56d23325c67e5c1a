"""The proposal from its glossary to its notes: what the Runtime SDK is for."""

from __future__ import annotations

from typing import Final

from tests.hooks.proposal.section import Section, row

LIFE: Final = "stories/test_extensions.py::test_extensions_follow_the_life_of_a_cluster"
PATCHES: Final = (
    "stories/test_extensions.py::"
    "test_extensions_patch_and_check_templates_with_variables_of_their_own"
)
TAKEN: Final = "stories/test_extensions.py::test_a_removed_extension_blocks_nothing"
REPLACED: Final = (
    "core/extensionconfig/test_stories.py::test_handlers_are_those_of_the_last_successful_discovery"
)
CATALOG: Final = "hooks/test_openapi.py::test_the_catalog_has_the_hooks_of_upstreams"
OPENAPI: Final = "hooks/test_openapi.py::test_the_openapi_document_equals_upstreams"
HOW_TO: Final = "hooks/test_evolution.py::test_a_new_version_is_one_module_as_the_how_to_says"
OWN: Final = "hooks/test_own_hooks.py::test_a_hook_of_a_provider_is_discovered_and_called"
RELEASED: Final = "hooks/test_evolution.py::test_released_hooks_stay_compatible"
DEPRECATION: Final = "hooks/test_evolution.py::test_deprecations_follow_the_policy"
LOST: Final = "clusterctl/test_upgrade.py::test_extensions_that_would_stop_working_are_named"
WARNED: Final = (
    "core/extensionconfig/test_stories.py"
    "::test_writing_a_config_of_deprecated_hooks_causes_a_warning"
)
COUNTED: Final = "hooks/test_caller.py::test_calls_are_counted_and_traced"
ANSWERS: Final = "hooks/test_authoring.py::test_handlers_return_responses"
AUTHOR: Final = "hooks/test_how_to.py::test_the_test_of_the_how_to_passes"
KEPT: Final = "testing/test_extension_conformance.py::test_a_good_extension_keeps_every_rule"
PLANE: Final = "apps/extension_server/test_plane.py::test_a_plane_calls_its_extensions"
_EXAMPLES: Final = "examples/test_extensions.py::"
STEPS: Final = (
    "topology/test_hooks_of_upgrades.py::test_an_upgrade_over_two_minors_calls_every_hook"
)
HOLDS: Final = "stories/test_lifecycle_hooks.py::test_a_blocking_hook_delays_every_step"

SECTIONS: Final = (
    Section(
        "Glossary",
        (
            row(
                (1, 2),
                "A hook is a moment of a Cluster's life at which controllers ask; an extension is "
                "a server that they ask; the SDK is the rules, messages and tools of both.",
                CATALOG,
                LIFE,
            ),
        ),
    ),
    Section(
        "Summary",
        (row(1, "Products built upon Cluster API hook into the life of clusters.", LIFE),),
    ),
    Section(
        "Motivation",
        (
            row((1, 3), "Providers can be replaced; products on top need another way in.", LIFE),
            row(
                4,
                "Extensions replace no provider: they act on clusters of whatever provider.",
                PATCHES,
            ),
            row(
                5,
                "A program that only watches objects cannot hold them; an extension can: no "
                "cluster is made while a quota is exhausted.",
                f"{_EXAMPLES}test_the_quota_example_blocks_creation",
                TAKEN,
            ),
            row(
                (6, 8),
                "One mechanism serves all moments, where annotations of Machines served one: hooks "
                "that are asked, extensions that answer.",
                HOLDS,
                CATALOG,
            ),
            row(9, "An extension can give patches each time a topology is computed.", PATCHES),
        ),
    ),
    Section(
        "Goals",
        (
            row(
                (1, 2),
                "Rules for new, changed, deprecated and removed versions; refusal of an upgrade "
                "that would break an extension; the parts that core needs for it; advice for "
                "authors; registration.",
                RELEASED,
                HOW_TO,
                WARNED,
                LOST,
                AUTHOR,
                REPLACED,
            ),
        ),
    ),
    Section(
        "Non-Goals",
        (
            row(
                1,
                "Other proposals define the hooks (all of v1.14 are here), and hooks replace no "
                "provider.",
                CATALOG,
                PATCHES,
            ),
        ),
    ),
    Section(
        "Future Work",
        (
            row(
                1,
                "The hooks are there; calls are counted by version, duration and outcome; "
                "providers can define hooks of their own.",
                CATALOG,
                COUNTED,
                OWN,
            ),
        ),
    ),
    Section(
        "User Stories",
        (
            row(
                1,
                "An operator acts before a creation, an upgrade or a deletion and after an "
                "upgrade, and gives patches instead of inline ones.",
                f"{_EXAMPLES}test_the_quota_example_blocks_creation",
                f"{_EXAMPLES}test_the_change_freeze_example_blocks_upgrades",
                f"{_EXAMPLES}test_the_backup_example_runs_before_deletion",
                f"{_EXAMPLES}test_the_registry_example_patches_templates",
                LIFE,
            ),
            row(2, "An author knows how long a version is supported.", RELEASED, DEPRECATION),
            row(3, "An extension is simpler to write than a controller.", AUTHOR, ANSWERS),
            row(4, "An extension can hold or put off what comes next.", HOLDS, STEPS),
            row(
                5,
                "A library makes extensions quick to write and alike (here in Python).",
                ANSWERS,
                f"{_EXAMPLES}test_every_example_keeps_the_rules",
            ),
            row(
                6,
                "Extensions come, change and go while everything runs.",
                REPLACED,
                TAKEN,
                "hooks/test_registry.py::test_handlers_of_discovered_extensions_are_called",
            ),
            row((7, 8), "Maintainers promise versions, and keep to it.", RELEASED, DEPRECATION),
            row(9, "A new hook is one module; all else is made of it.", HOW_TO, OWN),
        ),
    ),
    Section(
        "Implementation Details/Notes/Constraints",
        (
            row(
                (1, 2),
                "Requests are plain JSON over HTTPS, so extensions are easy to write in any "
                "language.",
                KEPT,
                "hooks/test_https.py::test_a_trusted_server_is_called",
            ),
            row(
                (3, 5),
                "One party defines hooks and another one answers them; rules say what each may "
                "expect of the other.",
                RELEASED,
                KEPT,
                "testing/test_extension_conformance.py::test_a_bad_extension_breaks_its_rule",
            ),
        ),
    ),
    Section(
        "Cluster API Runtime Hooks vs Kubernetes admission webhooks",
        (
            row(
                (1, 3),
                "Hooks are moments of a cluster's life, whatever is written to the API server "
                "meanwhile: while nothing happens to a Cluster nobody is asked.",
                STEPS,
                PATCHES,
            ),
            row(
                4,
                "Rules of webhooks do not apply to hooks: an answer that waits is asked for again, "
                "a failure policy ignores no refusal.",
                "hooks/test_caller.py::test_failures_in_a_response_are_never_ignored",
                "topology/test_hooks_of_upgrades.py::"
                "test_an_answer_blocks_the_next_step_until_its_retry",
            ),
        ),
    ),
)
