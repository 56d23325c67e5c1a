"""Provider SDK: the public API for provider authors. Everything else of kapy is private.

Implement the interface of a contract (`InfraMachineProvider`, `InfraMachinePoolProvider`,
`InfraClusterProvider` …), and the SDK runs the controller. Further controllers of a provider use
`Controller` and `Runtime`. Parts that not every provider needs have modules of their own:

    boot                   boot data as steps, the Secrets of bootstrap data
    certificates           certificates and kubeconfigs of clusters
    console                logs of machines, and commands in them
    contracts              other providers' objects, read by their contracts
    controllers            informers, drafts and mappers for further controllers
    conversion             older versions of a kind
    credentials            credentials of tenants
    field_errors           errors of fields, for validation
    load_balancer          load balancers of control planes
    machine_control_plane  control planes that consist of Machines
    template_capacity      capacities of templates, for scaling from zero
    workload_clusters      access to workload clusters

A name is imported at its first use, so that a program imports what it implements only.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kapy.sdk.late_imports import late_imports

if TYPE_CHECKING:
    from kapy import conditions
    from kapy.api.condition import Condition
    from kapy.api.embedded import FailureDomain
    from kapy.api.infrastructure import PoolInstance
    from kapy.client.client import Client
    from kapy.conditions import v1beta1
    from kapy.contract.failure_domains import pick_fewest
    from kapy.engine.controller import Controller
    from kapy.engine.result import DONE, NotYet, Result, requeue
    from kapy.engine.runtime import Runtime
    from kapy.kube import Document, Key
    from kapy.kube.meta import Object
    from kapy.kube.model import Model, rules
    from kapy.kube.names import Resource
    from kapy.sdk.admission import KindRules, Rulebook
    from kapy.sdk.bootstrap import BootstrapContext, BootstrapProvider
    from kapy.sdk.bootstrap_controller import add_bootstrap
    from kapy.sdk.control_plane import ControlPlaneContext, ControlPlaneProvider
    from kapy.sdk.control_plane_controller import add_control_plane
    from kapy.sdk.control_plane_kinds import ControlPlaneSpec, ControlPlaneStatus
    from kapy.sdk.infra_cluster import ClusterContext, InfraClusterProvider
    from kapy.sdk.infra_cluster_controller import add_infra_cluster
    from kapy.sdk.infra_machine import InfraMachineProvider, MachineContext
    from kapy.sdk.infra_machine_controller import add_infra_machine
    from kapy.sdk.infra_machine_pool import InfraMachinePoolProvider, MachinePoolContext
    from kapy.sdk.infra_machine_pool_controller import add_infra_machine_pool
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
    from kapy.sdk.owned_objects import OwningContext
    from kapy.sdk.pool_machines import PoolMachines, pool_result
    from kapy.sdk.provider import Provider, Right, Setting
    from kapy.sdk.reports import in_v1beta1
    from kapy.sdk.results import (
        Address,
        BootstrapData,
        ClusterProvisioned,
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

__all__ = [
    "AGE",
    "DONE",
    "Address",
    "AddressClaimContext",
    "Allocated",
    "BootstrapConfigStatus",
    "BootstrapContext",
    "BootstrapData",
    "BootstrapProvider",
    "Client",
    "ClusterContext",
    "ClusterProvisioned",
    "Column",
    "Condition",
    "ControlPlaneContext",
    "ControlPlaneProvider",
    "ControlPlaneProvisioned",
    "ControlPlaneSpec",
    "ControlPlaneStatus",
    "Controller",
    "Document",
    "Endpoint",
    "Exhausted",
    "Failed",
    "FailureDomain",
    "IPAMProvider",
    "IPPoolStatus",
    "InfraClusterProvider",
    "InfraClusterSpec",
    "InfraClusterStatus",
    "InfraMachinePoolProvider",
    "InfraMachinePoolSpec",
    "InfraMachinePoolStatus",
    "InfraMachineProvider",
    "InfraMachineSpec",
    "InfraMachineStatus",
    "Key",
    "KindRules",
    "MachineContext",
    "MachinePoolContext",
    "Model",
    "NotYet",
    "Object",
    "OwningContext",
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
    "Runtime",
    "Setting",
    "Unchanged",
    "Waiting",
    "add_bootstrap",
    "add_control_plane",
    "add_infra_cluster",
    "add_infra_machine",
    "add_infra_machine_pool",
    "add_ipam",
    "conditions",
    "in_v1beta1",
    "pick_fewest",
    "pool_result",
    "requeue",
    "resource",
    "rules",
    "template_of",
    "v1beta1",
]


if not TYPE_CHECKING:  # otherwise type checkers would accept every name
    _NAMES = {
        "kapy": ("conditions",),
        "kapy.api.condition": ("Condition",),
        "kapy.api.embedded": ("FailureDomain",),
        "kapy.api.infrastructure": ("PoolInstance",),
        "kapy.client.client": ("Client",),
        "kapy.conditions": ("v1beta1",),
        "kapy.contract.failure_domains": ("pick_fewest",),
        "kapy.engine.controller": ("Controller",),
        "kapy.engine.result": ("DONE", "NotYet", "Result", "requeue"),
        "kapy.engine.runtime": ("Runtime",),
        "kapy.kube": ("Document", "Key"),
        "kapy.kube.meta": ("Object",),
        "kapy.kube.model": ("Model", "rules"),
        "kapy.kube.names": ("Resource",),
        "kapy.sdk.admission": ("KindRules", "Rulebook"),
        "kapy.sdk.bootstrap": ("BootstrapContext", "BootstrapProvider"),
        "kapy.sdk.bootstrap_controller": ("add_bootstrap",),
        "kapy.sdk.control_plane": ("ControlPlaneContext", "ControlPlaneProvider"),
        "kapy.sdk.control_plane_controller": ("add_control_plane",),
        "kapy.sdk.control_plane_kinds": ("ControlPlaneSpec", "ControlPlaneStatus"),
        "kapy.sdk.infra_cluster": ("ClusterContext", "InfraClusterProvider"),
        "kapy.sdk.infra_cluster_controller": ("add_infra_cluster",),
        "kapy.sdk.infra_machine": ("InfraMachineProvider", "MachineContext"),
        "kapy.sdk.infra_machine_controller": ("add_infra_machine",),
        "kapy.sdk.infra_machine_pool": ("InfraMachinePoolProvider", "MachinePoolContext"),
        "kapy.sdk.infra_machine_pool_controller": ("add_infra_machine_pool",),
        "kapy.sdk.ipam": ("AddressClaimContext", "Allocated", "Exhausted", "IPAMProvider"),
        "kapy.sdk.ipam_controller": ("add_ipam",),
        "kapy.sdk.kinds": (
            "AGE",
            "BootstrapConfigStatus",
            "Column",
            "InfraClusterSpec",
            "InfraClusterStatus",
            "InfraMachinePoolSpec",
            "InfraMachinePoolStatus",
            "InfraMachineSpec",
            "InfraMachineStatus",
            "IPPoolStatus",
            "resource",
            "template_of",
        ),
        "kapy.sdk.owned_objects": ("OwningContext",),
        "kapy.sdk.pool_machines": ("PoolMachines", "pool_result"),
        "kapy.sdk.provider": ("Provider", "Right", "Setting"),
        "kapy.sdk.reports": ("in_v1beta1",),
        "kapy.sdk.results": (
            "Address",
            "BootstrapData",
            "ClusterProvisioned",
            "ControlPlaneProvisioned",
            "Endpoint",
            "Failed",
            "PoolProvisioned",
            "Provisioned",
            "Released",
            "Replicas",
            "Unchanged",
            "Waiting",
        ),
    }
    _import_public = late_imports(globals(), _NAMES)
    _PUBLIC = frozenset(name for names in _NAMES.values() for name in names)

    def __getattr__(name: str) -> Any:
        if name in _PUBLIC:
            return _import_public(name)
        # `from kapy.sdk import` would call this function again.
        return import_module("kapy.sdk.former_names").former_name(name)
