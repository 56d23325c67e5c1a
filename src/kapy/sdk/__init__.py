"""Provider SDK: the public API for provider authors. Everything else of kapy is private.

Implement the interface of a contract (`InfraMachineProvider`, `InfraMachinePoolProvider`,
`InfraClusterProvider` …), and the SDK runs the controller. Further controllers of a provider use
`Controller` and `Runtime`.
"""

from typing import TYPE_CHECKING, Any

from kapy import conditions
from kapy._aio.clock import Clock
from kapy.api.infrastructure import PoolInstance
from kapy.client.client import Client
from kapy.conditions import v1beta1
from kapy.contract.failure_domains import pick_fewest
from kapy.engine.cache import Change, Informer
from kapy.engine.controller import Controller
from kapy.engine.failure import NotYet
from kapy.engine.result import DONE, Result, requeue
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.boot import (
    BadBootData,
    BootPlan,
    RunCommand,
    WriteFile,
    as_command,
    as_commands,
    for_containers,
)
from kapy.kube.field_errors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource
from kapy.kube.pki import KeyPair
from kapy.kube.renamed import renamed_name, warn_private
from kapy.sdk.admission import KindRules, Rulebook
from kapy.sdk.admission_versions import CannotConvert, Version
from kapy.sdk.boot_plan import boot_plan
from kapy.sdk.bootstrap import BootstrapContext, BootstrapProvider
from kapy.sdk.bootstrap_controller import add_bootstrap
from kapy.sdk.bootstrap_secrets import BootstrapSecrets
from kapy.sdk.certificate_specs import CA_LIFE, ClusterCertificate
from kapy.sdk.cluster_certificates import ClusterCertificates, ClusterKeys, StoredCertificate
from kapy.sdk.control_plane import ControlPlaneContext, ControlPlaneProvider
from kapy.sdk.control_plane_controller import add_control_plane
from kapy.sdk.control_plane_desired import DesiredMachines
from kapy.sdk.control_plane_kinds import (
    ControlPlaneSpec,
    ControlPlaneStatus,
    MachineBasedControlPlaneSpec,
)
from kapy.sdk.control_plane_loop import MachineLoop, Step, control_plane_machines, waits_for_hook
from kapy.sdk.control_plane_machine_factory import MachineFactory, NewMachine, Part, free_name
from kapy.sdk.control_plane_machine_selection import (
    creation_time,
    failure_domains,
    next_failure_domain,
    oldest,
    select_for_deletion,
    versions_of,
)
from kapy.sdk.control_plane_rollout import is_cloned_from
from kapy.sdk.control_plane_status import set_machine_counters
from kapy.sdk.control_plane_steady_state import SteadyStateCache
from kapy.sdk.credentials import Credential, IdentityReference, Sessions
from kapy.sdk.credentials_of_tenants import TenantCredentials
from kapy.sdk.infra_cluster import ClusterContext, InfraClusterProvider
from kapy.sdk.infra_cluster_controller import add_infra_cluster
from kapy.sdk.infra_machine import InfraMachineProvider, MachineContext
from kapy.sdk.infra_machine_controller import add_infra_machine
from kapy.sdk.infra_machine_pool import InfraMachinePoolProvider, MachinePoolContext
from kapy.sdk.infra_machine_pool_controller import add_infra_machine_pool
from kapy.sdk.init_lock import InitLock
from kapy.sdk.ipam import AddressClaimContext, Allocated, Exhausted, IPAMProvider
from kapy.sdk.ipam_controller import add_ipam
from kapy.sdk.kinds import (
    AGE,
    BootstrapConfigStatus,
    Column,
    InfraClusterSpec,
    InfraClusterStatus,
    InfraMachinePoolSpec,
    InfraMachinePoolStatus,
    InfraMachineSpec,
    InfraMachineStatus,
    IPPoolStatus,
    resource,
    template_of,
)
from kapy.sdk.kubeconfigs import Kubeconfigs
from kapy.sdk.load_balancer import ControlPlaneLoadBalancer, Member
from kapy.sdk.machine_based_control_plane import (
    MachineControlPlaneContext,
    MachineControlPlaneProvider,
)
from kapy.sdk.machine_based_control_plane_controller import add_machine_based_control_plane
from kapy.sdk.machine_console import (
    CommandStreams,
    ConsoleUnavailable,
    LogRequest,
    MachineConsole,
    MachineTarget,
)
from kapy.sdk.owned_objects import OwningContext
from kapy.sdk.pool_machines import PoolMachines
from kapy.sdk.pool_result import pool_result
from kapy.sdk.provider import Provider, Right, Setting
from kapy.sdk.readiness import in_v1beta1
from kapy.sdk.results import (
    Address,
    BootstrapData,
    ClusterProvisioned,
    ControlPlaneObserved,
    ControlPlaneProvisioned,
    Endpoint,
    Failed,
    PoolProvisioned,
    Provisioned,
    Released,
    Replicas,
    Unchanged,
    Waiting,
)
from kapy.sdk.template_capacity import add_template_capacity
from kapy.sdk.workload_clusters import NotConnected, WorkloadClusters

