"""The proposal's guide for those who write extensions."""

from __future__ import annotations

from typing import Final

from tests.hooks.proposal.purpose import (
    ANSWERS,
    AUTHOR,
    HOLDS,
    KEPT,
    LIFE,
    OPENAPI,
    PATCHES,
    PLANE,
)
from tests.hooks.proposal.rules import DISCOVERS, SEVERAL
from tests.hooks.proposal.section import Section, row

_AUTHORING: Final = "hooks/test_authoring.py::"
_CALLER: Final = "hooks/test_caller.py::"
ADMINISTRATORS: Final = (
    "stories/test_extensions.py::test_only_cluster_administrators_register_extensions"
)
TIMEOUT: Final = f"{_CALLER}test_a_handler_has_its_requested_timeout"
BAD: Final = f"{_CALLER}test_bad_answers_fail_or_are_ignored"
FAULTS: Final = "hooks/test_faults.py::test_each_fault_is_reported_in_the_condition"
CLUSTERS: Final = "hooks/test_herd.py::test_waiting_clusters_are_requeued_one_after_the_other"
HERD: Final = f"{_CALLER}test_clusters_that_wait_for_an_extension_are_requeued_one_after_the_other"
AGAIN: Final = (
    "topology/test_hooks_of_upgrades.py::test_an_answer_blocks_the_next_step_until_its_retry"
)
CALLED_EACH_TIME: Final = (
    "stories/test_extensions.py::test_every_reconcile_of_a_topology_calls_the_extensions"
)
EXAMPLES: Final = "examples/test_extensions.py::test_every_example_keeps_the_rules"
GROWS: Final = "hooks/test_mutation.py::test_a_patch_that_grows_is_found"
MOUNTED: Final = f"{_AUTHORING}test_the_application_answers_hooks_wherever_it_is_mounted"

SECTIONS: Final = (
    Section(
        "Runtime Extensions developer guide",
        (
            row(1, "An extension answers requests as the OpenAPI document says.", OPENAPI, KEPT),
            row(
                (2, 4),
                "Extensions are powerful: they are to be written with care, and only cluster "
                "administrators register them.",
                EXAMPLES,
                ADMINISTRATORS,
            ),
        ),
    ),
    Section(
        "Implementing Runtime Extensions",
        (
            row(
                (1, 3),
                "An extension is an HTTPS server of Discovery and of its handlers, each a function "
                "with types.",
                AUTHOR,
                ANSWERS,
                f"{_AUTHORING}test_a_handler_of_the_wrong_shape_does_not_type_check",
            ),
            row(4, "Each handler has a path of its own.", MOUNTED),
            row(5, "Discovery tells the handlers, and is made of them.", DISCOVERS),
            row(
                6,
                "Only requests and responses are enforced; all else is the author's business.",
                f"{_AUTHORING}test_a_malformed_request_is_a_failure_that_says_why",
                "hooks/test_messages.py::test_an_invalid_response_is_reported",
            ),
            row(
                7,
                "Any language will do, and a server may do other things beside.",
                KEPT,
                MOUNTED,
                f"{_AUTHORING}test_unknown_paths_and_methods_are_refused",
            ),
            row(
                (8, 9),
                "The SDK has the types and the server; authors write the function.",
                AUTHOR,
                f"{_AUTHORING}test_answers_are_counted_by_version",
            ),
            row(10, "The test kit checks the advice below.", EXAMPLES, KEPT),
        ),
    ),
    Section(
        "Timeouts",
        (
            row(
                1,
                "Answers should come in milliseconds; the administrator says how long is waited, "
                "30 seconds at most at v1.14.",
                TIMEOUT,
                "hooks/test_registry.py::test_the_shortest_timeout_applies",
            ),
        ),
    ),
    Section(
        "Availability",
        (
            row(
                1,
                "A failure of an extension is an error of a Cluster's life, unless its policy says "
                "Ignore; a handler that breaks is an answer, and the server goes on.",
                BAD,
                ANSWERS,
                "stories/test_extensions.py::test_a_dead_extension_delays_only_its_own_clusters",
            ),
        ),
    ),
    Section(
        "Blocking Hooks",
        (
            row((1, 2), "A blocking hook holds with `retryAfterSeconds`.", HOLDS, LIFE),
            row(
                3,
                "That is the longest wait: a change of the Cluster asks again earlier; of several "
                "the shortest counts; then all are asked again.",
                AGAIN,
                SEVERAL,
                LIFE,
            ),
            row(4, "The hook determines the step that is held.", HOLDS),
        ),
    ),
    Section(
        "Side Effects",
        (row(1, "An answer should depend on its request, and do nothing else.", EXAMPLES),),
    ),
    Section(
        "Idempotence",
        (
            row(
                (1, 3),
                "A handler is called more often than once for one step, also because another one "
                "waits; the test kit calls twice and applies twice.",
                EXAMPLES,
                GROWS,
                LIFE,
            ),
        ),
    ),
    Section(
        "Avoid dependencies",
        (
            row(
                1,
                "Extensions do not depend on each other: they are asked by name, one after the "
                "other, and one that is dead leaves the others alone.",
                SEVERAL,
                f"{_CALLER}test_a_dead_extension_is_left_alone_and_others_are_not",
            ),
        ),
    ),
    Section(
        "Deterministic result",
        (
            row(
                (1, 2),
                "The same request has the same answer, of patches above all: each reconcile of a "
                "topology asks for them.",
                EXAMPLES,
                CALLED_EACH_TIME,
                PATCHES,
            ),
        ),
    ),
    Section(
        "Error Management",
        (
            row(1, "The failure policy of Discovery decides the effect of an error.", BAD),
            row(
                2,
                "Ignore: it is logged, and all goes on; a refusal is never ignored.",
                BAD,
                f"{_CALLER}test_failures_in_a_response_are_never_ignored",
            ),
            row(
                3,
                "Fail: it is tried until it passes.",
                f"{_CALLER}test_the_first_failure_ends_a_blocking_call",
            ),
            row(
                4,
                "Errors are in conditions; retries come with growing pauses, or when the Cluster "
                "changes; an error holds what a wait would hold; all handlers are asked again.",
                FAULTS,
                PLANE,
                "hooks/test_breaker.py::test_a_call_waits_no_longer_than_stated",
                HERD,
            ),
            row(5, "The description of a hook has its other rules for errors.", HOLDS),
        ),
    ),
)
