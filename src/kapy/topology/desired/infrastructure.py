"""The desired infrastructure object of a whole cluster."""

from __future__ import annotations

from kapy.kube import Document
from kapy.topology.desired.cloning import object_of, with_shim
from kapy.topology.desired.inputs import Inputs
from kapy.topology.names import CLUSTER_NAMES, class_name


def infrastructure_cluster(inputs: Inputs) -> Document:
    """The desired InfraCluster.

    The Cluster does not own it yet: otherwise a provider would start on it before the Cluster
    refers to it. Raises FieldProblem and BadNameTemplate.
    """
    cluster, template = inputs.cluster, inputs.blueprint.infrastructure_cluster_template
    ref = cluster.spec.infrastructure_ref
    naming = inputs.blueprint.cluster_class.spec.infrastructure.naming.template
    name = ref.name if ref else class_name(naming or CLUSTER_NAMES, cluster, template["kind"])
    result = object_of(template, cluster, name)
    return with_shim(result, inputs.current.infrastructure_cluster, cluster)
