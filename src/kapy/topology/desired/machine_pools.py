"""The desired MachinePools, with their bootstrap and infrastructure objects."""

from __future__ import annotations

from kapy.api.cluster_class_workers import MachinePoolClass
from kapy.api.cluster_topology_workers import MachinePoolTopology
from kapy.api.machine_pool import MachinePool, MachinePoolSpec
from kapy.api.names import Label
from kapy.kube import Document
from kapy.kube.meta import ObjectMeta, owner_reference
from kapy.topology.desired.cloning import object_of, workers_metadata
from kapy.topology.desired.inputs import Inputs
from kapy.topology.desired.workers import (
    class_of,
    group_name,
    identity,
    machine_template,
    part_name,
    workers_version,
)
from kapy.topology.errors import name_failed_step
from kapy.topology.state import MachinePoolState

_KIND = MachinePool.RESOURCE.kind
_NAME = Label.TOPOLOGY_POOL_NAME


def machine_pools(inputs: Inputs) -> dict[str, MachinePoolState]:
    """Return the desired MachinePools by topology name, in the topology's order. Raises
    CannotCompute.
    """
    pools = {}
    for topology in inputs.blueprint.topology.workers.machine_pools:
        with name_failed_step(f'compute MachinePool for topology "{topology.name}"'):
            pools[topology.name] = _state(inputs, topology)
    return pools


def _state(inputs: Inputs, topology: MachinePoolTopology) -> MachinePoolState:
    classes = inputs.blueprint.cluster_class.spec.workers.machine_pools
    of_class = class_of(inputs, _KIND, classes, topology.class_)
    current = inputs.current.machine_pools.get(topology.name)
    bootstrap, infrastructure = _parts(inputs, topology, current)
    return MachinePoolState(
        object=_object(inputs, topology, of_class, current, bootstrap, infrastructure),
        bootstrap_object=bootstrap,
        infrastructure_machine_pool_object=infrastructure,
    )


def _parts(
    inputs: Inputs, topology: MachinePoolTopology, current: MachinePoolState | None
) -> tuple[Document, Document]:
    """Return the bootstrap configuration and the infrastructure machine pool. The Cluster owns both
    from the start, as it owns templates.
    """
    blueprint = inputs.blueprint.machine_pools[topology.class_]
    group = current.object if current else None

    def make_object(template: Document, current: Document | None) -> Document:
        name = part_name(inputs, topology.name, template, current, group)
        labels, owner = {_NAME: topology.name}, owner_reference(inputs.cluster)
        return object_of(template, inputs.cluster, name, labels=labels, owner=owner)

    with name_failed_step(f'compute bootstrap object for topology "{topology.name}"'):
        there = current.bootstrap_object if current else None
        bootstrap = make_object(blueprint.bootstrap_template, there)
    with name_failed_step(f'compute infrastructure object for topology "{topology.name}"'):
        there = current.infrastructure_machine_pool_object if current else None
        infrastructure = make_object(blueprint.infrastructure_template, there)
    return bootstrap, infrastructure


def _object(
    inputs: Inputs,
    topology: MachinePoolTopology,
    of_class: MachinePoolClass,
    current: MachinePoolState | None,
    bootstrap: Document,
    infrastructure: Document,
) -> MachinePool:
    cluster, there = inputs.cluster.metadata, current.object if current else None
    meta = workers_metadata(
        topology.metadata, of_class.metadata, identity(inputs, _NAME, topology.name)
    )
    version = workers_version(
        inputs,
        topology,
        inputs.blueprint.topology.workers.machine_pools,
        there,
        inputs.upgrades.machine_pools,
    )
    return MachinePool(
        metadata=ObjectMeta(
            name=group_name(inputs, _KIND, of_class.naming, topology.name, there),
            namespace=cluster.namespace,
            labels=dict(meta.labels),
            annotations=dict(meta.annotations),
        ),
        spec=MachinePoolSpec(
            cluster_name=cluster.name,
            replicas=topology.replicas,
            failure_domains=topology.failure_domains or of_class.failure_domains,
            template=machine_template(
                inputs,
                topology,
                of_class,
                metadata=meta,
                version=version,
                bootstrap=bootstrap,
                infrastructure=infrastructure,
            ),
        ),
    )