_RENAMED = {
    "AddressOrder": "AddressClaimContext",
    "Applied": "SSACache",
    "BootstrapOrder": "BootstrapContext",
    "ClusterOrder": "ClusterContext",
    "ControlPlaneOfMachinesSpec": "MachineBasedControlPlaneSpec",
    "ControlPlaneOrder": "ControlPlaneContext",
    "ControlPlaneSeen": "ControlPlaneObserved",
    "Kept": "StoredCertificate",
    "Keychain": "ClusterCertificates",
    "MachineOrder": "MachineContext",
    "MachinePoolOrder": "MachinePoolContext",
    "MachinesOrder": "MachineControlPlaneContext",
    "Making": "OwningContext",
    "News": "ChangeCounter",
    "Tenants": "TenantCredentials",
    "add_control_plane_of_machines": "add_machine_based_control_plane",
    "answer_for_pool": "pool_result",
    "created": "creation_time",
    "next_to_go": "select_for_deletion",
    "Keys": "PrivateKeyPool",
    "REPORTED": "STATUS_DEBOUNCE",
    "SUMMED_UP": "AGGREGATE_DEBOUNCE",
    "awaited": "unblocking_only",
    "cloned": "clone_template",
    "look_again": "next_transition",
}
"""Former names, until the next minor release."""

__all__ = [
    "AGE",
    "CA_LIFE",
    "DONE",
    "Address",
    "AddressClaimContext",
    "Allocated",
    "BadBootData",
    "BootPlan",
    "BootstrapConfigStatus",
    "BootstrapContext",
    "BootstrapData",
    "BootstrapProvider",
    "BootstrapSecrets",
    "CannotConvert",
    "Change",
    "Client",
    "Clock",
    "ClusterCertificate",
    "ClusterCertificates",
    "ClusterContext",
    "ClusterKeys",
    "ClusterProvisioned",
    "Column",
    "CommandStreams",
    "ConsoleUnavailable",
    "ControlPlaneContext",
    "ControlPlaneLoadBalancer",
    "ControlPlaneObserved",
    "ControlPlaneProvider",
    "ControlPlaneProvisioned",
    "ControlPlaneSpec",
    "ControlPlaneStatus",
    "Controller",
    "Credential",
    "DesiredMachines",
    "Document",
    "Endpoint",
    "Exhausted",
    "Failed",
    "FieldError",
    "IPAMProvider",
    "IPPoolStatus",
    "IdentityReference",
    "Informer",
    "InfraClusterProvider",
    "InfraClusterSpec",
    "InfraClusterStatus",
    "InfraMachinePoolProvider",
    "InfraMachinePoolSpec",
    "InfraMachinePoolStatus",
    "InfraMachineProvider",
    "InfraMachineSpec",
    "InfraMachineStatus",
    "InitLock",
    "Key",
    "KeyPair",
    "KindRules",
    "Kubeconfigs",
    "LogRequest",
    "MachineBasedControlPlaneSpec",
    "MachineConsole",
    "MachineContext",
    "MachineControlPlaneContext",
    "MachineControlPlaneProvider",
    "MachineFactory",
    "MachineLoop",
    "MachinePoolContext",
    "MachineTarget",
    "Member",
    "Model",
    "NewMachine",
    "NotConnected",
    "NotYet",
    "Object",
    "OwningContext",
    "Part",
    "PoolInstance",
    "PoolMachines",
    "PoolProvisioned",
    "Provider",
    "Provisioned",
    "Released",
    "Replicas",
    "Resource",
    "Result",
    "Right",
    "Rulebook",
    "RunCommand",
    "Runtime",
    "Sessions",
    "Setting",
    "SteadyStateCache",
    "Step",
    "StoredCertificate",
    "TenantCredentials",
    "Unchanged",
    "Version",
    "Waiting",
    "WorkloadClusters",
    "WriteFile",
    "add_bootstrap",
    "add_control_plane",
    "add_infra_cluster",
    "add_infra_machine",
    "add_infra_machine_pool",
    "add_ipam",
    "add_machine_based_control_plane",
    "add_template_capacity",
    "as_command",
    "as_commands",
    "boot_plan",
    "conditions",
    "control_plane_machines",
    "creation_time",
    "duplicate",
    "failure_domains",
    "for_containers",
    "forbidden",
    "free_name",
    "in_v1beta1",
    "invalid",
    "is_cloned_from",
    "next_failure_domain",
    "not_supported",
    "oldest",
    "pick_fewest",
    "pool_result",
    "requeue",
    "required",
    "resource",
    "rules",
    "select_for_deletion",
    "set_machine_counters",
    "template_of",
    "v1beta1",
    "versions_of",
    "waits_for_hook",
]


if not TYPE_CHECKING:  # else every name would seem to exist

    def __getattr__(name: str) -> Any:
        from kapy.sdk import internals

        if name in internals.__all__:
            warn_private(__name__, name)
            return getattr(internals, name)
        present = renamed_name(__name__, _RENAMED, name)
        return globals()[present] if present in globals() else getattr(internals, present)
