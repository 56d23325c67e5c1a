"""The rules for InfraCluster, InfraMachine and InfraMachinePool."""

from __future__ import annotations

from typing import Final

from kapy.testing.conformance.rules import guarantees, shared
from kapy.testing.conformance.rules.rule import CheckMethod, Document, Level, Rows

_CLUSTER, _MACHINE, _POOL = "InfraCluster", "InfraMachine", "InfraMachinePool"
_DONE: Final = "status.initialization.provisioned (v1beta1: status.ready)"
_PROVISIONED: Final = f"{_DONE} is there to say that the infrastructure is provisioned."
_cluster, _machine, _pool = Rows("infra-cluster"), Rows("infra-machine"), Rows("infra-machinepool")

CLUSTER: Final = Document(
    "infra-cluster",
    _CLUSTER,
    [
        *shared.general(_cluster, _CLUSTER),
        *shared.definition(_cluster, _CLUSTER, Level.SHOULD),
        _cluster.must(
            "endpoint",
            f"{_CLUSTER}: control plane endpoint",
            "The address of the control plane stands in spec.controlPlaneEndpoint, as host and "
            "port.",
            CheckMethod.STATIC,
            "the provider makes the endpoint",
        ),
        _cluster.should(
            "endpoint-of-others",
            f"{_CLUSTER}: control plane endpoint",
            "Who does not make the endpoint waits for that of the Cluster.",
            when="the provider does not make the endpoint",
        ),
        _cluster.must(
            "failure-domains",
            f"{_CLUSTER}: failure domains",
            "Failure domains stand in status.failureDomains: a list with unique names (v1beta1: a "
            "map).",
            CheckMethod.STATIC,
            "the provider has failure domains",
        ),
        _cluster.must(
            "initialization",
            f"{_CLUSTER}: initialization completed",
            _PROVISIONED,
            CheckMethod.STATIC,
        ),
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
            "What has the annotation cluster.x-k8s.io/managed-by is left alone.",
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
        _machine.must(
            "provider-id",
            f"{_MACHINE}: provider ID",
            "The provider ID of the Node stands in spec.providerID, a string.",
            CheckMethod.STATIC,
        ),
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
        _machine.may(
            "failure-domain-status",
            f"{_MACHINE}: failure domain",
            "Where the machine really is may be told in status.failureDomain, a string.",
            CheckMethod.STATIC,
            "CRDs have status.failureDomain",
        ),
        _machine.must(
            "addresses",
            f"{_MACHINE}: addresses",
            "Addresses stand in status.addresses, a list of type and address.",
            CheckMethod.STATIC,
            "the provider tells addresses",
        ),
        _machine.must(
            "address-types",
            f"{_MACHINE}: addresses",
            "The type of an address is Hostname, ExternalIP, InternalIP, ExternalDNS or "
            "InternalDNS.",
            when="the provider tells addresses",
        ),
        _machine.must(
            "initialization",
            f"{_MACHINE}: initialization completed",
            _PROVISIONED,
            CheckMethod.STATIC,
        ),
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
        _pool.must(
            "machine-kind",
            "MachinePoolMachines support",
            "status.infrastructureMachineKind, a string, names the kind of the objects that stand "
            "for single machines.",
            CheckMethod.STATIC,
            "single machines have objects",
        ),
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
        _pool.must(
            "provider-id-list",
            f"{_POOL}: providerIDList",
            "IDs of all machines stand in spec.providerIDList, a list of strings.",
            CheckMethod.STATIC,
        ),
        _pool.must(
            "provider-ids", f"{_POOL}: providerIDList", "The list follows what is really there."
        ),
        shared.once(_pool, f"{_POOL}: providerIDList"),
        _pool.must(
            "initialization", f"{_POOL}: initialization completed", _PROVISIONED, CheckMethod.STATIC
        ),
        _pool.must(
            "initialized",
            f"{_POOL}: initialization completed",
            "It is set when all is provisioned, and never taken back.",
        ),
        *shared.pausing(_pool, _POOL),
        *shared.conditions(_pool, _POOL),
        _pool.must(
            "replicas",
            f"{_POOL}: replicas",
            "status.replicas, a number, says how many machines there are.",
            CheckMethod.STATIC,
        ),
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
