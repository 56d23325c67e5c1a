"""The proposal about deployment, registration, calls and security."""

from __future__ import annotations

from typing import Final

from tests.hooks.proposal.authors import (
    ADMINISTRATORS,
    CLUSTERS,
    FAULTS,
    HERD,
    MOUNTED,
    TIMEOUT,
)
from tests.hooks.proposal.purpose import (
    COUNTED,
    HOLDS,
    LIFE,
    PATCHES,
    PLANE,
    REPLACED,
    STEPS,
    TAKEN,
)
from tests.hooks.proposal.rules import OLDER, RECORDED, SEVERAL
from tests.hooks.proposal.section import Section, row

_SERVING: Final = "apps/https/test_serving.py::"
_HTTPS: Final = "hooks/test_https.py::"
_REGISTRY: Final = "hooks/test_registry.py::"
_SHARED: Final = "apps/https/test_shared.py::"
SERVICE: Final = f"{_HTTPS}test_a_service_is_called_at_its_address_under_its_own_name"
_CONFIG: Final = "core/extensionconfig/test_stories.py::"
CLOSED: Final = f"{_CONFIG}test_a_disabled_feature_gate_registers_and_calls_no_extension"
REPLICAS: Final = f"{_SHARED}test_no_call_fails_while_all_replicas_and_their_authority_change"
CLIENTS: Final = f"{_SERVING}test_only_clients_of_an_authority_are_let_in"
ONE_CONFIG: Final = f"{_REGISTRY}test_handlers_have_names_and_hooks"
PROJECT: Final = (
    "apps/extension_server/test_hardened.py::test_the_account_of_an_extension_reads_and_writes_one_secret",
    "apps/extension_server/test_hardened.py::test_pods_of_an_extension_have_no_privileges",
)

SECTIONS: Final = (
    Section(
        "Deploy Runtime Extensions",
        (
            row(
                1,
                "An extension is a process of its own, at an address that controllers reach.",
                PLANE,
                f"{_SERVING}test_the_server_is_called_over_tls_with_its_own_ca",
            ),
            row(
                (2, 3),
                "As a rule it is a Deployment behind a Service, with a certificate of cert-manager "
                "or of its own.",
                SERVICE,
                f"{_SHARED}test_a_certificate_of_cert_manager_is_used_and_followed",
                f"{_SHARED}test_the_first_of_the_replicas_makes_the_authority",
            ),
            row(4, "The sections below give advice for the deployment.", REPLICAS),
        ),
    ),
    Section(
        "Availability",
        (row(1, "Several replicas stand behind one Service.", REPLICAS),),
        number=2,
    ),
    Section(
        "Identity and access management",
        (
            row(
                (1, 2),
                "It has an account of its own with few rights, a minimal image and a hardened pod.",
                *PROJECT,
            ),
        ),
    ),
    Section(
        "Alternative deployments methods",
        (
            row(
                (1, 3),
                "It may be part of another program, or run outside of the cluster; the same is "
                "advised for it.",
                MOUNTED,
                PLANE,
            ),
        ),
    ),
    Section(
        "Registering Runtime Extensions",
        (
            row(1, "Only cluster administrators register extensions.", ADMINISTRATORS),
            row(2, "While the gate is closed nothing is registered, and nobody is asked.", CLOSED),
            row((3, 4), "A registered extension is called from then on.", REPLACED, LIFE),
            row(
                (5, 6),
                "An ExtensionConfig says where: url or Service, CA, namespaces (and settings).",
                SERVICE,
                f"{_HTTPS}test_a_trusted_server_is_called",
                "hooks/test_caller.py::test_namespaces_are_selected",
                "hooks/test_caller.py::test_settings_of_the_call_precede_those_of_the_config",
                "api/validation/test_core_kinds.py::test_invalid_specs_are_refused_on_create",
            ),
            row(
                (7, 8),
                "Then Discovery is asked, and the handlers are in the status.",
                RECORDED,
                REPLACED,
            ),
            row(
                9,
                "Each handler has a name of its own among all, by which a ClusterClass refers to "
                "it, its hook and version, policy and timeout.",
                ONE_CONFIG,
                PATCHES,
            ),
            row(
                (10, 11),
                "Objects are selected by their namespace; there is no selector of objects, as "
                "there is none at v1.14.",
                "hooks/test_caller.py::test_namespaces_are_selected",
            ),
            row((12, 13), "Nothing says that one extension needs another.", SEVERAL),
        ),
    ),
    Section(
        "Discovering Runtime Extensions",
        (
            row(1, "The controller works only while the gate is open.", CLOSED),
            row(
                (2, 3),
                "The registry has the handlers that there are, and one way leads to all of them.",
                f"{_REGISTRY}test_handlers_of_discovered_extensions_are_called",
                TAKEN,
            ),
            row(
                4,
                "A recovering extension is not overloaded: pauses grow, one call tries, the others "
                "follow one after the other.",
                HERD,
                CLUSTERS,
                "hooks/test_breaker.py::test_one_trial_call_closes_the_breaker_for_all",
            ),
            row(
                5,
                "Nobody is held for ever: every call has its time.",
                TIMEOUT,
                FAULTS,
                "core/extensionconfig/test_stories.py::"
                "test_an_unresponsive_extension_does_not_delay_the_others",
            ),
        ),
    ),
    Section(
        "Calling Runtime Extensions",
        (
            row(1, "Nobody is called while the gate is closed.", CLOSED),
            row(
                2,
                "Handlers are called at the moments of a Cluster's life that are theirs.",
                STEPS,
                HOLDS,
                "stories/test_recorded_extensions.py::"
                "test_a_life_with_extensions_matches_the_recording",
            ),
            row(
                (3, 7),
                "Catalog and registry together make a call short: the hook, whom it is about, the "
                "request.",
                SEVERAL,
                COUNTED,
            ),
            row(
                (8, 9),
                "Handlers are found by group and hook, older versions included; the newest version "
                "is spoken, and converted where need be.",
                OLDER,
                ONE_CONFIG,
            ),
        ),
    ),
    Section(
        "Security Model",
        (
            row(
                (1, 3),
                "A malicious extension: only cluster administrators register one.",
                ADMINISTRATORS,
            ),
            row(
                (4, 5),
                "A server that is broken into: few rights, a minimal image, a hardened pod.",
                *PROJECT,
            ),
            row(
                (6, 7),
                "Somebody between: TLS whose authority is known, no redirects, client "
                "certificates, a network policy.",
                f"{_HTTPS}test_failed_calls_are_reported",
                f"{_HTTPS}test_redirects_are_not_followed",
                f"{_HTTPS}test_extensions_may_want_a_certificate",
                CLIENTS,
                "apps/extension_server/test_hardened.py::test_only_the_core_manager_may_call_an_extension",
            ),
        ),
    ),
)
