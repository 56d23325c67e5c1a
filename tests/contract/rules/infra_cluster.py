"""Cluster infrastructure provider specification (`../shared/seeds/infra-cluster-spec.md`)."""

from __future__ import annotations

from typing import Final

from kapy.contract import InfraCluster
from tests.contract.rules import shared
from tests.contract.rules.rule import Document, Rule
from tests.contract.rules.shared import (
    BROKEN_CLUSTERS,
    DEFINITIONS,
    FIELDS,
    LIVES,
    RELEASED,
    RIGHTS,
    SCHEMAS,
    SDK_CLUSTERS,
)

VIEW: Final = "contract/infra_cluster.py"
PHASE: Final = "core/cluster/infrastructure.py"
SDK: Final = "sdk/infra_cluster_controller.py"
LATE: Final = "core/cluster/test_stories.py::test_references_that_come_late_are_waited_for"
FAILURES: Final = (
    "core/cluster/test_providers.py::test_a_terminal_failure_stays_where_v1beta1_told_it"
)
NAME: Final = "kube/test_plural.py::test_plurals"
MISSING: Final = (
    "contract/test_broken_providers.py::test_a_kind_that_nobody_installed_is_waited_for"
)

RULES: Final = [
    Rule(
        "InfraCluster resources",
        "MUST",
        (12,),
        "An infrastructure provider has an InfraCluster, which a Cluster refers to.",
        (VIEW, "api/dev_cluster.py"),
        ("providers/inmemory/test_conformance.py::test_dev_clusters_conform", LIVES, RELEASED),
    ),
    Rule(
        "InfraCluster resources",
        "MUST",
        (14, 15),
        "It is defined by a CRD, in any API group; as long as there is none, a condition says so.",
        ("contract/external.py",),
        (
            MISSING,
            LIVES,
            "core/cluster/test_providers.py::"
            "test_a_provider_that_is_not_installed_is_named_and_waited_for",
        ),
    ),
    Rule(
        "InfraCluster resources",
        "MUST",
        (16,),
        "The CRD's name is that of CalculateCRDName.",
        ("contract/crd_names.py", "kube/plural.py"),
        (NAME, RELEASED),
    ),
    shared.scope((17,)),
    shared.metadata((18,)),
    Rule(
        "InfraCluster resources: spec",
        "MUST",
        (19, 20, 21, 22, 23, 24),
        "`spec.controlPlaneEndpoint` with host and port says where the control plane is reached, "
        "if nobody else says it; the Cluster takes it over when the infrastructure is provisioned.",
        (VIEW, "contract/values.py", "core/cluster/owned.py"),
        (
            FIELDS,
            LATE,
            BROKEN_CLUSTERS,
            "core/cluster/test_providers.py::test_the_endpoint_of_the_user_is_the_endpoint",
        ),
    ),
    Rule(
        "InfraCluster resources: status",
        "MUST",
        (25, 26, 27),
        "`status.ready` says that the infrastructure is provisioned (v1beta2: "
        "`status.initialization.provisioned`); a CRD without it is refused. The Cluster then is "
        "`infrastructureProvisioned`, which is never taken back.",
        (VIEW, PHASE, "contract/definitions.py"),
        (
            FIELDS,
            SCHEMAS,
            LIVES,
            RELEASED,
            "core/cluster/test_stories.py::test_what_was_reached_is_not_taken_back",
        ),
    ),
    Rule(
        "InfraCluster resources: status",
        "core",
        (28, 29, 30, 31, 32),
        "`status.failureReason` and `status.failureMessage` tell of what cannot be recovered.",
        (VIEW, "core/cluster/owned.py"),
        (FAILURES, BROKEN_CLUSTERS),
    ),
    Rule(
        "InfraCluster resources: status",
        "MUST",
        (33, 34, 35, 36, 37),
        "`status.failureDomains` is a map (v1beta2: a list) of domains with unique names, each for "
        "control planes or not, with attributes; the Cluster takes it over as a list.",
        (VIEW, "contract/values.py", PHASE),
        (FIELDS, BROKEN_CLUSTERS, LIVES, RELEASED),
    ),
    Rule(
        "InfraCluster resources: status",
        "core",
        (39, 40),
        "What was once told as a failure stays told for as long as the Cluster lives.",
        ("core/cluster/owned.py",),
        (FAILURES,),
    ),
    Rule(
        "InfraClusterTemplate resources",
        "SHOULD",
        (44,),
        "There is an InfraClusterTemplate with `spec.template`.",
        ("contract/templates.py", "api/dev_cluster.py"),
        (DEFINITIONS, "contract/test_templates.py::test_a_template_tells_its_labels"),
    ),
    Rule(
        "InfraClusterTemplate resources",
        "MUST",
        (73,),
        "Its CRD's name is that of CalculateCRDName, too.",
        ("contract/crd_names.py",),
        (NAME, DEFINITIONS),
    ),
    Rule(
        "List resources",
        "MUST",
        (77,),
        "Each kind has its list kind.",
        ("api/crds.py", "apiserver/verbs/reading.py"),
        (DEFINITIONS, LIVES),
    ),
    Rule(
        "Behavior",
        "MUST",
        (101, 102),
        "New, changed and deleted InfraClusters are watched.",
        (SDK,),
        (SDK_CLUSTERS, "sdk/test_infra_cluster.py::test_a_cluster_gets_its_endpoint"),
    ),
    Rule(
        "Behavior: normal resource",
        "core",
        (111, 112),
        "What is managed from outside (`managed-by`) is left alone.",
        (SDK, "core/cluster/owned.py"),
        (
            "sdk/test_infra_cluster.py::test_what_is_managed_from_outside_is_left_alone",
            "core/cluster/test_providers.py::"
            "test_infrastructure_that_is_managed_from_outside_is_taken_as_it_is",
        ),
    ),
    Rule(
        "Behavior: normal resource",
        "core",
        (113, 114, 115),
        "Nothing happens before core has set the Cluster as owner.",
        ("core/cluster/owned.py", SDK),
        (LATE, LIVES),
    ),
    Rule(
        "Behavior: normal resource",
        "core",
        (116, 117, 118, 119, 120, 121, 122),
        "Finalizer first, then the infrastructure, the endpoint and the flag that all is there.",
        (SDK,),
        (SDK_CLUSTERS, "sdk/test_infra_cluster.py::test_an_endpoint_that_the_user_chose_stays"),
    ),
    Rule(
        "Behavior: deleted resource",
        "core",
        (126, 127, 128, 129, 130),
        "What was made is taken down, then the finalizer goes; core deletes the InfraCluster after "
        "everything else of the Cluster.",
        (SDK, "core/cluster/deletion.py"),
        (
            "sdk/test_infra_cluster.py::test_deletion_releases_what_was_made",
            "core/cluster/test_stories.py::test_deletion_goes_from_workers_to_the_infrastructure",
            LIVES,
        ),
    ),
    Rule(
        "RBAC: provider controller",
        "MUST",
        (136, 137),
        "A provider has the rights on its own kinds that it needs.",
        ("apiserver/authorization.py",),
        ("apiserver/test_access.py::test_what_a_rule_allows",),
    ),
    Rule(
        "RBAC: Cluster API controllers",
        "MUST",
        (158, 159, 160, 161),
        "Core may read and write the kinds of a group of the provider's own by a ClusterRole with "
        'the label `cluster.x-k8s.io/aggregate-to-manager: "true"`.',
        ("contract/external.py", "apiserver/rbac/bootstrap.py"),
        (RIGHTS, "contract/test_external.py::test_a_failed_read_is_not_absence"),
    ),
    Rule(
        "RBAC: Cluster API controllers",
        "core",
        (186, 187),
        "Core writes owner references and labels only.",
        ("contract/ownership.py",),
        (LIVES, RELEASED),
    ),
]

DOCUMENT: Final = Document(
    "infra-cluster",
    "InfraCluster",
    InfraCluster,
    "seeds/infra-cluster-spec.md",
    r"\b[Mm]ust\b|\bshould\b",
    RULES,
)
