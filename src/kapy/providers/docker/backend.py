"""Selects the objects of the docker backend, and reads their specs, whatever their kind."""

from __future__ import annotations

from typing import Final

from kapy.api.dev_cluster import DevCluster
from kapy.api.dev_machine import DevMachine, DockerMachineBackendSpec
from kapy.api.docker_cluster import DockerCluster
from kapy.api.docker_machine import DockerMachine
from kapy.api.infrastructure import DockerLoadBalancer
from kapy.kube import Document

FAILURE_DOMAIN: Final = "machine.docker.infrastructure.cluster.x-k8s.io/failure-domain"
"""Annotation of a pool's machine: the failure domain that was chosen for it."""

Machine = DevMachine | DockerMachine
Cluster = DevCluster | DockerCluster

_POOLS: Final = ("DevMachinePool", "DockerMachinePool")
_OF_DOCKER: Final = frozenset(("DockerCluster", "DockerMachine", "DockerMachinePool"))


def is_docker(document: Document) -> bool:
    """Return whether an object is served by the docker backend."""
    if document["kind"] in _OF_DOCKER:
        return True
    backend = (document.get("spec") or {}).get("backend") or {}
    return backend.get("docker") is not None


def is_docker_template(document: Document) -> bool:
    """Return whether machines of a template are served by the docker backend."""
    if document["kind"] == "DockerMachineTemplate":
        return True
    spec = ((document.get("spec") or {}).get("template") or {}).get("spec") or {}
    return (spec.get("backend") or {}).get("docker") is not None


def machine_spec(machine: Machine) -> DockerMachineBackendSpec:
    """Return the desired state of a machine."""
    if isinstance(machine, DevMachine):
        assert machine.spec.backend.docker is not None  # `is_docker` said so
        return machine.spec.backend.docker
    spec = machine.spec
    return DockerMachineBackendSpec(
        custom_image=spec.custom_image,
        pre_load_images=spec.pre_load_images,
        extra_mounts=spec.extra_mounts,
        bootstrap_timeout=spec.bootstrap_timeout,
    )


def pool_name(machine: Machine) -> str:
    """Return the DevMachinePool or DockerMachinePool of a machine."""
    owners = machine.metadata.owner_references
    return next((owner.name for owner in owners if owner.kind in _POOLS), "")


def load_balancer_spec(cluster: Cluster) -> DockerLoadBalancer:
    """Return the desired state of a cluster's load balancer."""
    if isinstance(cluster, DevCluster):
        assert cluster.spec.backend.docker is not None  # `is_docker` said so
        return cluster.spec.backend.docker.load_balancer
    return cluster.spec.load_balancer
