"""Cluster infrastructure provider specification (`../shared/seeds/infra-cluster-spec.md`)."""

from __future__ import annotations

from typing import Final

from kapy.contract import InfraCluster
from kapy.testing.conformance.rules import infrastructure
from tests.contract.rules import shared
from tests.contract.rules.row import Kept, Row
from tests.contract.rules.shared import (
    BROKEN_CLUSTERS,
    CONDITIONS,
    DEFINITIONS,
    FIELDS,
    IN_MEMORY,
    LIVES,
    RELEASED,
    SCHEMAS,
    SDK_CLUSTERS,
)

VIEW: Final = "contract/infra_cluster.py"
PHASE: Final = "core/cluster/providers.py"
SDK: Final = "sdk/infra_cluster_controller.py"
LATE: Final = "core/cluster/test_stories.py::test_references_that_come_late_are_waited_for"
FAILURES: Final = (
    "core/cluster/test_providers.py::test_a_terminal_failure_of_v1beta1_is_never_unset"
)
NAME: Final = "kube/test_plural.py::test_kinds_have_plurals"
MISSING: Final = "contract/test_broken_providers.py::test_a_kind_that_is_not_installed_is_awaited"

ROWS: Final = [
    Row(
        ("definition",),
        (12,),
        (VIEW, "api/dev_cluster.py"),
        (IN_MEMORY, LIVES, RELEASED),
    ),
    Row(
        ("definition", "broken-told"),
        (14, 15),
        ("contract/external.py",),
        (
            MISSING,
            LIVES,
            "core/cluster/test_providers.py::"
            "test_a_provider_that_is_not_installed_is_named_and_waited_for",
        ),
    ),
    Row(("crd-name",), (16,), ("contract/resolve.py", "kube/plural.py"), (NAME, RELEASED)),
    shared.scope((17,)),
    shared.metadata((18,)),
    *shared.api_version((), (158, 159, 160, 161), (), (), ()),
    Row(
        ("conditions", "conditions-read", "conditions-shown"),
        (),
        ("conditions/foreign.py", "core/cluster/status.py"),
        (
            "core/cluster/test_status.py::test_infrastructure_ready_mirrors_the_infrastructure",
            "core/cluster/test_providers.py::test_a_cluster_of_v1beta1_providers_comes_up",
            CONDITIONS,
        ),
    ),
    Row(
        ("endpoint", "endpoint-taken"),
        (19, 20, 21, 22, 23, 24),
        (VIEW, "contract/values.py", "core/cluster/providers.py"),
        (
            FIELDS,
            LATE,
            BROKEN_CLUSTERS,
            "core/cluster/test_providers.py::test_the_endpoint_of_the_user_is_the_endpoint",
        ),
    ),
    Row(
        ("initialization", "initialized-taken"),
        (25, 26, 27),
        (VIEW, PHASE, "contract/external.py"),
        (
            FIELDS,
            SCHEMAS,
            LIVES,
            RELEASED,
            "core/cluster/test_stories.py::test_reached_initialization_is_not_reverted",
        ),
    ),
    Row(
        ("failures-taken",),
        (28, 29, 30, 31, 32),
        (VIEW, "core/cluster/providers.py"),
        (FAILURES, BROKEN_CLUSTERS),
    ),
    Row(
        ("failure-domains", "failure-domains-taken"),
        (33, 34, 35, 36, 37),
        (VIEW, "contract/values.py", PHASE),
        (FIELDS, BROKEN_CLUSTERS, LIVES, RELEASED),
    ),
    Row(("failures-taken",), (39, 40), ("core/cluster/providers.py",), (FAILURES,)),
    Row(
        ("template",),
        (44,),
        ("contract/templates.py", "api/dev_cluster.py"),
        (DEFINITIONS, "contract/test_templates.py::test_a_template_tells_its_labels"),
    ),
    Row(
        ("template-name", "crd-name"),
        (73,),
        ("contract/resolve.py",),
        (NAME, DEFINITIONS),
    ),
    Row(
        ("list", "template-list"),
        (77,),
        ("api/crds.py", "apiserver/verbs/read.py"),
        (DEFINITIONS, LIVES),
    ),
    Row(
        ("watch",),
        (101, 102),
        (SDK,),
        (SDK_CLUSTERS, "sdk/test_infra_cluster.py::test_a_cluster_gets_its_endpoint"),
    ),
    Row(
        ("externally-managed", "managed-taken"),
        (111, 112),
        (SDK, "core/cluster/providers.py"),
        (
            "sdk/test_infra_cluster.py::test_externally_managed_infrastructure_is_left_alone",
            "core/cluster/test_providers.py::"
            "test_infrastructure_that_is_managed_from_outside_is_taken_as_it_is",
        ),
    ),
    Row(
        ("owner", "owner-set"),
        (113, 114, 115),
        ("core/cluster/providers.py", SDK),
        (LATE, LIVES),
    ),
    Row(
        ("finalizer", "initialized"),
        (116, 117, 118, 119, 120, 121, 122),
        (SDK,),
        (SDK_CLUSTERS, "sdk/test_infra_cluster.py::test_an_endpoint_that_the_user_chose_stays"),
    ),
    Row(
        ("deletion", "deleted-last"),
        (126, 127, 128, 129, 130),
        (SDK, "core/cluster/deletion.py"),
        (
            "sdk/test_infra_cluster.py::test_a_deletion_releases_the_infrastructure",
            "core/cluster/test_stories.py::test_a_deletion_proceeds_from_workers_to_the_infrastructure",
            LIVES,
        ),
    ),
    Row(
        ("rights",),
        (136, 137),
        ("apiserver/auth/authorization.py",),
        ("apiserver/test_access.py::test_an_rbac_rule_allows_matching_requests_only",),
    ),
    Row(("owner-set",), (186, 187), ("contract/ownership.py",), (LIVES, RELEASED)),
]

KEPT: Final = Kept(
    infrastructure.CLUSTER,
    InfraCluster,
    "seeds/infra-cluster-spec.md",
    r"\b[Mm]ust\b|\bshould\b",
    ROWS,
)
