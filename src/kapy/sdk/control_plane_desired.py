"""The desired Machines of a control plane and their objects (pure functions).

The documents are apply configurations: they contain only fields that the control plane manages.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kapy.api.embedded import ContractVersionedObjectReference as Reference
from kapy.api.machine import Machine
from kapy.api.names import Annotation, Label
from kapy.kube import Document
from kapy.kube.generated_names import generated_name
from kapy.kube.label_values import label_value
from kapy.kube.meta import owner_reference
from kapy.kube.model import encode
from kapy.kube.names import Resource
from kapy.sdk.control_plane_kinds import MachineControlPlaneContractObject


def pre_terminate_hook(plane: MachineControlPlaneContractObject) -> str:
    """Return the annotation that delays a Machine's shutdown until the provider agrees."""
    return f"{Annotation.PRE_TERMINATE_HOOK_PREFIX}/{plane.RESOURCE.kind.lower()}"


def machine_labels(plane: MachineControlPlaneContractObject, cluster: str) -> dict[str, str]:
    """Return the labels of a Machine and its objects."""
    return {
        **plane.spec.machine_template.metadata.labels,
        Label.CLUSTER_NAME: cluster,
        Label.CONTROL_PLANE: "",
        Label.CONTROL_PLANE_NAME: label_value(plane.metadata.name),
    }


def machine_name(
    plane: MachineControlPlaneContractObject, machines: Iterable[Machine], attempt: int
) -> str:
    """Return the name of the next Machine, deterministically.

    It depends on the generation and the existing Machines: both change with every step of a rollout
    or of scaling.
    """
    there = sorted(one.metadata.uid for one in machines)
    metadata = plane.metadata
    return generated_name(f"{metadata.name}-", metadata.uid, metadata.generation, *there, attempt)


def owned_metadata(
    plane: MachineControlPlaneContractObject,
    cluster: str,
    resource: Resource,
    name: str,
    uid: str = "",
) -> Document:
    """Return labels and annotations of a Machine's objects, which are changed in place."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {
            "name": name,
            "namespace": plane.metadata.namespace,
            **_unless_empty("uid", uid),
            "labels": machine_labels(plane, cluster),
            "annotations": dict(plane.spec.machine_template.metadata.annotations),
        },
    }


def new_config(
    plane: MachineControlPlaneContractObject, cluster: str, name: str, wanted: Document
) -> Document:
    """Return the bootstrap configuration of a new Machine. Its owner is no controller, since the
    Machine will be.
    """
    given = wanted.get("metadata") or {}
    annotations = plane.spec.machine_template.metadata.annotations
    return {
        "apiVersion": wanted["apiVersion"],
        "kind": wanted["kind"],
        "metadata": {
            "name": name,
            "namespace": plane.metadata.namespace,
            "labels": {**(given.get("labels") or {}), **machine_labels(plane, cluster)},
            "annotations": {**(given.get("annotations") or {}), **annotations},
            "ownerReferences": [encode(owner_reference(plane))],
        },
        "spec": wanted.get("spec") or {},
    }


def new_machine(
    plane: MachineControlPlaneContractObject,
    cluster: str,
    name: str,
    failure_domain: str,
    *,
    version: str,
    infrastructure: Reference,
    config: Reference,
) -> Document:
    """Return a new Machine."""
    metadata = {"name": name, "namespace": plane.metadata.namespace}
    spec = _spec(plane, cluster, failure_domain, version, infrastructure, config)
    return _machine(plane, cluster, metadata, spec, with_hook=True)


def updated_machine(
    plane: MachineControlPlaneContractObject, cluster: str, machine: Machine
) -> Document:
    """Return an existing Machine with its mutable fields updated."""
    there, metadata = machine.spec, machine.metadata
    spec = _spec(
        plane,
        cluster,
        there.failure_domain,
        there.version,
        there.infrastructure_ref,
        there.bootstrap.config_ref,
    )
    named = {"name": metadata.name, "namespace": metadata.namespace, "uid": metadata.uid}
    return _machine(
        plane, cluster, named, spec, with_hook=pre_terminate_hook(plane) in metadata.annotations
    )


def _machine(
    plane: MachineControlPlaneContractObject,
    cluster: str,
    metadata: Document,
    spec: Document,
    *,
    with_hook: bool,
) -> Document:
    owner = owner_reference(plane, controller=True, block_deletion=True)
    annotations = dict(plane.spec.machine_template.metadata.annotations)
    return {
        "apiVersion": Machine.RESOURCE.api_version,
        "kind": Machine.RESOURCE.kind,
        "metadata": {
            **metadata,
            "labels": machine_labels(plane, cluster),
            "annotations": {
                **annotations,
                **({pre_terminate_hook(plane): ""} if with_hook else {}),
            },
            "ownerReferences": [encode(owner)],
        },
        "spec": spec,
    }


def _spec(
    plane: MachineControlPlaneContractObject,
    cluster: str,
    failure_domain: str,
    version: str,
    infrastructure: Reference,
    config: Reference | None,
) -> Document:
    template = plane.spec.machine_template.spec
    return {
        "clusterName": cluster,
        **_unless_empty("version", version),
        "bootstrap": {} if config is None else {"configRef": encode(config)},
        "infrastructureRef": encode(infrastructure),
        **_unless_empty("failureDomain", failure_domain),
        **_unless_empty("readinessGates", [encode(one) for one in template.readiness_gates]),
        **_unless_empty("deletion", encode(template.deletion)),
        **_unless_empty("taints", [encode(one) for one in template.taints]),
    }


def _unless_empty(field: str, value: Any) -> Document:
    return {field: value} if value else {}
