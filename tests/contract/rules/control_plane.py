"""Contract rules for ControlPlane (`../shared/seeds/control-plane-contract.txt`)."""

from __future__ import annotations

from typing import Final

from kapy.contract import ControlPlane
from tests.contract.rules import shared
from tests.contract.rules.rule import Document, Rule
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
PHASE: Final = "core/cluster/control_plane.py"
KUBEADM: Final = "providers/kubeadm/controlplane"
STORY: Final = "providers/kubeadm/test_control_plane_story.py"
CLUSTER: Final = "core/cluster"
COUNTERS: Final = f"{CLUSTER}/test_status.py::test_counters_of_both_contracts"
FAILURES: Final = (
    f"{CLUSTER}/test_providers.py::test_a_terminal_failure_stays_where_v1beta1_told_it"
)
SECRETS_ONCE: Final = f"{STORY}::test_every_secret_is_made_once"
IN_PLACE: Final = f"{STORY}::test_labels_and_timeouts_change_in_place"
MADE: Final = f"{STORY}::test_a_machine_and_its_belongings_are_made_as_upstream_makes_them"
USERS: Final = "providers/kubeadm/test_users_secrets_story.py"

RULES: Final = [
    Rule(
        "Contract rules for ControlPlane",
        "MUST",
        (3,),
        "A control plane provider has a ControlPlane, which a Cluster refers to.",
        (VIEW, "api/kubeadm_control_plane.py"),
        (f"{STORY}::test_the_first_machine_runs_init", LIVES, RELEASED),
    ),
    Rule(
        "Contract rules for ControlPlane",
        "SHOULD",
        (18,),
        "Networking between Pods is the user's: none is installed, and a Machine whose Node waits "
        "for it says so.",
        (KUBEADM, "core/machine/node_conditions.py"),
        (
            "core/machine/test_status.py::test_health_of_a_node",
            "core/machine/test_stories.py::test_a_node_that_falls_ill_or_goes_is_reported",
        ),
    ),
    Rule(
        "Contract rules for ControlPlane",
        "MUST",
        (30,),
        "Private keys stand in Secrets alone: never in logs, events, conditions or errors.",
        ("remote/secrets.py", f"{KUBEADM}/certificates.py"),
        (
            "remote/test_secrets.py::test_what_is_missing_or_unreadable_is_said_without_quoting_it",
            "kube/test_pki.py::test_what_is_no_key_is_said_so_without_quoting_it",
            "remote/test_kubeconfig_secret.py::"
            "test_what_is_no_kubeconfig_is_said_without_quoting_it",
        ),
    ),
    shared.scope((58,)),
    shared.metadata((62,)),
    *shared.api_version((66,), (72,), (112,), (118,), (120,)),
    *shared.definition("ControlPlane", (135,), (164,)),
    Rule(
        "ControlPlane: endpoint",
        "MUST",
        (179,),
        "A control plane that has an endpoint of its own says it in `spec.controlPlaneEndpoint`.",
        (VIEW, "contract/values.py"),
        (
            f"{CLUSTER}/test_providers.py::test_the_endpoint_may_come_from_the_control_plane",
            LIVES,
            BROKEN_CLUSTERS,
        ),
    ),
    Rule(
        "ControlPlane: endpoint",
        "core",
        (199,),
        "When it is initialized, the Cluster takes the endpoint over, unless it has one.",
        (PHASE, f"{CLUSTER}/owned.py"),
        (
            f"{CLUSTER}/test_providers.py::test_the_endpoint_may_come_from_the_control_plane",
            f"{CLUSTER}/test_providers.py::test_the_endpoint_of_the_user_is_the_endpoint",
        ),
    ),
    Rule(
        "ControlPlane: endpoint",
        "SHOULD",
        (201,),
        "A control plane without an endpoint of its own waits for the Cluster's.",
        (f"{KUBEADM}/reconcile.py",),
        (f"{STORY}::test_nobody_is_made_before_the_infrastructure_is_there",),
    ),
    Rule(
        "ControlPlane: replicas",
        "MUST",
        (205,),
        "`spec.replicas` is the number wanted.",
        (VIEW, "api/kubeadm_control_plane.py"),
        (
            COUNTERS,
            f"{STORY}::test_it_grows_one_machine_at_a_time",
            f"{STORY}::test_it_shrinks_without_losing_etcd",
        ),
    ),
    Rule(
        "ControlPlane: replicas",
        "MUST",
        (217,),
        "`status` has selector, replicas, updatedReplicas (v1beta2: upToDateReplicas), "
        "readyReplicas and unavailableReplicas (v1beta2: availableReplicas); the Cluster counts "
        "what each contract tells.",
        (VIEW, f"{CLUSTER}/counters.py", f"{KUBEADM}/status.py"),
        (COUNTERS, FIELDS, f"{STORY}::test_the_first_machine_runs_init", LIVES),
    ),
    Rule(
        "ControlPlane: replicas",
        "MUST",
        (253,),
        "The CRD has the scale subresource with `.status.selector`, `.spec.replicas` and "
        "`.status.replicas`.",
        ("api/kubeadm_control_plane.py", "apiserver/verbs/scaling.py"),
        (DEFINITIONS,),
    ),
    Rule(
        "ControlPlane: version",
        "MUST",
        (265, 269, 270),
        "`spec.version` is a semantic version; a leading v is added.",
        (VIEW, "api/defaults.py"),
        (
            "api/test_defaults.py::test_defaults",
            "contract/test_fields.py::test_a_version_that_is_none_breaks_the_contract",
        ),
    ),
    Rule(
        "ControlPlane: version",
        "MUST",
        (277, 289),
        "`status.version` is the oldest version that runs: an upgrade is done, and workers follow, "
        "when it is that of `spec`.",
        (VIEW, f"{KUBEADM}/status.py", "core/machineset/preflight.py"),
        (
            "contract/test_fields.py::test_what_a_control_plane_is_doing",
            f"{STORY}::test_an_upgrade_replaces_one_machine_at_a_time",
            "core/machinedeployment/test_stories.py::"
            "test_no_machine_is_newer_than_the_control_plane",
        ),
    ),
    Rule(
        "ControlPlane: machines",
        "MUST",
        (293, 297),
        "`spec.machineTemplate` has metadata, infrastructureRef and the three timeouts.",
        (VIEW, "api/kubeadm_control_plane.py", f"{KUBEADM}/desired.py"),
        (MADE, IN_PLACE),
    ),
    Rule(
        "ControlPlane: machines",
        "MUST",
        (333,),
        "Metadata and timeouts reach Machines without a rollout.",
        (f"{KUBEADM}/applied.py",),
        (
            IN_PLACE,
            "providers/kubeadm/test_uptodate.py::"
            "test_what_is_filled_in_or_changes_in_place_does_not_count",
        ),
    ),
    Rule(
        "ControlPlane: machines",
        "SHOULD",
        (335, 338),
        "`status.externalManagedControlPlane` says that there are no Nodes for it.",
        (VIEW, "core/machine/deletion.py"),
        (
            "core/machine/test_readiness.py::"
            "test_whether_there_is_a_control_plane_left_decides_about_the_node",
            LIVES,
        ),
    ),
    Rule(
        "ControlPlane: initialization completed",
        "MUST",
        (354,),
        "`status.initialized` (v1beta2: `status.initialization.controlPlaneInitialized`) says that "
        "requests are answered; a CRD without it is refused.",
        (VIEW, f"{KUBEADM}/status.py", "contract/definitions.py"),
        (
            FIELDS,
            SCHEMAS,
            f"{CLUSTER}/test_status.py::test_initialized_is_read_through_the_contract",
            f"{STORY}::test_the_first_machine_runs_init",
        ),
    ),
    Rule(
        "ControlPlane: initialization completed",
        "core",
        (379, 381),
        "The Cluster then is `controlPlaneInitialized`, its condition says it, and neither is ever "
        "taken back.",
        (PHASE, f"{CLUSTER}/status.py"),
        (f"{CLUSTER}/test_stories.py::test_what_was_reached_is_not_taken_back", LIVES, RELEASED),
    ),
    Rule(
        "ControlPlane: conditions",
        "SHOULD",
        (387,),
        "`status.conditions` are there and of Cluster API's type; others are read as well.",
        ("conditions/foreign.py",),
        (LIVES, CONDITIONS),
    ),
    Rule(
        "ControlPlane: conditions",
        "core",
        (389, 391),
        "Ready is shown as the v1beta1 condition ControlPlaneReady of the Cluster, Available as "
        "ControlPlaneAvailable, from the first day to the last.",
        (f"{CLUSTER}/references.py", f"{CLUSTER}/status_v1beta1.py"),
        (
            f"{CLUSTER}/test_providers.py::test_a_cluster_of_old_providers",
            f"{CLUSTER}/test_status.py::test_control_plane_falls_back_on_its_field",
            f"{CLUSTER}/test_stories.py::test_deletion_goes_from_workers_to_the_infrastructure",
        ),
    ),
    Rule(
        "ControlPlane: terminal failures",
        "SHOULD",
        (397, 403, 411),
        "`status.failureReason` and `status.failureMessage` tell of what cannot be recovered.",
        (VIEW, f"{CLUSTER}/owned.py"),
        (FAILURES,),
    ),
    Rule(
        "ControlPlane: terminal failures",
        "core",
        (420, 422),
        "The Cluster keeps both (in `status.deprecated.v1beta1`) for as long as it lives.",
        (f"{CLUSTER}/owned.py",),
        (FAILURES,),
    ),
    Rule(
        "ControlPlaneTemplate, ControlPlaneTemplateList resource definition",
        "MUST",
        (426,),
        "There is a ControlPlaneTemplate, named so.",
        ("contract/templates.py", "api/kubeadm_control_plane.py"),
        (DEFINITIONS, "contract/test_templates.py::test_a_template_tells_its_labels"),
    ),
    Rule(
        "ControlPlaneTemplate, ControlPlaneTemplateList resource definition",
        "MUST",
        (454,),
        "Its list is called ControlPlaneTemplateList.",
        ("api/crds.py",),
        (DEFINITIONS,),
    ),
    Rule(
        "Cluster kubeconfig management",
        "MUST",
        (467, 469),
        "There is a kubeconfig Secret with a client certificate that nobody else has.",
        (f"{KUBEADM}/kubeconfig.py", f"{KUBEADM}/certificates.py"),
        (
            "remote/test_kubeconfig_secret.py::test_it_reaches_the_cluster_as_its_administrator",
            SECRETS_ONCE,
        ),
    ),
    Rule(
        "Cluster kubeconfig management",
        "MUST",
        (471, 473, 474, 475, 476),
        "It is in the Cluster's namespace, `<cluster>-kubeconfig`, has the type "
        "`cluster.x-k8s.io/secret` and the cluster's label; what has it not is no connection.",
        ("remote/secrets.py", "remote/connections.py"),
        (SECRETS_ONCE, "remote/test_connections.py::test_only_kubeconfig_secrets_are_connections"),
    ),
    Rule(
        "Cluster kubeconfig management",
        "MUST",
        (478,),
        "Its certificate lives for a year and is renewed at half of its life; a user's own is left "
        "alone.",
        (f"{KUBEADM}/kubeconfig.py",),
        (
            "remote/test_kubeconfig_secret.py::test_it_is_renewed_at_half_of_its_life",
            f"{USERS}::test_their_kubeconfig_is_left_alone",
        ),
    ),
    Rule(
        "Cluster certificate management",
        "MUST",
        (482, 484, 486, 487, 488, 489),
        "Certificates are Secrets `<cluster>-ca`, `-etcd`, `-proxy` and `-sa` of that type, with "
        "that label, in that namespace; a user's own are used.",
        ("remote/secrets.py", f"{KUBEADM}/certificates.py"),
        (
            SECRETS_ONCE,
            f"{USERS}::test_their_authority_signs_everything_and_stays_theirs",
            f"{STORY}::test_a_certificate_that_gets_lost_is_not_made_again",
        ),
    ),
    Rule(
        "Machine placement",
        "SHOULD",
        (495, 497),
        "Machines are spread over the failure domains of the Cluster that are for control planes.",
        ("contract/failure_domains.py", f"{KUBEADM}/scaling.py"),
        (f"{STORY}::test_machines_spread_over_failure_domains", RELEASED),
    ),
    Rule(
        "Metadata propagation",
        "SHOULD",
        (503, 505),
        "Labels and annotations go down to Machines, configs, infrastructure and Nodes.",
        (f"{KUBEADM}/desired.py", "core/machine/node_metadata.py"),
        (
            MADE,
            "providers/kubeadm/test_desired.py::test_users_labels_do_not_hide_ours",
            "core/machine/test_node_metadata.py::"
            "test_a_new_node_gets_labels_and_annotations_and_loses_its_taint",
        ),
    ),
    Rule(
        "Metadata propagation",
        "MUST",
        (507,),
        "They do so without a rollout.",
        (f"{KUBEADM}/applied.py",),
        (IN_PLACE,),
    ),
    Rule(
        "MinReadySeconds and UpToDate propagation",
        "core",
        (511,),
        "UpToDate of each Machine is written by its control plane; a Machine is Available when it "
        "was ready for `minReadySeconds`.",
        (f"{KUBEADM}/status.py", "core/machine/status.py"),
        (
            "core/machine/test_stories.py::test_min_ready_seconds_delay_availability",
            "providers/kubeadm/test_uptodate.py::test_version_and_template_count",
            f"{STORY}::test_an_upgrade_replaces_one_machine_at_a_time",
        ),
    ),
    shared.instances((519,)),
    Rule(
        "Clusterctl support",
        "SHOULD",
        (528,),
        "The CRDs of a release are taken as they are.",
        ("api/crds.py",),
        (DEFINITIONS,),
    ),
    *shared.pausing(
        "ControlPlane", (532,), (534,), (f"{STORY}::test_a_paused_cluster_is_left_alone",)
    ),
    Rule(
        "Typical reconciliation workflow",
        "MUST",
        (538,),
        "Changes of ControlPlanes, and of what they wait for, are watched.",
        (f"{KUBEADM}/controller.py",),
        (
            f"{STORY}::test_the_first_machine_runs_init",
            f"{STORY}::test_deletion_waits_for_the_workers",
        ),
    ),
]

DOCUMENT: Final = Document(
    "control-plane",
    "ControlPlane",
    ControlPlane,
    "seeds/control-plane-contract.txt",
    r"\bMUST\b|\bSHOULD\b|\bmust\b|\bshould\b|expected to",
    RULES,
)
