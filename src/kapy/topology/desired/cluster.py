"""The fields of the Cluster itself that its topology sets."""

from __future__ import annotations

from kapy.api.cluster import Cluster
from kapy.api.names import Annotation, Label
from kapy.contract.control_plane import ControlPlane
from kapy.kube import Document
from kapy.kube.model import copy_model
from kapy.topology.desired.cloning import reference_to
from kapy.topology.desired.inputs import Inputs
from kapy.topology.hooks import Hook


def cluster(inputs: Inputs, infrastructure: Document, control_plane: Document) -> Cluster:
    """The desired Cluster: its references, its labels and the annotation with the current upgrade
    step. Without that annotation no Machine of an intermediate version would be created.

    Raises MissingField and WrongType.
    """
    wanted = copy_model(inputs.cluster)
    metadata = wanted.metadata
    metadata.labels[Label.CLUSTER_NAME] = metadata.name
    metadata.labels[Label.TOPOLOGY_OWNED] = ""
    wanted.spec.infrastructure_ref = reference_to(infrastructure)
    wanted.spec.control_plane_ref = reference_to(control_plane)
    metadata.annotations.pop(Annotation.TOPOLOGY_UPGRADE_STEP, None)
    if _is_upgrading(inputs):
        view = ControlPlane(control_plane, inputs.blueprint.control_plane.contract)
        version = ControlPlane.version.require(view)
        metadata.annotations[Annotation.TOPOLOGY_UPGRADE_STEP] = version
    return wanted


def _is_upgrading(inputs: Inputs) -> bool:
    """Whether an upgrade has begun and its last hook has not been called yet."""
    if inputs.calls.is_open:
        return inputs.calls.is_pending(Hook.AFTER_CLUSTER_UPGRADE)
    return bool(inputs.upgrades.control_plane.plan or inputs.upgrades.workers_plan)
