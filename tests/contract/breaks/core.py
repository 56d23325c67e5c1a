"""Promises of core about references, Clusters and conditions, broken rule by rule."""

from __future__ import annotations

from typing import Final

from tests.contract.breaks.broken import Break, each

_FOREIGN: Final = "contract/test_external.py"
_RESOLVE: Final = "contract/test_resolve.py"
_TOLD: Final = "contract/test_broken_providers.py"
_CLUSTERS: Final = "core/cluster/test_stories.py"
_OF_PROVIDERS: Final = "core/cluster/test_providers.py"
_STATUS: Final = "core/cluster/test_status.py"
_MACHINES: Final = "core/machine/test_stories.py"
_POOLS: Final = "core/machinepool/test_stories.py"

REFERENCES: Final = (
    Break(
        "a CRD that names another version wakes nobody",
        "contract/external.py",
        "return resolve(kind, crd) == where",
        "return True",
        {
            f"{_FOREIGN}::test_objects_are_read_in_the_version_that_the_crd_names_now": each(
                "references"
            )
        },
    ),
    Break(
        "the oldest version of a label is read",
        "contract/resolve.py",
        "key=version_priority, reverse=True)",
        "key=version_priority)",
        {
            f"{_RESOLVE}::test_the_newest_contract_and_of_it_the_newest_version_win": each(
                "version-read", "label-versions"
            )
        },
    ),
    Break(
        "the oldest contract wins",
        "contract/resolve.py",
        "_NEWEST_FIRST: Final = (Version.V1BETA2, Version.V1BETA1)",
        "_NEWEST_FIRST: Final = (Version.V1BETA1, Version.V1BETA2)",
        {
            f"{_RESOLVE}::test_the_newest_contract_and_of_it_the_newest_version_win": each(
                "version-read"
            )
        },
    ),
    Break(
        "a version that is not served is read",
        "contract/resolve.py",
        "next((item for item in named if served.get(item)), None)",
        "next((item for item in named if item in served), None)",
        {
            f"{_RESOLVE}::test_versions_that_the_crd_lacks_or_does_not_serve_are_passed_over": each(
                "version-read", "label-versions"
            )
        },
    ),
    Break(
        "versions are ordered by the alphabet",
        "contract/resolve.py",
        '    return 1, _STAGES[stage], int(major), int(minor or 0), ""',
        "    return 1, 0, 0, 0, version",
        {f"{_RESOLVE}::test_versions_have_an_order": each("deprecation")},
    ),
    Break(
        "nobody is asked for rights that core lacks",
        "contract/external.py",
        "return Unreadable(_not_permitted(kind, error))",
        "return Unreadable(error)",
        {
            "contract/test_rights.py::test_a_custom_group_is_read_once_core_may_read_it": each(
                "rights-asked"
            )
        },
    ),
    Break(
        "the label of the Cluster is not set",
        "contract/ownership.py",
        "if cluster is not None and (metadata",
        "if cluster is None and (metadata",
        {
            f"{_CLUSTERS}::test_references_that_come_late_are_waited_for": (
                "infra-cluster/owner-set",
            ),
            f"{_CLUSTERS}::test_the_cluster_owns_its_control_plane": ("control-plane/owner-set",),
            f"{_MACHINES}::test_a_machine_mirrors_the_reports_of_its_providers": (
                "infra-machine/owner-set",
                "bootstrap-config/owner-set",
            ),
            f"{_POOLS}::test_a_pool_waits_for_its_providers_and_owns_their_objects": (
                "infra-machinepool/owner-set",
            ),
        },
    ),
    Break(
        "no owner reference is set",
        "contract/ownership.py",
        "        after.append(wanted)\n",
        "        pass\n",
        {
            "contract/test_ownership.py::test_a_reference_is_added_or_corrected": (
                "clusterctl/owners-set",
                *each("owner-set"),
            )
        },
    ),
)

_PARTS: Final = "test_a_cluster_says_how_its_parts_break_the_contract"
_MACHINE_PARTS: Final = "test_a_machine_says_how_its_parts_break_the_contract"

