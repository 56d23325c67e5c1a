"""The other parts of what core and clusterctl's commands promise in one sentence."""

from __future__ import annotations

from typing import Final

from tests.contract.breaks.broken import Break, each

_CLUSTERS: Final = "core/cluster/test_stories.py"
_LATE: Final = f"{_CLUSTERS}::test_references_that_come_late_are_waited_for"
_KEPT: Final = f"{_CLUSTERS}::test_reached_initialization_is_not_reverted"
_TAKEN: Final = "core/machine/test_stories.py::test_a_machine_mirrors_the_reports_of_its_providers"
_POOLS: Final = "core/machinepool/test_stories.py"
_FOLLOWS: Final = f"{_POOLS}::test_a_pool_follows_its_provider_from_0_to_3_to_1_to_0"

OTHER_PARTS: Final = (
    Break(
        "the endpoint is taken over before the infrastructure is provisioned",
        "core/cluster/providers.py",
        "if infra.deleting or not (provisioned or done.infrastructure_provisioned):\n",
        "if infra.deleting:\n",
        {_LATE: ("infra-cluster/endpoint-taken",)},
    ),
    Break(
        "a Cluster does not say that its infrastructure is provisioned",
        "core/cluster/providers.py",
        '"InfrastructureReady", message)\n    done.infrastructure_provisioned = True',
        '"InfrastructureReady", message)',
        {_LATE: ("infra-cluster/initialized-taken", "infra-cluster/initialization")},
    ),
    Break(
        "a Cluster does not say that its control plane is initialized",
        "core/cluster/providers.py",
        '"ControlPlaneInitialized", message)\n    done.control_plane_initialized = True',
        '"ControlPlaneInitialized", message)',
        {_KEPT: ("control-plane/initialized-taken", "control-plane/initialization")},
    ),
    Break(
        "a Machine does not say that its infrastructure is provisioned",
        "core/machine/providers.py",
        "provider_id = provider_id\n    done.infrastructure_provisioned = True",
        "provider_id = provider_id",
        {_TAKEN: ("infra-machine/initialized-taken", "infra-machine/initialization")},
    ),
    Break(
        "a pool does not say that its infrastructure is provisioned",
        "core/machinepool/providers.py",
        "done.infrastructure_provisioned = infra.provisioned or bool(",
        "done.infrastructure_provisioned = bool(",
        {_FOLLOWS: ("infra-machinepool/initialized-taken", "infra-machinepool/initialization")},
    ),
    Break(
        "a Node is not found by its provider ID",
        "core/machine/node.py",
        "results = nodes_with(nodes, provider_id)",
        'results = nodes_with(nodes, f"{provider_id}/")',
        {_TAKEN: ("infra-machine/provider-id-taken",)},
    ),
    Break(
        "Nodes of a pool are not found by the IDs",
        "core/machinepool/nodes.py",
        "result = [node for item in ids for node in nodes_with(nodes, item)]",
        "result = list[Document]()",
        {
            f"{_POOLS}::test_a_pool_runs_when_its_machines_are_nodes": (
                "infra-machinepool/provider-ids-taken",
            )
        },
    ),
    Break(
        "Nodes of a pool stay when their IDs go",
        "core/machinepool/nodes.py",
        "    await _delete_retired(client, nodes, pool)\n",
        "",
        {_FOLLOWS: ("infra-machinepool/provider-ids-taken",)},
    ),
    Break(
        "terminal failures of pools are not shown",
        "core/machinepool/providers.py",
        "        scope.legacy.failure_reason = reason\n",
        "        pass\n",
        {
            f"{_POOLS}::test_terminal_failures_persist_and_lost_infrastructure_is_one": (
                "infra-machinepool/failures-taken",
            )
        },
    ),
    Break(
        "terminal failures of machines are forgotten when the provider stops telling them",
        "core/machine/status_v1beta1.py",
        "    for part in parts:\n        if not isinstance(part, Found) or not _reports",
        "    _legacy(machine).failure_reason = _legacy(machine).failure_message = None\n"
        "    for part in parts:\n        if not isinstance(part, Found) or not _reports",
        {
            "core/machine/test_status_v1beta1.py::test_terminal_failures_are_kept": (
                "infra-machine/failures-taken",
                "bootstrap-config/failures-taken",
            )
        },
    ),
    Break(
        "conditions of Cluster API's legacy type are not read",
        "conditions/v1beta1.py",
        "            return _decode_condition(entry)\n    return None\n",
        "            return None\n    return None\n",
        {
            "core/machine/test_status_v1beta1.py::test_infrastructure_mirrors_the_provider": each(
                "conditions-read"
            ),
        },
    ),
    Break(
        "workers are newer than the control plane",
        "core/machineset/preflight.py",
        "    if mine.minor > theirs.minor:",
        "    if False:",
        {
            "core/machinedeployment/test_stories.py::"
            "test_no_machine_is_newer_than_the_control_plane": ("control-plane/version-awaited",)
        },
    ),
    Break(
        "nothing warns of a namespace that a manager was told",
        "clusterctl/components/checks.py",
        "    yield from _namespaces(documents)\n",
        "",
        {
            "clusterctl/test_components.py::test_a_manager_watches_all_namespaces": (
                "clusterctl/watching",
            )
        },
    ),
    Break(
        "what was moved stays in the source",
        "clusterctl/move/removal.py",
        "        moved = [planned for planned in group if planned.way is Treatment.MOVED]\n",
        "        moved = list[Planned]()\n",
        {
            "clusterctl/move/test_rules.py::"
            "test_namespaced_objects_are_created_or_updated_and_removed": (
                "clusterctl/move-created",
            )
        },
    ),
    Break(
        "a controller that ignores the pause is not noticed",
        "clusterctl/move/mover.py",
        "        raise still_changing_error(changed)\n",
        "        return\n",
        {
            "clusterctl/move/test_others_at_work.py::"
            "test_a_controller_that_ignores_the_pause_is_reported_and_the_move_undone": (
                "clusterctl/move-paused",
            )
        },
    ),
    Break(
        "what kubectl installed is not labelled",
        "clusterctl/components/reading.py",
        '(metadata.get("labels") or {}), **common_labels(provider)}',
        '(metadata.get("labels") or {})}',
        {
            "clusterctl/test_install.py::test_objects_applied_by_kubectl_are_adopted_unchanged": (
                "clusterctl/label-names",
            )
        },
    ),
)
