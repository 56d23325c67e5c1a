"""Names that `kapy.sdk` had in earlier releases, kept until the next minor release.

Each warns with DeprecationWarning. PRIVATE: the names that no public module has any more.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any, Final

RENAMED: Final = {
    "AddressOrder": "AddressClaimContext",
    "Applied": "SSACache",
    "BootstrapOrder": "BootstrapContext",
    "ClusterOrder": "ClusterContext",
    "ControlPlaneOfMachinesSpec": "MachineBasedControlPlaneSpec",
    "ControlPlaneOrder": "ControlPlaneContext",
    "ControlPlaneSeen": "ControlPlaneObserved",
    "Kept": "StoredCertificate",
    "Keychain": "ClusterCertificates",
    "Keys": "PrivateKeyPool",
    "MachineOrder": "MachineContext",
    "MachinePoolOrder": "MachinePoolContext",
    "MachinesOrder": "MachineControlPlaneContext",
    "Making": "OwningContext",
    "News": "ChangeCounter",
    "REPORTED": "STATUS_DEBOUNCE",
    "SUMMED_UP": "AGGREGATE_DEBOUNCE",
    "Tenants": "TenantCredentials",
    "add_control_plane_of_machines": "add_machine_based_control_plane",
    "answer_for_pool": "pool_result",
    "awaited": "unblocking_only",
    "cloned": "clone_template",
    "created": "creation_time",
    "look_again": "next_transition",
    "next_to_go": "select_for_deletion",
}

MOVED: Final = {
    "kapy.sdk.boot": """
        BadBootData BootPlan BootstrapSecrets InitLock RunCommand WriteFile as_command as_commands
        boot_plan for_containers
    """,
    "kapy.sdk.certificates": """
        CA_LIFE ClusterCertificate ClusterCertificates ClusterKeys KeyPair Kubeconfigs
        StoredCertificate
    """,
    "kapy.sdk.console": """
        CommandStreams ConsoleUnavailable LogRequest MachineConsole MachineTarget
    """,
    "kapy.sdk.contracts": """
        Absent ControlPlane External Found InfraMachine InfraMachineTemplate Observed Unreadable
    """,
    "kapy.sdk.controllers": """
        AGGREGATE_DEBOUNCE Change Clock Draft Informer Recorder STATUS_DEBOUNCE is_paused own_key
        owner_keys paused_condition unblocking_only
    """,
    "kapy.sdk.conversion": "CannotConvert Version",
    "kapy.sdk.credentials": "Credential IdentityReference Sessions TenantCredentials",
    "kapy.sdk.field_errors": "FieldError duplicate forbidden invalid not_supported required",
    "kapy.sdk.load_balancer": "ControlPlaneLoadBalancer Member",
    "kapy.sdk.machine_control_plane": """
        ControlPlaneObserved DesiredMachines MachineBasedControlPlaneSpec
        MachineControlPlaneContext MachineControlPlaneProvider MachineFactory MachineLoop
        NewMachine Part SteadyStateCache Step add_machine_based_control_plane
        control_plane_machines creation_time failure_domains free_name is_cloned_from
        next_failure_domain next_transition oldest select_for_deletion set_machine_counters
        stale_machines versions_of waits_for_hook
    """,
    "kapy.sdk.template_capacity": "add_template_capacity",
    "kapy.sdk.workload_clusters": "NotConnected WorkloadClusters",
}
"""The moved names, by the public module that has them now."""

PRIVATE: Final = {
    "AppliedObjects": "kapy.sdk.applied_objects",
    "Cache": "kapy.engine.cache",
    "ChangeCounter": "kapy.sdk.control_plane_steady_state",
    "Listed": "kapy.client.client",
    "PrivateKeyPool": "kapy.engine.private_keys",
    "SSACache": "kapy.engine.ssa_cache",
    "clone_template": "kapy.contract.templates",
    "pick_most": "kapy.contract.failure_domains",
    "run_phases": "kapy.engine.reconciler",
}

_HOMES: Final = PRIVATE | {name: home for home, names in MOVED.items() for name in names.split()}


def former_name(name: str) -> Any:
    """Return the object that had the name in `kapy.sdk`. Raises AttributeError for any other
    name.
    """
    present = RENAMED.get(name, name)
    if name not in RENAMED and name not in _HOMES:
        raise AttributeError(f"module 'kapy.sdk' has no attribute {name!r}")
    home = _HOMES.get(present, "kapy.sdk")
    text = f"kapy.sdk.{name} is now {home}.{present}"
    if present in PRIVATE:
        text = f"kapy.sdk.{name} is private and goes with the next minor release"
    warnings.warn(text, DeprecationWarning, stacklevel=3)
    return getattr(import_module(home), present)