TOLD: Final = (
    Break(
        "a broken contract of the infrastructure is not told",
        "core/cluster/providers.py",
        "scope.infrastructure = Found(infra, error)",
        "scope.infrastructure = Found(infra)",
        {f"{_TOLD}::{_PARTS}": ("infra-cluster/broken-told",)},
    ),
    Break(
        "a broken contract of the control plane is not told",
        "core/cluster/providers.py",
        "scope.control_plane = Found(control_plane, error)",
        "scope.control_plane = Found(control_plane)",
        {f"{_TOLD}::{_PARTS}": ("control-plane/broken-told",)},
    ),
    Break(
        "a broken contract of a machine is not told",
        "core/machine/providers.py",
        "scope.infrastructure = Found(infra, error)",
        "scope.infrastructure = Found(infra)",
        {f"{_TOLD}::{_MACHINE_PARTS}": ("infra-machine/broken-told",)},
    ),
    Break(
        "a broken contract of boot data is not told",
        "core/machine/providers.py",
        "scope.bootstrap = Found(config, error)",
        "scope.bootstrap = Found(config)",
        {f"{_TOLD}::{_MACHINE_PARTS}": ("bootstrap-config/broken-told",)},
    ),
    Break(
        "a broken contract of a pool is not told",
        "core/machinepool/providers.py",
        "scope.infrastructure = replace(scope.infrastructure, problem=error)",
        "pass",
        {
            f"{_POOLS}::test_a_provider_that_breaks_the_contract_is_named_with_the_field": (
                "infra-machinepool/broken-told",
            )
        },
    ),
    Break(
        "who could not read a kind is not woken when its CRD is put right",
        "contract/external.py",
        "keys = self._unreadable.pop(kind, set())",
        "keys = set[Key]()",
        {
            f"{_FOREIGN}::test_readers_of_an_unreadable_kind_are_woken_when_its_crd_is_corrected": (
                *each("broken-told"),
            )
        },
    ),
)

CLUSTER: Final = (
    Break(
        "a known endpoint is overwritten",
        "core/cluster/providers.py",
        "    if current.host and current.port:\n        return\n",
        "",
        {
            f"{_OF_PROVIDERS}::test_the_endpoint_of_the_user_is_the_endpoint": (
                "infra-cluster/endpoint-taken",
            )
        },
    ),
    Break(
        "the endpoint of the infrastructure is not taken over",
        "core/cluster/providers.py",
        "    _copy_endpoint(scope, infra)\n",
        "",
        {
            f"{_CLUSTERS}::test_references_that_come_late_are_waited_for": (
                "infra-cluster/endpoint-taken",
                "infra-cluster/endpoint",
            )
        },
    ),
    Break(
        "the endpoint of the control plane is not taken over",
        "core/cluster/providers.py",
        "    _copy_endpoint(scope, control_plane)\n",
        "",
        {
            f"{_OF_PROVIDERS}::test_the_endpoint_may_come_from_the_control_plane": (
                "control-plane/endpoint-taken",
                "control-plane/endpoint",
            )
        },
    ),
    Break(
        "the failure domains are not taken over",
        "core/cluster/providers.py",
        "list(infra.failure_domains or ())",
        "[]",
        {
            f"{_CLUSTERS}::test_references_that_come_late_are_waited_for": (
                "infra-cluster/failure-domains-taken",
            )
        },
    ),
    Break(
        "the map of failure domains of v1beta1 is not read",
        "contract/infra_cluster.py",
        "decode_v1beta1=failure_domain_map,",
        "",
        {
            f"{_OF_PROVIDERS}::test_a_cluster_of_v1beta1_providers_comes_up": (
                "infra-cluster/failure-domains-taken",
                "infra-cluster/failure-domains",
            )
        },
    ),
    Break(
        "infrastructure that is not provisioned any more takes back what was said",
        "core/cluster/providers.py",
        "    provisioned = infra.provisioned\n",
        "    provisioned = infra.provisioned\n"
        "    done.infrastructure_provisioned = bool(provisioned)\n",
        {
            f"{_CLUSTERS}::test_reached_initialization_is_not_reverted": (
                "infra-cluster/initialized-taken",
            )
        },
    ),
    Break(
        "a control plane that is not initialized any more takes back what was said",
        "core/cluster/providers.py",
        "    initialized = control_plane.initialized\n",
        "    initialized = control_plane.initialized\n"
        "    done.control_plane_initialized = bool(initialized)\n",
        {
            f"{_CLUSTERS}::test_reached_initialization_is_not_reverted": (
                "control-plane/initialized-taken",
            )
        },
    ),
    Break(
        "terminal failures of the infrastructure are not shown",
        "core/cluster/providers.py",
        "                _copy_failures(scope, infra)\n",
        "",
        {
            f"{_OF_PROVIDERS}::test_a_terminal_failure_of_v1beta1_is_never_unset": (
                "infra-cluster/failures-taken",
            )
        },
    ),
    Break(
        "terminal failures of the control plane are not shown",
        "core/cluster/providers.py",
        "                _copy_failures(scope, control_plane)\n",
        "",
        {
            f"{_OF_PROVIDERS}::test_a_terminal_failure_of_v1beta1_is_never_unset": (
                "control-plane/failures-taken",
            )
        },
    ),
    Break(
        "terminal failures are forgotten when the provider stops telling them",
        "core/cluster/providers.py",
        "    if not (reason or message):\n        return\n    status = scope.cluster.status\n",
        "    status = scope.cluster.status\n    status.deprecated = None\n"
        "    if not (reason or message):\n        return\n",
        {
            f"{_OF_PROVIDERS}::test_a_terminal_failure_of_v1beta1_is_never_unset": (
                "infra-cluster/failures-taken",
                "control-plane/failures-taken",
            )
        },
    ),
    Break(
        "infrastructure that is managed from outside is not taken over",
        "core/cluster/providers.py",
        "    if infra.deleting or not (",
        '    annotations = infra.document["metadata"].get("annotations") or {}\n'
        '    if "cluster.x-k8s.io/managed-by" in annotations:\n'
        "        return\n    if infra.deleting or not (",
        {
            f"{_OF_PROVIDERS}::"
            "test_infrastructure_that_is_managed_from_outside_is_taken_as_it_is": (
                "infra-cluster/managed-taken",
            )
        },
    ),
    Break(
        "the infrastructure goes before the control plane",
        "core/cluster/deletion.py",
        ("if not await _is_gone(scope, observed, reason):\n                return DONE"),
        "await _is_gone(scope, observed, reason)",
        {
            f"{_CLUSTERS}::test_a_deletion_proceeds_from_workers_to_the_infrastructure": (
                "infra-cluster/deleted-last",
            )
        },
    ),
    Break(
        "what is not available in v1beta1 counts as available",
        "core/cluster/counters.py",
        "return max(desired - unavailable, 0)",
        "return unavailable",
        {
            f"{_STATUS}::test_counters_of_both_contracts_are_summed": (
                "control-plane/replicas-counted",
            )
        },
    ),
    Break(
        "an upgrade is done when one machine has the version",
        "contract/control_plane.py",
        "return any(compare(wanted, item, build_tags=True) >= 1 for item in running)",
        "return all(compare(wanted, item, build_tags=True) >= 1 for item in running)",
        {
            "contract/test_fields.py::test_a_control_plane_is_provisioning_or_upgrading": (
                "control-plane/version-awaited",
            )
        },
    ),
    Break(
        "the newest version that runs is taken for the oldest",
        "contract/control_plane.py",
        "return versions[0].version if versions else self.status_version",
        "return versions[-1].version if versions else self.status_version",
        {"contract/test_fields.py::test_versions_are_counted": ("control-plane/version-awaited",)},
    ),
    Break(
        "Nodes of a control plane that has none are waited for",
        "core/machine/deletion.py",
        "case Found(view) if ControlPlane.external_managed.if_readable(view):",
        "case Found(view) if False:",
        {
            "core/machine/test_readiness.py::"
            "test_the_node_is_deleted_only_while_a_control_plane_remains": (
                "control-plane/external-taken",
            )
        },
    ),
)

