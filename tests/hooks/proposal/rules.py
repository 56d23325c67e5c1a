"""The proposal's rules of evolution, how hooks are made, and what was decided about them."""

from __future__ import annotations

from typing import Final

from tests.hooks.proposal.purpose import (
    CATALOG,
    COUNTED,
    DEPRECATION,
    HOW_TO,
    KEPT,
    LIFE,
    LOST,
    OPENAPI,
    OWN,
    PLANE,
    RELEASED,
    WARNED,
)
from tests.hooks.proposal.section import Section, row

_EVOLUTION: Final = "hooks/test_evolution.py::"
CHANGED: Final = f"{_EVOLUTION}test_a_released_version_does_not_change"
CONVERTED: Final = f"{_EVOLUTION}test_versions_convert_into_each_other"
OLDER: Final = (
    "hooks/test_caller.py::test_an_extension_of_an_older_version_gets_requests_of_that_version"
)
PRINTED: Final = "hooks/test_how_to.py::test_the_reference_is_the_one_that_is_printed"
SEVERAL: Final = "hooks/test_caller.py::test_handlers_answer_together_in_the_order_of_their_names"
DISCOVERS: Final = "hooks/test_authoring.py::test_discovery_lists_the_handlers"
RECORDED: Final = (
    "core/extensionconfig/test_recorded_discovery.py::test_discovery_is_reported_as_it_was_recorded"
)

SECTIONS: Final = (
    Section(
        "Runtime SDK rules",
        (
            row(
                (1, 3),
                "One OpenAPI v3 document describes all hooks; it comes with each release, and is a "
                "page of the documentation.",
                OPENAPI,
                PRINTED,
                "hooks/test_openapi.py::test_the_command_prints_the_openapi_document",
            ),
            row(
                4,
                "A hook is a POST of a JSON request that is answered with a JSON response; both "
                "schemas are part of the hook.",
                "hooks/test_openapi.py::"
                "test_every_reference_resolves_and_everything_has_a_description",
                "apps/extension_server/test_protocol.py::test_requests_get_the_right_status",
            ),
            row((5, 7), "Several versions of a hook are there at once.", HOW_TO, OLDER),
            row(
                (8, 9),
                "Within a version nothing breaks; an old version stays for its time: 12 months and "
                "3 releases, 6 and 2 for a beta, none for an alpha.",
                CHANGED,
                DEPRECATION,
            ),
            row(
                (10, 11),
                "A condition and a warning report the use of a deprecated version; calls are "
                "counted by version; an upgrade that would take a hook away is refused.",
                WARNED,
                "core/extensionconfig/test_deprecations.py::"
                "test_a_condition_names_handler_replacement_and_last_release",
                COUNTED,
                LOST,
            ),
            row(12, "The OpenAPI version is 3.0.", OPENAPI),
        ),
    ),
    Section(
        "Runtime Hooks developer guide (CAPI internals)",
        (row(1, "The implementation of hooks concerns only their authors.", HOW_TO),),
    ),
    Section(
        "Runtime hook implementation",
        (
            row(
                (1, 6),
                "A hook in a version is one module: its group version, and the types of its "
                "request and response.",
                HOW_TO,
                CATALOG,
            ),
            row(
                (7, 11),
                "Copies, schemas and conversions need no generated code: they come of the types; "
                "conversions are four functions, and tried with every field.",
                OPENAPI,
                CONVERTED,
            ),
            row(
                (12, 17),
                "The catalog maps group, version and hook to request and response; conversions are "
                "between versions of one hook only.",
                CATALOG,
                OWN,
                "hooks/test_messages.py::test_versions_are_ordered_as_kubernetes_orders_them",
            ),
            row(18, "The OpenAPI document is printed from the catalog.", OPENAPI, PRINTED),
        ),
    ),
    Section(
        "Alternatives",
        (
            row(
                (1, 2),
                "No plug-ins: code of an extension never runs in the process of the controllers.",
                PLANE,
                "apps/https/test_serving.py::test_the_server_is_called_over_tls_with_its_own_ca",
            ),
            row((3, 4), "No gRPC: JSON and OpenAPI are what Kubernetes' people know.", KEPT),
        ),
    ),
    Section(
        "Risks and Mitigations",
        (
            row(
                (1, 2),
                "A version that is released too early cannot be changed; a test compares the hooks "
                "with a snapshot of each release.",
                f"{_EVOLUTION}test_the_snapshot_of_this_release_matches_its_hooks",
            ),
        ),
    ),
    Section(
        "Upgrade Strategy",
        (row(1, "Upgrades of clusters are as before; hooks change by rules.", LIFE, RELEASED),),
    ),
    Section(
        "Test Plan",
        (
            row(1, "Catalog, discovery and tools have tests of their own.", CATALOG, RECORDED),
            row(2, "Hooks have tests of whole lives, over real sockets too.", LIFE, PLANE),
        ),
    ),
    Section(
        "Graduation Criteria",
        (row(1, "The hooks are v1alpha1 as long as upstream's are.", CATALOG),),
    ),
    Section("Version Skew Strategy", (row(1, "As for upgrades.", LOST, OLDER),)),
    Section(
        "Runtime SDK rules",
        (
            row(
                (1, 2),
                "Rule 1: nothing is removed from a version, or changed in it.",
                CHANGED,
                f"{_EVOLUTION}test_a_hook_is_removed_only_after_its_deprecation_period",
                f"{_EVOLUTION}test_a_field_that_is_new_and_optional_breaks_nothing",
            ),
            row(
                (3, 4),
                "Rule 2: requests convert down, responses up; new fields have defaults.",
                CONVERTED,
            ),
            row(
                (5, 6),
                "kapy speaks the newest version; an extension of an older one is asked, and "
                "answers, in its own.",
                OLDER,
                HOW_TO,
            ),
            row(
                (7, 8),
                "Rule 3: a version is deprecated only for one that is at least as stable.",
                DEPRECATION,
            ),
            row(
                (9, 10),
                "Rule 4: after that it stays for its time.",
                DEPRECATION,
                f"{_EVOLUTION}test_a_hook_is_removed_only_after_its_deprecation_period",
            ),
        ),
        number=2,
    ),
    Section(
        "Discovery hook",
        (
            row(
                (1, 3),
                "Every extension answers Discovery with its handlers: name, hook and version, "
                "timeout, failure policy (fields as v1.14 has them).",
                DISCOVERS,
                RECORDED,
            ),
            row(4, "One extension can have several handlers of a hook.", RECORDED, SEVERAL),
        ),
    ),
    Section(
        "Implementation History",
        (row(1, "v1.14 implements the proposal; tests replay records of it.", CATALOG, RECORDED),),
    ),
)
