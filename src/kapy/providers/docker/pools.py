"""Pools of containers: DevMachinePools with `backend.docker`, and DockerMachinePools.

Each machine of a pool is a DevMachine or DockerMachine. As in upstream, a machine is replaced if
its container has another image than the pool's spec. A machine keeps the failure domain that was
chosen for it in an annotation; its container has it as a label.
"""

from __future__ import annotations

from typing import Any

from kapy.api.dev_machine import DevMachine
from kapy.api.dev_machine_pool import DevMachinePool
from kapy.api.docker_machine import DockerMachine
from kapy.api.docker_machine_pool import DockerMachinePool
from kapy.api.infrastructure import Container, PoolInstance
from kapy.api.names import ConditionType
from kapy.kube import Document
from kapy.kube.meta import read
from kapy.kube.model import encode
from kapy.providers.docker.backend import FAILURE_DOMAIN, is_docker
from kapy.providers.docker.containers import machine_container
from kapy.providers.docker.host import Host
from kapy.providers.docker.node_images import is_same_image, node_image
from kapy.sdk import (
    InfraMachinePoolProvider,
    MachinePoolContext,
    PoolMachines,
    PoolProvisioned,
    Released,
    Waiting,
    conditions,
    pick_fewest,
    pool_result,
)

Order = MachinePoolContext[Any]


class ContainerMachinePools(InfraMachinePoolProvider[Any]):
    """Pools of the docker backend, of one kind. machines: their machines. label: names the pool
    of a machine on its container."""

    def __init__(
        self,
        host: Host,
        machines: PoolMachines,
        kind: type[DevMachine] | type[DockerMachine],
        label: str,
    ) -> None:
        self._host = host
        self._machines = machines
        self._kind = kind
        self._label = label
        self.machine_kind = kind.RESOURCE.kind  # type: ignore[misc]

    def serves(self, document: Document) -> bool:
        return is_docker(document)

    async def reconcile_normal(self, context: Order) -> PoolProvisioned | Waiting:
        spec = _machine_spec(context.object)
        image = node_image(context.version, spec.custom_image).name
        containers = await self._host.of_cluster(context.cluster)
        images = {container.name: container.image for container in containers}

        def is_current(document: Document) -> bool:
            name = machine_container(context.cluster.name, document["metadata"]["name"])
            return is_same_image(images.get(name, image), image)

        domains = [_domain(item) for item in self._machines.of(context)]
        documents = await self._machines.ensure(
            context, lambda: self._new(context, domains), is_current
        )
        machines = [read(document, self._kind) for document in documents]
        return pool_result(
            context,
            [_instance(machine) for machine in machines],
            provider_id=context.object.spec.provider_id or _provider_id(context),
        )

    async def reconcile_delete(self, context: Order) -> Released | Waiting:
        answer = await self._machines.delete(context)
        if isinstance(answer, Released):
            # Upstream's manager makes the containers of a pool before their objects.
            for container in await self._host.of_cluster(context.cluster):
                if container.labels.get(self._label) == context.key.name:
                    await self._host.engine.remove(container.name)
        return answer

    def _new(self, context: Order, domains: list[str]) -> Document:
        """Return a new machine of a pool. domains: the failure domains of the existing machines, to
        which that of the new machine is added.
        """
        wanted = encode(_machine_spec(context.object))
        new: Document = {"spec": wanted}
        if self._kind is DevMachine:
            new["spec"] = {"backend": {"docker": wanted}}
        if domain := pick_fewest(context.failure_domains, domains, domains):
            new["metadata"] = {"annotations": {FAILURE_DOMAIN: domain}}
            domains.append(domain)
        return new


def _provider_id(context: Order) -> str:
    """Return a provider ID for a pool; it identifies no container."""
    scheme = "docker" if isinstance(context.object, DockerMachinePool) else "dev"
    return f"{scheme}:////{context.cluster.name}-dmp-{context.key.name}"


def _domain(document: Document) -> str:
    annotations = document["metadata"].get("annotations") or {}
    return str(annotations.get(FAILURE_DOMAIN, ""))


def _machine_spec(pool: DevMachinePool | DockerMachinePool) -> Container:
    if isinstance(pool, DockerMachinePool):
        return pool.spec.template
    assert pool.spec.backend.docker is not None  # `is_docker` said so
    return pool.spec.backend.docker


def _instance(machine: DevMachine | DockerMachine) -> PoolInstance:
    return PoolInstance(
        addresses=machine.status.addresses,
        instance_name=machine.metadata.name,
        provider_id=machine.spec.provider_id or None,
        ready=conditions.is_true(machine.status.conditions, ConditionType.READY),
    )
