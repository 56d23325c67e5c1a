"""The MachineDeployments, with their templates and health checks."""

from __future__ import annotations

from kapy.api.cluster_class_workers import MachineDeploymentClass
from kapy.api.cluster_topology_workers import MachineDeploymentTopology
from kapy.api.embedded import LabelSelector, TemplateMeta
from kapy.api.machine import MachineTemplateSpec
from kapy.api.machine_deployment import (
    MachineDeployment,
    MachineDeploymentRemediationSpec,
    MachineDeploymentRolloutSpec,
    MachineDeploymentSpec,
)
from kapy.api.machine_set import MachineSetDeletionSpec
from kapy.api.names import Label
from kapy.kube import Document
from kapy.kube.meta import ObjectMeta
from kapy.kube.model import copy_model
from kapy.topology.desired.cloning import template_of, workers_metadata
from kapy.topology.desired.health_checks import machine_health_check
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
from kapy.topology.state import MachineDeploymentState

_KIND = MachineDeployment.RESOURCE.kind
_NAME = Label.TOPOLOGY_DEPLOYMENT_NAME


def machine_deployments(inputs: Inputs) -> dict[str, MachineDeploymentState]:
    """Return the desired MachineDeployments by topology name, in the topology's order, which is
    also the upgrade order.

    Raises CannotCompute.
    """
    deployments = {}
    for topology in inputs.blueprint.topology.workers.machine_deployments:
        # upstream's text, including its mistake
        with name_failed_step(f'compute MachineDepoyment for topology "{topology.name}"'):
            deployments[topology.name] = _state(inputs, topology)
    return deployments


def _state(inputs: Inputs, topology: MachineDeploymentTopology) -> MachineDeploymentState:
    classes = inputs.blueprint.cluster_class.spec.workers.machine_deployments
    of_class = class_of(inputs, _KIND, classes, topology.class_)
    current = inputs.current.machine_deployments.get(topology.name)
    bootstrap, infrastructure = _templates(inputs, topology, current)
    meta = workers_metadata(
        topology.metadata, of_class.metadata, identity(inputs, _NAME, topology.name)
    )
    template = machine_template(
        inputs,
        topology,
        of_class,
        metadata=meta,
        version=_version(inputs, topology, current),
        bootstrap=bootstrap,
        infrastructure=infrastructure,
    )
    template.spec.failure_domain = topology.failure_domain or of_class.failure_domain
    template.spec.readiness_gates = topology.readiness_gates or of_class.readiness_gates
    there = current.object if current else None
    name = group_name(inputs, _KIND, of_class.naming, topology.name, there)
    return MachineDeploymentState(
        object=_object(inputs, topology, of_class, name, meta, template),
        bootstrap_template=bootstrap,
        infrastructure_machine_template=infrastructure,
        machine_health_check=machine_health_check(
            name,
            inputs.cluster,
            {_NAME: topology.name},
            topology.health_check,
            of_class.health_check,
        ),
    )


def _templates(
    inputs: Inputs, topology: MachineDeploymentTopology, current: MachineDeploymentState | None
) -> tuple[Document, Document]:
    """Return the bootstrap template and the infrastructure machine template."""
    blueprint = inputs.blueprint.machine_deployments[topology.class_]
    group = current.object if current else None

    def make_template(template: Document, current: Document | None) -> Document:
        name = part_name(inputs, topology.name, template, current, group)
        return template_of(template, inputs.cluster, name, {_NAME: topology.name})

    bootstrap = current.bootstrap_template if current else None
    infrastructure = current.infrastructure_machine_template if current else None
    return (
        make_template(blueprint.bootstrap_template, bootstrap),
        make_template(blueprint.infrastructure_template, infrastructure),
    )


def _version(
    inputs: Inputs, topology: MachineDeploymentTopology, current: MachineDeploymentState | None
) -> str:
    return workers_version(
        inputs,
        topology,
        inputs.blueprint.topology.workers.machine_deployments,
        current.object if current else None,
        inputs.upgrades.machine_deployments,
    )


def _object(
    inputs: Inputs,
    topology: MachineDeploymentTopology,
    of_class: MachineDeploymentClass,
    name: str,
    meta: TemplateMeta,
    template: MachineTemplateSpec,
) -> MachineDeployment:
    """Return the desired MachineDeployment. If the topology sets no replicas, the field is left to
    an autoscaler."""
    cluster = inputs.cluster.metadata
    max_bytes = topology.health_check.remediation.max_in_flight
    if max_bytes is None:
        max_bytes = of_class.health_check.remediation.max_in_flight
    return MachineDeployment(
        metadata=ObjectMeta(
            name=name,
            namespace=cluster.namespace,
            labels=dict(meta.labels),
            annotations=dict(meta.annotations),
        ),
        spec=MachineDeploymentSpec(
            cluster_name=cluster.name,
            replicas=topology.replicas,
            rollout=_rollout(topology, of_class),
            selector=LabelSelector(match_labels=identity(inputs, _NAME, topology.name)),
            template=template,
            deletion=MachineSetDeletionSpec(
                order=topology.deletion.order or of_class.deletion.order
            ),
            remediation=MachineDeploymentRemediationSpec(max_in_flight=max_bytes),
        ),
    )


def _rollout(
    topology: MachineDeploymentTopology, of_class: MachineDeploymentClass
) -> MachineDeploymentRolloutSpec:
    """Return the rollout settings of the topology as a whole if it sets any, else those of the
    class.
    """
    if topology.rollout != MachineDeploymentRolloutSpec():
        return copy_model(topology.rollout)
    return MachineDeploymentRolloutSpec(strategy=of_class.rollout.strategy)
