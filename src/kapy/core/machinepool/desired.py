"""The desired Machine for an infrastructure machine of a MachinePool (pure functions).

The Machine represents a machine that the provider created; nothing is created for it. So it has no
bootstrap config, and its version is that of its Node.
"""

from __future__ import annotations

from typing import Final

from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.api.names import Label
from kapy.kube import Document
from kapy.kube.meta import owner_reference
from kapy.kube.model import encode
from kapy.kube.names import split_api_version
from kapy.kube.qualified_names import label_value

MANAGER: Final = "machinepool-controller"


def desired_machine(
    pool: MachinePool, infra: Document, version: str, existing: Document | None
) -> Document:
    """Return the Machine as an apply configuration. infra: the infrastructure machine, which
    determines its name.

    version: the version of the Node, "" without one. existing: the Machine that refers to the
    infrastructure machine; its uid protects against recreation.
    """
    group, _ = split_api_version(infra["apiVersion"])
    name: str = infra["metadata"]["name"]
    spec: Document = {
        "clusterName": pool.spec.cluster_name,
        "bootstrap": {"dataSecretName": ""},
        "infrastructureRef": {"apiGroup": group, "kind": infra["kind"], "name": name},
    }
    if version:
        spec["version"] = version
    return {
        "apiVersion": Machine.RESOURCE.api_version,
        "kind": Machine.RESOURCE.kind,
        "metadata": _metadata(pool, name, existing),
        "spec": spec,
    }


def _metadata(pool: MachinePool, name: str, existing: Document | None) -> Document:
    template = pool.spec.template.metadata
    owner = owner_reference(pool, controller=True, block_deletion=True)
    metadata: Document = {
        "name": name,
        "namespace": pool.metadata.namespace,
        "labels": {**template.labels, **labels_of(pool)},
        "ownerReferences": [encode(owner)],
    }
    if existing is not None:
        metadata |= {item: existing["metadata"][item] for item in ("name", "uid")}
    if template.annotations:
        metadata["annotations"] = dict(template.annotations)
    return metadata


def labels_of(pool: MachinePool) -> dict[str, str]:
    """Return the labels of the pool's Machines and their infrastructure machines."""
    return {
        Label.POOL_NAME: label_value(pool.metadata.name),
        Label.CLUSTER_NAME: pool.spec.cluster_name,
    }
