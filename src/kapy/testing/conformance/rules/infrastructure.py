"""The rules for InfraCluster, InfraMachine and InfraMachinePool."""

from __future__ import annotations

from typing import Final

from kapy.contract.fields import Level
from kapy.contract.infra_cluster import InfraCluster
from kapy.contract.infra_machine import InfraMachine
from kapy.contract.infra_machine_pool import InfraMachinePool
from kapy.testing.conformance.rules import guarantees, shared
from kapy.testing.conformance.rules.rule import CheckMethod, Document, Rows

_CLUSTER, _MACHINE, _POOL = "InfraCluster", "InfraMachine", "InfraMachinePool"
_cluster, _machine, _pool = Rows("infra-cluster"), Rows("infra-machine"), Rows("infra-machinepool")

CLUSTER: Final = Document(
    "infra-cluster",
    _CLUSTER,
    [
        *shared.general(_cluster, _CLUSTER),
        *shared.definition(_cluster, _CLUSTER, Level.SHOULD),
        _cluster.field(InfraCluster.control_plane_endpoint),
        _cluster.should(
            "endpoint-of-others",
            f"{_CLUSTER}: control plane endpoint",
            "A provider that does not make the endpoint waits for that of the Cluster.",
            when="the provider does not make the endpoint",
        ),
        _cluster.field(InfraCluster.failure_domains),
        _cluster.field(InfraCluster.provisioned),
        _cluster.must(
            "initialized",
            f"{_CLUSTER}: initialization completed",
            "It is set when all is provisioned, and never taken back.",
        ),
        *shared.conditions(_cluster, _CLUSTER),
        shared.failures(_cluster, _CLUSTER),
        shared.old_failures(_cluster, _CLUSTER),
        *shared.template(_cluster, _CLUSTER, always=False),
        _cluster.should(
            "externally-managed",
            "Externally managed infrastructure",
            "The provider leaves objects with the annotation cluster.x-k8s.io/managed-by alone.",
        ),
        shared.instances(_cluster, "Multi tenancy"),
        *shared.pausing(_cluster, _CLUSTER),
        shared.finalizer(_cluster, "Normal resource"),
        *shared.workflow(
            _cluster,
            "Typical InfraCluster reconciliation workflow",
            owner="the Cluster is the owner",
            deletion="Deletion frees what was made, then the finalizer goes",
        ),
    ],
    guarantees.infra_cluster(_cluster),
)

MACHINE: Final = Document(
    "infra-machine",
    _MACHINE,
    [
        *shared.general(_machine, _MACHINE),
        *shared.definition(_machine, _MACHINE, Level.SHOULD),
        _machine.field(InfraMachine.provider_id),
        _machine.must(
            "provider-id-value",
            f"{_MACHINE}: provider ID",
            "It is the one that the Node has, unique, and stays as it is.",
        ),
        _machine.must(
            "failure-domain",
            f"{_MACHINE}: failure domain",
            "A machine is put into the failure domain that its Machine names.",
            when="the provider has failure domains",
        ),
        _machine.field(InfraMachine.failure_domain),
        _machine.field(InfraMachine.addresses),
        _machine.must(
            "address-types",
            f"{_MACHINE}: addresses",
            "The type of an address is Hostname, ExternalIP, InternalIP, ExternalDNS or "
            "InternalDNS.",
            when="the provider tells addresses",
        ),
        _machine.field(InfraMachine.provisioned),
        _machine.must(
            "initialized",
            f"{_MACHINE}: initialization completed",
            "It is set when all is provisioned, and never taken back.",
        ),
        *shared.conditions(_machine, _MACHINE),
        shared.failures(_machine, _MACHINE),
        shared.old_failures(_machine, _MACHINE),
        shared.in_place(
            _machine,
            f"{_MACHINE}: support for in-place changes",
            "the controller leaves them to it, or works together with it",
        ),
        *shared.template(_machine, _MACHINE, always=True),
        shared.dry_run(_machine, _MACHINE),
        shared.immutable(_machine, _MACHINE),
        shared.instances(_machine, "Multi tenancy"),
        *shared.pausing(_machine, _MACHINE),
        _machine.may(
            "autoscaling",
            f"{_MACHINE}Template: support cluster autoscaling from zero",
            "Templates may tell of a machine's resources in status.capacity, a map, and of its "
            "system in status.nodeInfo, with architecture and operatingSystem.",
            CheckMethod.STATIC,
            "CRDs of templates have one of these fields",
        ),
        shared.finalizer(_machine, "Normal resource"),
        _machine.should(
            "infrastructure-wait",
            "Normal resource",
            "No machine is made before the Cluster's infrastructure is provisioned.",
        ),
        _machine.should(
            "bootstrap-wait",
            "Normal resource",
            "No machine is made before its Machine has bootstrap data.",
        ),
        *shared.workflow(
            _machine,
            "Typical InfraMachine reconciliation workflow",
            owner="a Machine is the owner, and its Cluster is there",
            deletion="Deletion frees what was made, then the finalizer goes; it waits neither for "
            "an owner, nor for the Cluster's infrastructure, nor for bootstrap data",
        ),
    ],
    guarantees.infra_machine(_machine),
)

_INSTANCES: Final = f"{_POOL}: instances"
POOL: Final = Document(
    "infra-machinepool",
    _POOL,
    [
        *shared.general(_pool, _POOL),
        *shared.definition(_pool, _POOL, Level.MUST, "the provider supports MachinePools"),
        _pool.may(
            "instances-status",
            _INSTANCES,
            "Single instances may be told in status.instances, a list.",
            CheckMethod.STATIC,
            "CRDs have status.instances",
        ),
        _pool.field(InfraMachinePool.infrastructure_machine_kind),
        _pool.must(
            "machines",
            "MachinePoolMachines support",
            "There is such an object for each machine, and it comes and goes with it.",
            when="single machines have objects",
        ),
        _pool.may(
            "provider-id",
            f"{_POOL}: providerID",
            "The pool's own ID may stand in spec.providerID, a string.",
            CheckMethod.STATIC,
            "CRDs have spec.providerID",
        ),
        _pool.field(InfraMachinePool.provider_id_list),
        _pool.must(
            "provider-ids", f"{_POOL}: providerIDList", "The list follows what is really there."
        ),
        shared.once(_pool, f"{_POOL}: providerIDList"),
        _pool.field(InfraMachinePool.initialized),
        _pool.must(
            "initialized",
            f"{_POOL}: initialization completed",
            "It is set when all is provisioned, and never taken back.",
        ),
        *shared.pausing(_pool, _POOL),
        *shared.conditions(_pool, _POOL),
        _pool.field(InfraMachinePool.replicas),
        shared.failures(_pool, _POOL),
        *shared.template(
            _pool,
            _POOL,
            always=False,
            section="InfraMachinePoolTemplate, InfraMachineTemplatePoolList resource definition",
        ),
        shared.dry_run(_pool, _POOL),
        shared.immutable(_pool, _POOL),
        shared.instances(_pool, "Multi tenancy"),
    ],
    guarantees.infra_machine_pool(_pool),
)
