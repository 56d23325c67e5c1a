"""Contract rules for ControlPlane (`../shared/seeds/control-plane-contract.txt`)."""

from __future__ import annotations

from typing import Final

from kapy.contract import ControlPlane
from kapy.testing.conformance.rules import control_plane
from tests.contract.rules import shared
from tests.contract.rules.row import Kept, Row
from tests.contract.rules.shared import (
    BROKEN_CLUSTERS,
    CONDITIONS,
    DEFINITIONS,
    FIELDS,
    LIVES,
    RELEASED,
    SCHEMAS,
)

VIEW: Final = "contract/control_plane.py"
PHASE: Final = "core/cluster/providers.py"
KUBEADM: Final = "providers/kubeadm/controlplane"
STORY: Final = "providers/kubeadm/test_control_plane_story.py"
UPGRADE: Final = "providers/kubeadm/test_upgrade_story.py"
DELETION: Final = "providers/kubeadm/test_deletion_story.py"
CLUSTER: Final = "core/cluster"
COUNTERS: Final = f"{CLUSTER}/test_status.py::test_counters_of_both_contracts_are_summed"
FAILURES: Final = f"{CLUSTER}/test_providers.py::test_a_terminal_failure_of_v1beta1_is_never_unset"
SECRETS_ONCE: Final = f"{STORY}::test_every_secret_is_created_once"
IN_PLACE: Final = f"{STORY}::test_labels_and_timeouts_change_in_place"
MADE: Final = f"{STORY}::test_a_machine_and_its_objects_equal_those_of_upstream"
USERS: Final = "providers/kubeadm/test_users_secrets_story.py"