CONDITIONS: Final = (
    Break(
        "a condition without a status is read",
        "conditions/foreign.py",
        "    if not status:\n",
        "    if False:\n",
        {f"{_TOLD}::test_conditions_that_cannot_be_read_are_reported": each("conditions-read")},
    ),
    Break(
        "a condition without a type is read",
        "conditions/foreign.py",
        "    if not type_:\n",
        "    if False:\n",
        {
            f"{_TOLD}::test_conditions_that_cannot_be_read_are_reported": each(
                "conditions-read", "conditions"
            )
        },
    ),
    Break(
        "another condition than Ready is shown",
        "conditions/mirror.py",
        "mirror_foreign(document, ConditionType.READY, target=target",
        "mirror_foreign(document, ConditionType.AVAILABLE, target=target",
        {
            "core/machine/test_status.py::test_infrastructure_ready_mirrors_the_provider": (
                "infra-machine/conditions-shown",
            ),
            "core/machine/test_status.py::test_bootstrap_config_ready_mirrors_the_provider": (
                "bootstrap-config/conditions-shown",
            ),
            f"{_POOLS}::test_the_provider_s_ready_is_mirrored": (
                "infra-machinepool/conditions-shown",
            ),
        },
    ),
    Break(
        "what a Cluster's parts report is not shown",
        "core/cluster/references.py",
        "mirror_foreign(document, words.source, target",
        'mirror_foreign(document, "Healthy", target',
        {
            f"{_STATUS}::test_infrastructure_ready_mirrors_the_infrastructure": (
                "infra-cluster/conditions-shown",
            ),
            f"{_STATUS}::test_the_control_plane_status_is_mirrored": (
                "control-plane/conditions-shown",
            ),
        },
    ),
)

CORE: Final = (*REFERENCES, *TOLD, *CLUSTER, *CONDITIONS)
