"""All templates of a cluster, each with the places where it is used and the objects made from
it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from kapy.api.cluster import Cluster
from kapy.api.names import Annotation, Label
from kapy.contract.control_plane import ControlPlane
from kapy.contract.fields import Version
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.nested import Path
from kapy.topology.blueprint import Blueprint, WorkersBlueprint
from kapy.topology.builtins import (
    control_plane_builtins,
    machine_deployment_builtins,
    machine_pool_builtins,
    visible_annotations,
)
from kapy.topology.patches.errors import CannotPatch
from kapy.topology.patches.fields import (
    METADATA_INTO_TEMPLATE,
    OWN_METADATA,
    TEMPLATE_INTO_OBJECT,
    TEMPLATE_INTO_TEMPLATE,
    Fields,
    copy_fields,
)
from kapy.topology.patches.item import (
    BOOTSTRAP_REF,
    CONTROL_PLANE_REF,
    INFRASTRUCTURE_REF,
    MACHINE_INFRASTRUCTURE_REF,
    Holder,
    Item,
)
from kapy.topology.patches.values import Part
from kapy.topology.state import ClusterState, MachineDeploymentState, MachinePoolState

_CLUSTER_API: Final = Cluster.RESOURCE.api_version


@dataclass(frozen=True, slots=True)
class Place:
    """The location of a template's object in a desired state, and how it is updated.

    fields: the fields copied from the template. preserved: the fields that patches cannot change.
    """

    owner: Any
    attribute: str
    fields: Fields
    preserved: tuple[Path, ...]

    @property
    def document(self) -> Document:
        """Return the current object in the desired state."""
        result: Document = getattr(self.owner, self.attribute)
        return result

    def update(self, template: Document) -> Document:
        """Return the object after the template was patched. Raises CannotSetField."""
        return copy_fields(self.document, template, self.fields, self.preserved)


@dataclass(frozen=True, slots=True)
class Use:
    """The use of a template by a Cluster. part: the MachineDeployment, MachinePool or control plane
    whose template it is; None for the template of the cluster's infrastructure.
    """

    item: Item
    part: Part | None
    place: Place


def uses_of(blueprint: Blueprint, desired: ClusterState) -> list[Use]:
    """Return all templates of a cluster and their uses.

    Raises CannotPatch if the desired state does not fit the topology and the class, ContractError
    if the control plane cannot be read.
    """
    return [
        *_cluster(blueprint, desired),
        *_control_plane(blueprint, desired),
        *_machine_deployments(blueprint, desired),
        *_machine_pools(blueprint, desired),
    ]


def _cluster(blueprint: Blueprint, desired: ClusterState) -> Iterator[Use]:
    holder = _holder(desired.cluster, INFRASTRUCTURE_REF)
    place = _object_place(desired, "infrastructure_cluster")
    yield _use(blueprint.infrastructure_cluster_template, holder, None, place)


def _control_plane(blueprint: Blueprint, desired: ClusterState) -> Iterator[Use]:
    state, topology = desired.control_plane, blueprint.topology.control_plane
    if state.object is None:
        raise CannotPatch("there is no desired control plane")
    builtins = control_plane_builtins(topology, state.object, state.infrastructure_machine_template)
    part = Part("", topology.variables.overrides, builtins)
    place = Place(state, "object", TEMPLATE_INTO_OBJECT, (*_CONTROL_PLANE, *_METADATA))
    holder = _holder(desired.cluster, CONTROL_PLANE_REF)
    yield _use(blueprint.control_plane.template, holder, part, place)
    machines = blueprint.control_plane.infrastructure_machine_template
    if machines is not None:
        path = ControlPlane.infrastructure_ref.path(blueprint.control_plane.contract)
        place = _template_place(state, "infrastructure_machine_template")
        yield _use(machines, _foreign_holder(state.object, path), part, place)


def _machine_deployments(blueprint: Blueprint, desired: ClusterState) -> Iterator[Use]:
    topologies = {
        deployment.name: deployment for deployment in blueprint.topology.workers.machine_deployments
    }
    for name, state in desired.machine_deployments.items():
        topology = topologies.get(name)
        if topology is None:
            raise CannotPatch(f'the topology has no MachineDeployment "{name}"')
        templates = blueprint.machine_deployments.get(topology.class_)
        if templates is None:
            raise CannotPatch(
                f'the ClusterClass has no MachineDeployment class "{topology.class_}", '
                f'which MachineDeployment "{name}" is to be made of'
            )
        builtins = machine_deployment_builtins(
            topology, state.object, state.bootstrap_template, state.infrastructure_machine_template
        )
        part = Part(name, topology.variables.overrides, builtins)
        yield from _worker(state, templates, part, _template_place, _DEPLOYMENT_ATTRIBUTES)


def _machine_pools(blueprint: Blueprint, desired: ClusterState) -> Iterator[Use]:
    topologies = {pool.name: pool for pool in blueprint.topology.workers.machine_pools}
    for name, state in desired.machine_pools.items():
        topology = topologies.get(name)
        if topology is None:
            raise CannotPatch(f'the topology has no MachinePool "{name}"')
        templates = blueprint.machine_pools.get(topology.class_)
        if templates is None:
            raise CannotPatch(
                f'the ClusterClass has no MachinePool class "{topology.class_}", '
                f'which MachinePool "{name}" is to be made of'
            )
        builtins = machine_pool_builtins(
            topology,
            state.object,
            state.bootstrap_object,
            state.infrastructure_machine_pool_object,
        )
        part = Part(name, topology.variables.overrides, builtins)
        yield from _worker(state, templates, part, _object_place, _POOL_ATTRIBUTES)


_DEPLOYMENT_ATTRIBUTES: Final = ("bootstrap_template", "infrastructure_machine_template")
_POOL_ATTRIBUTES: Final = ("bootstrap_object", "infrastructure_machine_pool_object")


def _worker(
    state: MachineDeploymentState | MachinePoolState,
    templates: WorkersBlueprint,
    part: Part,
    place: Callable[[Any, str], Place],
    attributes: tuple[str, str],
) -> Iterator[Use]:
    bootstrap, infrastructure = attributes
    holder = _holder(state.object, BOOTSTRAP_REF)
    yield _use(templates.bootstrap_template, holder, part, place(state, bootstrap))
    holder = _holder(state.object, MACHINE_INFRASTRUCTURE_REF)
    yield _use(templates.infrastructure_template, holder, part, place(state, infrastructure))


def _use(template: Document, holder: Holder, part: Part | None, place: Place) -> Use:
    """Return the template with the labels and annotations of its object, so that patches see and
    can change them.
    """
    inward = OWN_METADATA if place.fields is TEMPLATE_INTO_TEMPLATE else METADATA_INTO_TEMPLATE
    document = copy_fields(template, place.document, inward)
    return Use(Item(holder, _without_large_annotations(document)), part, place)


def _without_large_annotations(template: Document) -> Document:
    """Return a template without annotations that only make requests large."""
    metadata = template.get("metadata", {})
    annotations = metadata.get("annotations")
    metadata_copy = {key: value for key, value in metadata.items() if key != "managedFields"}
    if annotations is not None:
        metadata_copy["annotations"] = visible_annotations(annotations)
        if not metadata_copy["annotations"]:
            del metadata_copy["annotations"]
    return {**template, "metadata": metadata_copy}


def _holder(owner: Object, path: str) -> Holder:
    metadata = owner.metadata
    kind = owner.RESOURCE.kind
    return Holder(_CLUSTER_API, kind, metadata.namespace, metadata.name, path)


def _foreign_holder(owner: Document, path: str) -> Holder:
    metadata = owner["metadata"]
    namespace: str = metadata.get("namespace", "")
    return Holder(owner["apiVersion"], owner["kind"], namespace, metadata["name"], path)


_METADATA: Final[tuple[Path, ...]] = (
    ("metadata", "labels", Label.CLUSTER_NAME),
    ("metadata", "labels", Label.TOPOLOGY_OWNED),
    ("metadata", "labels", Label.TOPOLOGY_DEPLOYMENT_NAME),
    ("metadata", "labels", Label.TOPOLOGY_POOL_NAME),
    ("metadata", "annotations", Annotation.CLONED_FROM_NAME),
    ("metadata", "annotations", Annotation.CLONED_FROM_GROUP_KIND),
)
"""Fields that no patch can change in any object."""

_CONTROL_PLANE: Final[tuple[Path, ...]] = tuple(
    {
        tuple(field.path(version).split("."))
        for version in Version
        for field in (
            ControlPlane.machine_metadata,
            ControlPlane.readiness_gates,
            ControlPlane.taints,
            ControlPlane.infrastructure_ref,
            ControlPlane.node_drain_timeout,
            ControlPlane.node_volume_detach_timeout,
            ControlPlane.node_deletion_timeout,
            ControlPlane.replicas,
            ControlPlane.version,
            ControlPlane.rollout_after,
        )
    }
)
"""Control plane fields that only the topology sets, in every version of the contract."""


def _object_place(owner: Any, attribute: str) -> Place:
    return Place(owner, attribute, TEMPLATE_INTO_OBJECT, _METADATA)


def _template_place(owner: Any, attribute: str) -> Place:
    return Place(owner, attribute, TEMPLATE_INTO_TEMPLATE, _METADATA)
