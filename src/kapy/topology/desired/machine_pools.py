"""The MachinePools, with what they are made of."""

from __future__ import annotations

from kapy.api.cluster_class_workers import MachinePoolClass
from kapy.api.cluster_topology_workers import MachinePoolTopology
from kapy.api.machine_pool import MachinePool, MachinePoolSpec
from kapy.api.names import Label
from kapy.kube import Document
from kapy.kube.meta import ObjectMeta, owner_reference
from kapy.topology.desired.cloning import object_of
from kapy.topology.desired.inputs import Inputs
from kapy.topology.desired.machines import identity, machine_template, part_name
from kapy.topology.desired.metadata import workers_metadata
from kapy.topology.desired.workers_version import workers_version
from kapy.topology.errors import CannotCompute, computing
from kapy.topology.names import MACHINE_POOL_NAMES, class_name
from kapy.topology.state import MachinePoolState

_NAME = Label.TOPOLOGY_POOL_NAME


def machine_pools(inputs: Inputs) -> dict[str, MachinePoolState]:
    """By their names in the topology, and in its order. Raises CannotCompute."""
    made = {}
    for topology in inputs.blueprint.topology.workers.machine_pools:
        with computing(f'compute MachinePool for topology "{topology.name}"'):
            made[topology.name] = _state(inputs, topology)
    return made


def _state(inputs: Inputs, topology: MachinePoolTopology) -> MachinePoolState:
    of_class = _class(inputs, topology.class_)
    current = inputs.current.machine_pools.get(topology.name)
    bootstrap, infrastructure = _parts(inputs, topology, current)
    return MachinePoolState(
        object=_object(inputs, topology, of_class, current, bootstrap, infrastructure),
        bootstrap_object=bootstrap,
        infrastructure_machine_pool_object=infrastructure,
    )


def _class(inputs: Inputs, name: str) -> MachinePoolClass:
    of_class = inputs.blueprint.cluster_class
    for one in of_class.spec.workers.machine_pools:
        if one.class_ == name and name in inputs.blueprint.machine_pools:
            return one
    raise CannotCompute(f"MachinePool class {name} not found in ClusterClass {of_class.key}")


def _parts(
    inputs: Inputs, topology: MachinePoolTopology, current: MachinePoolState | None
) -> tuple[Document, Document]:
    """The bootstrap configuration and the infrastructure machine pool, which the Cluster owns from
    the beginning, as it does templates."""
    blueprint = inputs.blueprint.machine_pools[topology.class_]
    group = current.object if current else None

    def made(template: Document, there: Document | None) -> Document:
        name = part_name(inputs, topology.name, template, there, group)
        labels, owner = {_NAME: topology.name}, owner_reference(inputs.cluster)
        return object_of(template, inputs.cluster, name, labels=labels, owner=owner)

    with computing(f'compute bootstrap object for topology "{topology.name}"'):
        there = current.bootstrap_object if current else None
        bootstrap = made(blueprint.bootstrap_template, there)
    with computing(f'compute infrastructure object for topology "{topology.name}"'):
        there = current.infrastructure_machine_pool_object if current else None
        infrastructure = made(blueprint.infrastructure_template, there)
    return bootstrap, infrastructure


def _object(
    inputs: Inputs,
    topology: MachinePoolTopology,
    of_class: MachinePoolClass,
    current: MachinePoolState | None,
    bootstrap: Document,
    infrastructure: Document,
) -> MachinePool:
    cluster = inputs.cluster.metadata
    meta = workers_metadata(
        topology.metadata, of_class.metadata, identity(inputs, _NAME, topology.name)
    )
    version = workers_version(
        inputs,
        topology,
        inputs.blueprint.topology.workers.machine_pools,
        current.object if current else None,
        inputs.upgrades.machine_pools,
    )
    return MachinePool(
        metadata=ObjectMeta(
            name=_object_name(inputs, topology, of_class, current),
            namespace=cluster.namespace,
            labels=meta.labels,
            annotations=meta.annotations,
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


def _object_name(
    inputs: Inputs,
    topology: MachinePoolTopology,
    of_class: MachinePoolClass,
    current: MachinePoolState | None,
) -> str:
    if current is not None:
        return current.object.metadata.name
    naming = of_class.naming.template or MACHINE_POOL_NAMES
    data = {"machinePool": {"topologyName": topology.name}}
    with computing("generate name for MachinePool"):
        return class_name(naming, inputs.cluster, "MachinePool", topology.name, more=data)
