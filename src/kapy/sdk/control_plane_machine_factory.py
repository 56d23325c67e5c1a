"""Create the Machines of a control plane with their objects, and update them in place."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from kapy.api.cluster import Cluster
from kapy.api.embedded import ContractVersionedObjectReference as Reference
from kapy.api.machine import Machine
from kapy.contract.external import External
from kapy.contract.observed import Observed
from kapy.contract.ownership import ownership_patch
from kapy.contract.templates import InfraMachineTemplate
from kapy.engine.runtime import Runtime
from kapy.engine.ssa_cache import SSACache
from kapy.kube import Document, Key
from kapy.kube.errors import REFUSED, NotFound
from kapy.kube.meta import owner_reference
from kapy.kube.names import Resource
from kapy.sdk.applied_objects import AppliedObjects
from kapy.sdk.control_plane_desired import DesiredMachines

ATTEMPTS: Final = 100
Part: TypeAlias = Literal["infrastructure", "config", "machine"]


def _no_report(_: Part) -> AbstractContextManager[None]:
    return nullcontext()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMachine:
    """The input for creating one Machine.

    template: reads the infrastructure template. config: the bootstrap configuration.
    failure_domain: chooses the failure domain, when the other objects exist. annotations:
    annotations of the Machine in addition to those of the template. report: returns a context that
    is entered while a part is created, and that reports errors.
    """

    name: str
    version: str
    template: Callable[[], Awaitable[Document]]
    config: Document
    failure_domain: Callable[[], str]
    annotations: dict[str, str] = field(default_factory=dict)
    report: Callable[[Part], AbstractContextManager[None]] = _no_report


class MachineFactory:
    """Writes Machines and their objects, with one field manager.

    resource: the kind of the control plane, after which the field manager is named. config: the
    kind of the bootstrap configurations, if the provider knows it.
    """

    def __init__(
        self,
        runtime: Runtime,
        external: External,
        resource: Resource,
        config: Resource | None = None,
    ) -> None:
        kind = resource.kind.lower()
        self._client = runtime.client
        self._external = external
        self._config = config
        tally = runtime.metrics.remember(SSACache(kind))
        self._applied = AppliedObjects(runtime.client, tally, f"capi-{kind}")

    @property
    def manager(self) -> str:
        """Return the field manager."""
        return self._applied.manager

    async def template(
        self, reference: Reference, namespace: str, cluster: Cluster
    ) -> Observed[InfraMachineTemplate]:
        """Return the infrastructure template; make the Cluster its owner, so that it is moved and
        deleted with it.
        """
        owner = owner_reference(cluster)
        return await self._external.get_owned(
            reference,
            namespace,
            InfraMachineTemplate,
            lambda document: ownership_patch(document, owner),
        )

    async def create(self, desired: DesiredMachines, new: NewMachine) -> Document:
        """Create the infrastructure and the bootstrap configuration of a new Machine, then the
        Machine; return the Machine.

        If the server refuses one of them, the objects before it are deleted.
        """
        created: list[tuple[Resource, Key]] = []
        try:
            with new.report("infrastructure"):
                owner = owner_reference(desired.plane)
                document = desired.infrastructure(await new.template(), new.name, owner)
                infrastructure = await self._create(desired, document, created)
            with new.report("config"):
                config = await self._create(desired, new.config, created)
            with new.report("machine"):
                machine = desired.new_machine(
                    new.name,
                    new.failure_domain(),
                    version=new.version,
                    infrastructure=_reference(infrastructure, new.name),
                    config=_reference(config, new.name),
                    annotations=new.annotations,
                )
                return await self._applied.create(Machine.RESOURCE, machine)
        except REFUSED:
            await self._delete(created)
            raise

    async def update(
        self,
        desired: DesiredMachines,
        current: Document,
        wanted: Document,
        owned: Iterable[Document],
    ) -> Document:
        """Propagate labels, annotations, timeouts, taints and readiness gates in place.

        wanted: `desired.updated_machine`. owned: the bootstrap configuration and the
        infrastructure. Returns the Machine, the same document if nothing was to be changed.
        """
        machine = await self._applied.apply(Machine.RESOURCE, wanted, current)
        for document in owned:
            resource, metadata = await self._resource_of(document), document["metadata"]
            intent = desired.owned_metadata(resource, metadata["name"], metadata["uid"])
            await self._applied.apply(resource, intent, document, self._applied.metadata_manager)
        return machine

    async def _create(
        self, desired: DesiredMachines, document: Document, created: list[tuple[Resource, Key]]
    ) -> Resource:
        resource, name = await self._resource_of(document), document["metadata"]["name"]
        metadata = desired.owned_metadata(resource, name)
        await self._applied.create_with_metadata(resource, document, metadata)
        created.append((resource, Key.of(document)))
        return resource

    async def _resource_of(self, document: Document) -> Resource:
        config = self._config
        if config is not None and document["kind"] == config.kind:
            return config
        return await self._external.resource_of(document)

    async def _delete(self, created: Sequence[tuple[Resource, Key]]) -> None:
        for resource, key in created:
            try:
                await self._client.delete(resource, key)
            except NotFound:
                continue


async def free_name(
    name_of: Callable[[int], str], is_taken: Callable[[str], Awaitable[bool]]
) -> str:
    """Return the first name that is not taken. name_of: the name of an attempt, always the same
    one, so that a retry after a lost response creates no second Machine.
    """
    for attempt in range(ATTEMPTS):
        name = name_of(attempt)
        if not await is_taken(name):
            break
    return name


def _reference(resource: Resource, name: str) -> Reference:
    return Reference(kind=resource.kind, name=name, api_group=resource.group)
