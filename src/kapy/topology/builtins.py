"""The variable `builtin` of patches: values that are derived from a cluster and its parts.

There is one document for the whole cluster and one for each part; both are merged. The fields are
upstream's; empty ones are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kapy.api.cluster import Cluster, NetworkRanges
from kapy.api.cluster_topology import ControlPlaneTopology
from kapy.api.cluster_topology_workers import MachineDeploymentTopology, MachinePoolTopology
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_pool import MachinePool
from kapy.api.names import Annotation
from kapy.contract.control_plane import ControlPlane
from kapy.kube import Document
from kapy.kube.apply.last_applied import ANNOTATION as LAST_APPLIED

IGNORED_ANNOTATIONS: Final = (LAST_APPLIED, Annotation.CONVERSION_DATA)
"""Annotations that patches do not see: they only make requests large."""


def cluster_builtins(cluster: Cluster) -> Document:
    """Return the builtin values that are the same for every template of a cluster."""
    topology = cluster.spec.topology
    network = cluster.spec.cluster_network
    builtins = _without_empty(
        name=cluster.metadata.name,
        namespace=cluster.metadata.namespace,
        uid=cluster.metadata.uid,
        metadata=_metadata(cluster.metadata.labels, cluster.metadata.annotations),
    )
    if topology is not None:
        name = topology.class_ref.name
        namespace = topology.class_ref.namespace or cluster.metadata.namespace
        builtins["topology"] = {
            "version": topology.version,
            "classRef": {"name": name, "namespace": namespace},
            **_without_empty(**{"class": name, "classNamespace": namespace}),
        }
    networks = _without_empty(
        serviceDomain=network.service_domain,
        services=_ranges(network.services),
        pods=_ranges(network.pods),
    )
    return {"cluster": {**builtins, "network": networks} if networks else builtins}


def control_plane_builtins(
    topology: ControlPlaneTopology, control_plane: Document, machine_template: Document | None
) -> Document:
    """Return the builtin values for templates of the control plane and its machines.

    Raises ContractError if the control plane has no version, or has no replicas although the
    topology sets them.
    """
    view = ControlPlane(control_plane)
    metadata = control_plane["metadata"]
    builtins = _without_empty(
        version=ControlPlane.version.require(view),
        metadata=_metadata(metadata.get("labels"), metadata.get("annotations")),
        name=view.name,
    )
    if topology.replicas is not None:
        builtins["replicas"] = ControlPlane.replicas.require(view)
    if machine_template is not None:
        reference = {"name": machine_template["metadata"]["name"]}
        builtins["machineTemplate"] = {"infrastructureRef": reference}
    return {"controlPlane": builtins}


def machine_deployment_builtins(
    topology: MachineDeploymentTopology,
    deployment: MachineDeployment,
    bootstrap: Document | None,
    infrastructure: Document | None,
) -> Document:
    """Return the builtin values for templates of a MachineDeployment."""
    return {"machineDeployment": _worker_builtins(topology, deployment, bootstrap, infrastructure)}


def machine_pool_builtins(
    topology: MachinePoolTopology,
    pool: MachinePool,
    bootstrap: Document | None,
    infrastructure: Document | None,
) -> Document:
    """Return the builtin values for templates of a MachinePool."""
    return {"machinePool": _worker_builtins(topology, pool, bootstrap, infrastructure)}


def _worker_builtins(
    topology: MachineDeploymentTopology | MachinePoolTopology,
    workers: MachineDeployment | MachinePool,
    bootstrap: Document | None,
    infrastructure: Document | None,
) -> Document:
    builtins = _without_empty(
        version=workers.spec.template.spec.version,
        metadata=_metadata(workers.metadata.labels, workers.metadata.annotations),
        name=workers.metadata.name,
        topologyName=topology.name,
        **{"class": topology.class_},
    )
    if workers.spec.replicas is not None:
        builtins["replicas"] = workers.spec.replicas
    if bootstrap is not None:
        builtins["bootstrap"] = {"configRef": {"name": bootstrap["metadata"]["name"]}}
    if infrastructure is not None:
        builtins["infrastructureRef"] = {"name": infrastructure["metadata"]["name"]}
    return builtins


def merge(base: Document, other: Document) -> Document:
    """Merge two `builtin` variables: maps are merged, any other value of `other` wins."""
    result = dict(base)
    for key, value in other.items():
        before = result.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            value = merge(before, value)
        result[key] = value
    return result


def visible_annotations(annotations: Mapping[str, str]) -> dict[str, str]:
    """Return the annotations that patches can see."""
    return {key: value for key, value in annotations.items() if key not in IGNORED_ANNOTATIONS}


def _metadata(
    labels: Mapping[str, str] | None, annotations: Mapping[str, str] | None
) -> Document | None:
    if not labels and not annotations:
        return None
    return _without_empty(labels=labels, annotations=visible_annotations(annotations or {}))


def _ranges(ranges: NetworkRanges | None) -> list[str]:
    return ranges.cidr_blocks if ranges is not None else []


def _without_empty(**fields: Any) -> Document:
    """Return the fields with a value; an empty `metadata` is kept."""
    return {
        key: value for key, value in fields.items() if value or (key == "metadata" and value == {})
    }