ROWS: Final = [
    Row(
        ("definition",),
        (3,),
        (VIEW, "api/kubeadm_control_plane.py"),
        (f"{STORY}::test_the_first_machine_runs_init", LIVES, RELEASED),
    ),
    Row(
        ("pods-network",),
        (18,),
        (KUBEADM, "core/machine/node_conditions.py"),
        (
            "core/machine/test_status.py::test_node_healthy_follows_the_node_conditions",
            "core/machine/test_stories.py::test_an_unhealthy_or_deleted_node_is_reported",
        ),
    ),
    Row(
        ("kubeconfig-secrecy",),
        (30,),
        ("remote/secrets.py", f"{KUBEADM}/certificates.py"),
        (
            "remote/test_secrets.py::test_missing_or_unreadable_data_is_reported_without_quoting_it",
            "kube/test_pki.py::test_an_invalid_key_is_reported_without_quoting_it",
            "remote/test_kubeconfig_secret.py::"
            "test_an_invalid_kubeconfig_is_reported_without_quoting_it",
        ),
    ),
    shared.scope((58,)),
    shared.metadata((62,)),
    *shared.api_version((66,), (72,), (112,), (118,), (120,)),
    *shared.definition((135,), (164,)),
    Row(
        ("endpoint",),
        (179,),
        (VIEW, "contract/values.py"),
        (
            f"{CLUSTER}/test_providers.py::test_the_endpoint_may_come_from_the_control_plane",
            LIVES,
            BROKEN_CLUSTERS,
        ),
    ),
    Row(
        ("endpoint-taken",),
        (199,),
        (PHASE,),
        (
            f"{CLUSTER}/test_providers.py::test_the_endpoint_may_come_from_the_control_plane",
            f"{CLUSTER}/test_providers.py::test_the_endpoint_of_the_user_is_the_endpoint",
        ),
    ),
    Row(
        ("endpoint-of-others",),
        (201,),
        (f"{KUBEADM}/reconcile.py",),
        (f"{STORY}::test_machines_are_created_after_the_infrastructure_is_ready",),
    ),
    Row(
        ("replicas",),
        (205,),
        (VIEW, "api/kubeadm_control_plane.py"),
        (
            COUNTERS,
            f"{STORY}::test_a_control_plane_grows_one_machine_at_a_time",
            f"{STORY}::test_a_control_plane_shrinks_without_losing_etcd",
        ),
    ),
    Row(
        ("replicas", "replicas-counted"),
        (217,),
        (VIEW, f"{CLUSTER}/counters.py", f"{KUBEADM}/status.py"),
        (COUNTERS, FIELDS, f"{STORY}::test_the_first_machine_runs_init", LIVES),
    ),
    Row(
        ("scale",),
        (253,),
        ("api/kubeadm_control_plane.py", "apiserver/verbs/scale.py"),
        (DEFINITIONS,),
    ),
    Row(
        ("version",),
        (265, 269, 270),
        (VIEW, "api/defaults.py"),
        (
            "api/test_defaults.py::test_defaults_are_set",
            "contract/test_fields.py::test_a_version_that_is_none_breaks_the_contract",
        ),
    ),
    Row(
        ("status-version", "version-awaited"),
        (277, 289),
        (VIEW, f"{KUBEADM}/status.py", "core/machineset/preflight.py"),
        (
            "contract/test_fields.py::test_a_control_plane_is_provisioning_or_upgrading",
            f"{UPGRADE}::test_an_upgrade_replaces_one_machine_at_a_time",
            "core/machinedeployment/test_stories.py::"
            "test_no_machine_is_newer_than_the_control_plane",
        ),
    ),
    Row(
        ("machine-template",),
        (293, 297),
        (VIEW, "api/kubeadm_control_plane.py", f"{KUBEADM}/desired.py"),
        (MADE, IN_PLACE),
    ),
    Row(
        ("machines-in-place",),
        (333,),
        ("sdk/applied_objects.py",),
        (
            IN_PLACE,
            "providers/kubeadm/test_uptodate.py::"
            "test_defaulted_and_in_place_fields_do_not_count_as_outdated",
        ),
    ),
    Row(
        ("external", "external-taken"),
        (335, 338),
        (VIEW, "core/machine/deletion.py"),
        (
            "core/machine/test_readiness.py::"
            "test_the_node_is_deleted_only_while_a_control_plane_remains",
            LIVES,
        ),
    ),
    Row(
        ("initialization", "initialized"),
        (354,),
        (VIEW, f"{KUBEADM}/status.py", "contract/external.py"),
        (
            FIELDS,
            SCHEMAS,
            f"{CLUSTER}/test_status.py::test_initialized_is_read_through_the_contract",
            f"{STORY}::test_the_first_machine_runs_init",
        ),
    ),
    Row(
        ("initialized-taken",),
        (379, 381),
        (PHASE, f"{CLUSTER}/status.py"),
        (
            f"{CLUSTER}/test_stories.py::test_reached_initialization_is_not_reverted",
            LIVES,
            RELEASED,
        ),
    ),
    Row(
        ("conditions", "conditions-read"),
        (387,),
        ("conditions/foreign.py",),
        (LIVES, CONDITIONS),
    ),
    Row(
        ("conditions-shown",),
        (389, 391),
        (f"{CLUSTER}/references.py", f"{CLUSTER}/status_v1beta1.py"),
        (
            f"{CLUSTER}/test_providers.py::test_a_cluster_of_v1beta1_providers_comes_up",
            f"{CLUSTER}/test_status.py::test_control_plane_falls_back_on_its_field",
            f"{CLUSTER}/test_stories.py::test_a_deletion_proceeds_from_workers_to_the_infrastructure",
        ),
    ),
    Row(("terminal-failures",), (397, 403, 411), (VIEW, PHASE), (FAILURES,)),
    Row(("failures-taken",), (420, 422), (PHASE,), (FAILURES,)),
    Row(
        ("template", "template-name"),
        (426,),
        ("contract/templates.py", "api/kubeadm_control_plane.py"),
        (DEFINITIONS, "contract/test_templates.py::test_a_template_tells_its_labels"),
    ),
    Row(("template-list",), (454,), ("api/crds.py",), (DEFINITIONS,)),
    Row(
        ("kubeconfig", "kubeconfig-secrecy"),
        (467, 469),
        (f"{KUBEADM}/certificates.py",),
        (
            "remote/test_kubeconfig_secret.py::test_the_kubeconfig_is_that_of_an_administrator",
            SECRETS_ONCE,
        ),
    ),
    Row(
        ("kubeconfig", "connections"),
        (471, 473, 474, 475, 476),
        ("remote/secrets.py", "remote/cluster_cache.py"),
        (
            SECRETS_ONCE,
            "remote/test_cluster_cache.py::test_only_kubeconfig_secrets_are_connections",
        ),
    ),
    Row(
        ("kubeconfig-renewal",),
        (478,),
        (f"{KUBEADM}/certificates.py",),
        (
            "remote/test_kubeconfig_secret.py::test_the_kubeconfig_is_renewed_at_half_of_its_life",
            f"{USERS}::test_a_kubeconfig_of_a_user_is_left_alone",
        ),
    ),
    Row(
        ("certificates",),
        (482, 484, 486, 487, 488, 489),
        ("remote/secrets.py", f"{KUBEADM}/certificates.py"),
        (
            SECRETS_ONCE,
            f"{USERS}::test_a_users_authority_signs_everything_and_stays_unchanged",
            f"{STORY}::test_a_lost_certificate_is_not_issued_again",
        ),
    ),
    Row(
        ("placement",),
        (495, 497),
        ("contract/failure_domains.py", "sdk/control_plane_rollout.py"),
        (f"{STORY}::test_machines_spread_over_failure_domains", RELEASED),
    ),
    Row(
        ("metadata-propagation",),
        (503, 505),
        (f"{KUBEADM}/desired.py", "core/machine/node_metadata.py"),
        (
            MADE,
            "providers/kubeadm/test_desired.py::test_labels_of_users_do_not_hide_required_ones",
            "core/machine/test_node_metadata.py::"
            "test_a_new_node_gets_labels_and_annotations_and_loses_its_taint",
        ),
    ),
    Row(
        ("metadata-propagation", "machines-in-place"),
        (507,),
        ("sdk/applied_objects.py",),
        (IN_PLACE,),
    ),
    Row(
        ("min-ready-seconds", "machines-available"),
        (511,),
        (f"{KUBEADM}/status.py", "core/machine/status.py"),
        (
            "core/machine/test_stories.py::test_min_ready_seconds_delay_availability",
            "providers/kubeadm/test_uptodate.py::test_another_version_or_template_makes_a_machine_outdated",
            f"{UPGRADE}::test_an_upgrade_replaces_one_machine_at_a_time",
        ),
    ),
    shared.instances((519,)),
    *shared.pausing((532,), (534,), (f"{STORY}::test_a_paused_cluster_is_left_alone",)),
    Row(
        ("watch", "deletion"),
        (538,),
        (f"{KUBEADM}/controller.py",),
        (
            f"{STORY}::test_the_first_machine_runs_init",
            f"{DELETION}::test_deletion_waits_for_the_workers",
        ),
    ),
]

KEPT: Final = Kept(
    control_plane.DOCUMENT,
    ControlPlane,
    "seeds/control-plane-contract.txt",
    r"\bMUST\b|\bSHOULD\b|\bmust\b|\bshould\b|expected to",
    ROWS,
)
