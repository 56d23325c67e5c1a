"""Promises of core about Machines and MachinePools, broken rule by rule."""

from __future__ import annotations

from typing import Final

from tests.contract.breaks.broken import Break

_TOLD: Final = "contract/test_broken_providers.py"
_MACHINES: Final = "core/machine/test_stories.py"
_POOLS: Final = "core/machinepool/test_stories.py"

_TAKEN: Final = f"{_MACHINES}::test_a_machine_mirrors_the_reports_of_its_providers"

_WHERE: Final = f"{_MACHINES}::test_addresses_and_failure_domain_come_from_the_infrastructure"

MACHINES: Final = (
    Break(
        "the provider ID is not taken over",
        "core/machine/providers.py",
        "    machine.spec.provider_id = provider_id\n",
        "",
        {_TAKEN: ("infra-machine/provider-id-taken", "infra-machine/provider-id")},
    ),
    Break(
        "a provider ID changes under a Node",
        "core/machine/providers.py",
        "if current and current != provider_id and machine.status.node_ref is not None:",
        "if False:",
        {
            f"{_TOLD}::test_a_provider_id_is_immutable_and_unique": (
                "infra-machine/provider-id-taken",
            )
        },
    ),
    Break(
        "a provider ID belongs to two Machines",
        "core/machine/providers.py",
        "for other in scope.dependencies.fleet.machines_with(scope.cluster_key, provider_id):",
        "for other in ():",
        {
            f"{_TOLD}::test_a_provider_id_is_immutable_and_unique": (
                "infra-machine/provider-id-taken",
            )
        },
    ),
    Break(
        "the failure domain of the machine is not taken over",
        "core/machine/providers.py",
        "machine.status.failure_domain = domain",
        "pass",
        {_WHERE: ("infra-machine/failure-domain-taken", "infra-machine/failure-domain-status")},
    ),
    Break(
        "the addresses are not taken over",
        "core/machine/providers.py",
        "machine.status.addresses = list(addresses)",
        "pass",
        {_WHERE: ("infra-machine/addresses-taken", "infra-machine/addresses")},
    ),
    Break(
        "a machine that is not provisioned any more takes back what was said",
        "core/machine/providers.py",
        "    provisioned = infra.provisioned\n",
        "    provisioned = infra.provisioned\n"
        "    done.infrastructure_provisioned = bool(provisioned)\n",
        {
            f"{_MACHINES}::test_reached_initialization_is_not_reverted": (
                "infra-machine/initialized-taken",
            )
        },
    ),
    Break(
        "terminal failures of machines are not shown",
        "core/machine/status_v1beta1.py",
        "    for part in parts:\n        if not isinstance(part, Found) or",
        "    for part in parts[:1]:\n        if not isinstance(part, Found) or",
        {
            "core/machine/test_status_v1beta1.py::test_terminal_failures_are_kept": (
                "infra-machine/failures-taken",
            )
        },
    ),
    Break(
        "terminal failures of boot data are not shown",
        "core/machine/status_v1beta1.py",
        "    for part in parts:\n        if not isinstance(part, Found) or",
        "    for part in parts[1:]:\n        if not isinstance(part, Found) or",
        {
            "core/machine/test_status_v1beta1.py::test_terminal_failures_are_kept": (
                "bootstrap-config/failures-taken",
            )
        },
    ),
    Break(
        "boot data is taken before it is said to be made",
        "core/machine/providers.py",
        "if config.deleting or not config.data_secret_created:",
        "if config.deleting:",
        {
            f"{_MACHINES}::test_boot_data_is_read_when_it_is_reported_ready": (
                "bootstrap-config/data-secret-taken",
                "bootstrap-config/data-secret",
            )
        },
    ),
    Break(
        "boot data that is not there any more takes back what was said",
        "core/machine/providers.py",
        "        machine.status.initialization.bootstrap_data_secret_created = True\n"
        "        return\n",
        "        machine.status.initialization.bootstrap_data_secret_created = bool(\n"
        "            config.data_secret_created\n        )\n        return\n",
        {
            f"{_MACHINES}::test_reached_initialization_is_not_reverted": (
                "bootstrap-config/initialized-taken",
            )
        },
    ),
    Break(
        "a Machine is Available at once",
        "core/machine/status.py",
        "    if not least or remaining <= timedelta(0):",
        "    if True:",
        {
            f"{_MACHINES}::test_min_ready_seconds_delay_availability": (
                "control-plane/machines-available",
                "control-plane/min-ready-seconds",
            )
        },
    ),
    Break(
        "a Node that is not ready does not say why",
        "core/machine/node_conditions.py",
        'message = condition.get("message") or f"Condition is {status}"',
        'message = f"Condition is {status}"',
        {
            "core/machine/test_status.py::test_node_healthy_follows_the_node_conditions": (
                "control-plane/pods-network",
            )
        },
    ),
    Break(
        "a Secret without the label is a connection",
        "remote/cluster_cache.py",
        'name = (metadata.get("labels") or {}).get(CLUSTER_NAME)',
        'name = metadata["name"].removesuffix("-kubeconfig")',
        {
            "remote/test_cluster_cache.py::test_only_kubeconfig_secrets_are_connections": (
                "control-plane/connections",
            )
        },
    ),
)

POOLS: Final = (
    Break(
        "machines of a pool get no Machines",
        "core/machinepool/machines.py",
        "    if infra.deleting or not infra.infrastructure_machine_kind:",
        "    if True:",
        {
            f"{_POOLS}::test_each_machine_of_the_provider_gets_a_machine": (
                "infra-machinepool/machines-made",
            )
        },
    ),
    Break(
        "the provider IDs of a pool are not taken over",
        "core/machinepool/providers.py",
        "        pool.spec.provider_id_list = ids\n",
        "",
        {
            f"{_POOLS}::test_a_pool_follows_its_provider_from_0_to_3_to_1_to_0": (
                "infra-machinepool/provider-ids-taken",
            )
        },
    ),
    Break(
        "the replicas of a pool are not taken over",
        "core/machinepool/providers.py",
        "        pool.status.replicas = replicas\n",
        "        pass\n",
        {
            f"{_POOLS}::test_a_pool_follows_its_provider_from_0_to_3_to_1_to_0": (
                "infra-machinepool/replicas-taken",
            )
        },
    ),
    Break(
        "a pool that is not provisioned any more takes back what was said",
        "core/machinepool/providers.py",
        "infra.provisioned or bool(done.infrastructure_provisioned)",
        "infra.provisioned",
        {
            f"{_POOLS}::test_provisioned_is_never_taken_back": (
                "infra-machinepool/initialized-taken",
            )
        },
    ),
)
