"""A MachinePool of the cluster `capybara`, with its bootstrap and its infrastructure."""

from __future__ import annotations

from kapy.api.dev_machine_pool import DevMachinePool
from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.machine_pool import MachinePool
from kapy.kube import Document
from kapy.kube.names import Resource


def machine_pool(
    name: str, *, replicas: int = 2, backend: Document | None = None, config: Document | None = None
) -> list[Document]:
    """The three objects. backend: of the DevMachinePool. config: spec of the KubeadmConfig."""
    cluster, version = "capybara", "v1.34.0"
    pool, bootstrap = DevMachinePool.RESOURCE, KubeadmConfig.RESOURCE
    template = {
        "clusterName": cluster,
        "version": version,
        "bootstrap": {"configRef": _reference(bootstrap, name)},
        "infrastructureRef": _reference(pool, name),
    }
    wanted = {"clusterName": cluster, "replicas": replicas, "template": {"spec": template}}
    return [
        _object(pool, name, {"backend": backend or {}}),
        _object(bootstrap, name, config),
        _object(MachinePool.RESOURCE, name, wanted),
    ]


def _reference(kind: Resource, name: str) -> Document:
    return {"apiGroup": kind.group, "kind": kind.kind, "name": name}


def _object(kind: Resource, name: str, spec: Document | None) -> Document:
    document: Document = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": name, "namespace": "default"},
    }
    return document if spec is None else {**document, "spec": spec}
