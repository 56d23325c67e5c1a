"""Provider SDK: the public API for provider authors. Everything else of kapy is private.

There are two ways to use it: implement the interface of a contract (`InfraMachineProvider`,
`InfraMachinePoolProvider`, `InfraClusterProvider`), and the SDK runs the controller; or write a
controller from the parts of the runtime below.
"""

from typing import TYPE_CHECKING, Any

from kapy import conditions
from kapy._aio.clock import Clock
from kapy.api.infrastructure import PoolInstance
from kapy.client.client import Client, Listed
from kapy.conditions import v1beta1
from kapy.conditions.paused import is_paused, paused_condition
from kapy.conditions.stale import stale_machines
from kapy.conditions.transitions import next_transition
from kapy.contract.control_plane import ControlPlane
from kapy.contract.external import External, owner_keys
from kapy.contract.failure_domains import pick_fewest, pick_most
from kapy.contract.infra_machine import InfraMachine
from kapy.contract.observed import Absent, Found, Observed, Unreadable
from kapy.contract.predicates import unblocking_only
from kapy.contract.templates import InfraMachineTemplate, clone_template
from kapy.engine.cache import Cache, Change, Informer
from kapy.engine.controller import AGGREGATE_DEBOUNCE, STATUS_DEBOUNCE, Controller, own_key
from kapy.engine.draft import Draft
from kapy.engine.events import Recorder
from kapy.engine.failure import NotYet
from kapy.engine.phases import run_phases
from kapy.engine.private_keys import PrivateKeyPool
from kapy.engine.result import DONE, Result, requeue
from kapy.engine.runtime import Runtime
from kapy.engine.ssa_cache import SSACache
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
from kapy.kube.renamed import renamed_name
from kapy.sdk.admission import KindRules, Rulebook
from kapy.sdk.admission_versions import CannotConvert, Version
from kapy.sdk.applied_objects import AppliedObjects
from kapy.sdk.boot_plan import boot_plan
from kapy.sdk.bootstrap import BootstrapContext, BootstrapProvider
from kapy.sdk.bootstrap_controller import add_bootstrap
from kapy.sdk.bootstrap_secrets import BootstrapSecrets
from kapy.sdk.certificate_specs import CA_LIFE, ClusterCertificate
from kapy.sdk.change_counter import ChangeCounter
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
    "AGGREGATE_DEBOUNCE",
    "CA_LIFE",
    "DONE",
    "STATUS_DEBOUNCE",
    "Absent",
    "Address",
    "AddressClaimContext",
    "Allocated",
    "AppliedObjects",
    "BadBootData",
    "BootPlan",
    "BootstrapConfigStatus",
    "BootstrapContext",
    "BootstrapData",
    "BootstrapProvider",
    "BootstrapSecrets",
    "Cache",
    "CannotConvert",
    "Change",
    "ChangeCounter",
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
    "ControlPlane",
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
    "Draft",
    "Endpoint",
    "Exhausted",
    "External",
    "Failed",
    "FieldError",
    "Found",
    "IPAMProvider",
    "IPPoolStatus",
    "IdentityReference",
    "Informer",
    "InfraClusterProvider",
    "InfraClusterSpec",
    "InfraClusterStatus",
    "InfraMachine",
    "InfraMachinePoolProvider",
    "InfraMachinePoolSpec",
    "InfraMachinePoolStatus",
    "InfraMachineProvider",
    "InfraMachineSpec",
    "InfraMachineStatus",
    "InfraMachineTemplate",
    "InitLock",
    "Key",
    "KeyPair",
    "KindRules",
    "Kubeconfigs",
    "Listed",
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
    "Observed",
    "OwningContext",
    "Part",
    "PoolInstance",
    "PoolMachines",
    "PoolProvisioned",
    "PrivateKeyPool",
    "Provider",
    "Provisioned",
    "Recorder",
    "Released",
    "Replicas",
    "Resource",
    "Result",
    "Right",
    "Rulebook",
    "RunCommand",
    "Runtime",
    "SSACache",
    "Sessions",
    "Setting",
    "SteadyStateCache",
    "Step",
    "StoredCertificate",
    "TenantCredentials",
    "Unchanged",
    "Unreadable",
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
    "clone_template",
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
    "is_paused",
    "next_failure_domain",
    "next_transition",
    "not_supported",
    "oldest",
    "own_key",
    "owner_keys",
    "paused_condition",
    "pick_fewest",
    "pick_most",
    "pool_result",
    "requeue",
    "required",
    "resource",
    "rules",
    "run_phases",
    "select_for_deletion",
    "set_machine_counters",
    "stale_machines",
    "template_of",
    "unblocking_only",
    "v1beta1",
    "versions_of",
    "waits_for_hook",
]


if not TYPE_CHECKING:  # else every name would seem to exist

    def __getattr__(name: str) -> Any:
        return globals()[renamed_name(__name__, _RENAMED, name)]
