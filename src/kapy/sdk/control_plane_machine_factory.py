"""Create the Machines of a control plane, and find outdated ones."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from kapy.api.cluster import Cluster
from kapy.api.embedded import ContractVersionedObjectReference as Reference
from kapy.api.machine import Machine
from kapy.api.names import Annotation
from kapy.api.times import moment
from kapy.contract.bootstrap import BootstrapConfig
from kapy.contract.external import External
from kapy.contract.failure_domains import pick_fewest
from kapy.contract.fields import View
from kapy.contract.infra_machine import InfraMachine
from kapy.contract.observed import Absent, Found, Unreadable
from kapy.contract.ownership import ownership_patch
from kapy.contract.templates import InfraMachineTemplate, clone_template
from kapy.engine.correlation import Lru
from kapy.engine.runtime import Runtime
from kapy.engine.ssa_cache import REMEMBERED, SSACache
from kapy.kube import Document, Key
from kapy.kube.apply.settled import is_settled
from kapy.kube.errors import REFUSED, NotFound
from kapy.kube.meta import owner_reference
from kapy.kube.names import SECRETS, Resource
from kapy.sdk.applied_objects import AppliedObjects
from kapy.sdk.control_plane_desired import (
    machine_labels,
    machine_name,
    new_config,
    new_machine,
    owned_metadata,
    updated_machine,
)
from kapy.sdk.control_plane_kinds import MachineControlPlaneContractObject
from kapy.sdk.control_plane_machine_selection import creation_time
from kapy.sdk.machine_based_control_plane import MachineControlPlaneContext

ATTEMPTS: Final = 100


class MachineFactory:
    """Writes Machines and their objects, with one field manager."""

    def __init__(self, runtime: Runtime, external: External, resource: Resource) -> None:
        kind = resource.kind.lower()
        self._runtime = runtime
        self._external = external
        tally = runtime.metrics.remember(SSACache(kind))
        self._applied = AppliedObjects(runtime.client, tally, f"capi-{kind}")
        self._machines = runtime.cache.informer(Machine)
        # Generation of the control plane and versions of a Machine, by its uid, and of what belongs
        # to it, of which it is known that they are in step.
        self._in_sync: Lru[tuple[object, ...]] = Lru(REMEMBERED)
        # Of configurations, by uid: resourceVersion and wanted spec, and whether it is that.
        self._current: Lru[tuple[str, Document, bool]] = Lru(REMEMBERED)

    async def template(
        self, plane: MachineControlPlaneContractObject, cluster: Cluster
    ) -> Document | None:
        """Return the infrastructure template, owned by the Cluster; None if it does not exist.
        Raises its read error.
        """
        reference = plane.spec.machine_template.spec.infrastructure_ref
        owner = owner_reference(cluster)
        found = await self._external.get_owned(
            reference,
            plane.metadata.namespace,
            InfraMachineTemplate,
            lambda document: ownership_patch(document, owner),
        )
        match found:
            case Found(view):
                return view.document
            case Absent():
                return None
            case Unreadable(error):
                raise error

    async def create(
        self,
        plane: MachineControlPlaneContractObject,
        context: MachineControlPlaneContext[Any],
        template: Document,
        wanted: Document,
        outdated: Sequence[str],
    ) -> None:
        """Create the next Machine, in the failure domain with the fewest up-to-date Machines."""
        cluster, name = context.cluster.name, await self._free_name(plane, context, wanted)
        created_objects: list[tuple[Resource, Key]] = []
        try:
            infrastructure = clone_template(
                template,
                name=name,
                namespace=plane.metadata.namespace,
                cluster_name=cluster,
                owner=owner_reference(plane),
                labels=machine_labels(plane, cluster),
                annotations=dict(plane.spec.machine_template.metadata.annotations),
            )
            infra = await self._create(plane, cluster, infrastructure, created_objects)
            config = await self._create(
                plane, cluster, new_config(plane, cluster, name, wanted), created_objects
            )
            machine = new_machine(
                plane,
                cluster,
                name,
                self._failure_domain(context, outdated),
                version=context.version,
                infrastructure=_reference(infra, name),
                config=_reference(config, name),
            )
            await self._applied.create(Machine.RESOURCE, machine)
        except REFUSED:
            await self._delete_created(created_objects)
            raise

    async def update(
        self,
        plane: MachineControlPlaneContractObject,
        context: MachineControlPlaneContext[Any],
        machine: Machine,
    ) -> None:
        """Propagate labels, annotations, timeouts, taints and readiness gates in place."""
        current = self._machines.raw(machine.key)
        if current is None or machine.deleting:
            return
        config, infra = context.configs.get(machine.metadata.name), await self.infra(machine)
        state = plane.metadata.generation, *map(_version, (current, config, infra))
        if self._in_sync.get(machine.metadata.uid) == state:
            return
        cluster = context.cluster.name
        wanted = updated_machine(plane, cluster, machine)
        await self._applied.apply(Machine.RESOURCE, wanted, current)
        for belonging in (config, infra):
            if belonging is None:
                continue
            resource, metadata = await self._external.resource_of(belonging), belonging["metadata"]
            intent = owned_metadata(plane, cluster, resource, metadata["name"], metadata["uid"])
            await self._applied.apply(resource, intent, belonging, self._applied.metadata_manager)
        self._in_sync.put(machine.metadata.uid, state)

    async def infra(self, machine: Machine) -> Document | None:
        """Return the Machine's infrastructure, None if it does not exist. Raises its read error."""
        return await self._read(machine, machine.spec.infrastructure_ref, InfraMachine)

    async def config(self, machine: Machine) -> Document | None:
        """Return the Machine's bootstrap configuration, None if it does not exist. Raises its read
        error.
        """
        reference = machine.spec.bootstrap.config_ref
        return None if reference is None else await self._read(machine, reference, BootstrapConfig)

    async def _read(
        self, machine: Machine, reference: Reference, view: type[View]
    ) -> Document | None:
        found = await self._external.get(reference, machine.metadata.namespace, view)
        if isinstance(found, Unreadable):
            raise found.error
        return found.view.document if isinstance(found, Found) else None

    async def outdated_reasons(
        self,
        plane: MachineControlPlaneContractObject,
        context: MachineControlPlaneContext[Any],
        machine: Machine,
        wanted: Sequence[Document],
        now: datetime,
    ) -> list[str]:
        """Return why a Machine has to be replaced. wanted: the configurations that it may have."""
        messages = []
        if context.version and machine.spec.version != context.version:
            messages.append(f"Version {machine.spec.version}, {context.version} required")
        after = plane.spec.rollout.after
        if after is not None and creation_time(machine) < moment(after) <= now:
            messages.append("spec.rollout.after expired")
        infra = await self.infra(machine)
        if infra is not None and not _is_cloned_from(plane, infra):
            messages.append(f"{machine.spec.infrastructure_ref.kind} is not up-to-date")
        config = context.configs.get(machine.metadata.name)
        if config is not None and not await self._is_any_of(config, wanted):
            messages.append(f"{config['kind']} is not up-to-date")
        return messages

    async def _is_any_of(self, config: Document, wanted: Sequence[Document]) -> bool:
        for one in wanted:
            if (one["apiVersion"], one["kind"]) != (config["apiVersion"], config["kind"]):
                continue
            if await self._is_spec(config, one.get("spec") or {}):
                return True
        return False

    async def _is_spec(self, config: Document, spec: Document) -> bool:
        """Return whether applying this spec would leave the configuration unchanged.

        Usually the object itself shows it. Otherwise a dry run finds out, because the server may
        store a value in another form.
        """
        metadata, manager = config["metadata"], self._applied.manager
        intent = {**config, "spec": spec, "metadata": {"name": metadata["name"]}}
        intent = {key: one for key, one in intent.items() if key != "status"}
        if is_settled(_without_metadata(config), intent, manager):
            return True
        uid, version = metadata["uid"], metadata["resourceVersion"]
        known = self._current.get(uid)
        if known is not None and known[:2] == (version, spec):
            return known[2]
        owners = metadata.get("ownerReferences") or []
        mine = [one for one in owners if not one.get("controller")]
        named = {"name": metadata["name"], "namespace": metadata["namespace"], "uid": uid}
        answer = await self._runtime.client.apply(
            await self._external.resource_of(config),
            {**intent, "metadata": {**named, "ownerReferences": mine}},
            field_manager=manager,
            dry_run=True,
        )
        same = bool(answer.get("spec") == config.get("spec"))
        self._current.put(uid, (version, spec, same))
        return same

    async def _create(
        self,
        plane: MachineControlPlaneContractObject,
        cluster: str,
        document: Document,
        created_objects: list[tuple[Resource, Key]],
    ) -> Resource:
        resource, name = await self._external.resource_of(document), document["metadata"]["name"]
        metadata = owned_metadata(plane, cluster, resource, name)
        await self._applied.create_with_metadata(resource, document, metadata)
        created_objects.append((resource, Key.of(document)))
        return resource

    async def _delete_created(self, created_objects: Sequence[tuple[Resource, Key]]) -> None:
        """Delete the objects of a Machine that could not be created."""
        for resource, key in created_objects:
            try:
                await self._runtime.client.delete(resource, key)
            except NotFound:
                continue

    def _failure_domain(
        self, context: MachineControlPlaneContext[Any], outdated: Sequence[str]
    ) -> str:
        cluster = context.owner
        domains = [] if cluster is None else cluster.status.failure_domains
        staying = [
            one
            for one in context.machines
            if one.metadata.name not in outdated and not one.deleting
        ]
        return pick_fewest(
            [one.name for one in domains if one.control_plane],
            [one.spec.failure_domain for one in context.machines],
            [one.spec.failure_domain for one in staying],
            random=self._runtime.random,
        )

    async def _free_name(
        self,
        plane: MachineControlPlaneContractObject,
        context: MachineControlPlaneContext[Any],
        wanted: Document,
    ) -> str:
        """Return a deterministic name that no object in deletion has."""
        namespace = plane.metadata.namespace
        for attempt in range(ATTEMPTS):
            name = machine_name(plane, context.machines, attempt)
            if not await self._is_taken(plane, Key(namespace, name), wanted):
                break
        return name

    async def _is_taken(
        self, plane: MachineControlPlaneContractObject, key: Key, wanted: Document
    ) -> bool:
        """Return whether an object of that name exists that is not from an earlier attempt."""
        if self._machines.raw(key) is not None:
            return True
        resource = await self._external.resource_of(wanted)
        try:
            config = await self._runtime.client.get(resource, key)
        except NotFound:
            return await self._exists(SECRETS, key)  # boot data that is not collected yet
        metadata = config["metadata"]
        owners = metadata.get("ownerReferences") or ()
        is_ours = any(one["uid"] == plane.metadata.uid for one in owners)
        return "deletionTimestamp" in metadata or not is_ours

    async def _exists(self, resource: Resource, key: Key) -> bool:
        try:
            await self._runtime.client.get(resource, key)
        except NotFound:
            return False
        return True


def _version(document: Document | None) -> str:
    return "" if document is None else str(document["metadata"]["resourceVersion"])


def _reference(resource: Resource, name: str) -> Reference:
    return Reference(kind=resource.kind, name=name, api_group=resource.group)


def _is_cloned_from(plane: MachineControlPlaneContractObject, infra: Document) -> bool:
    """Return whether it was cloned from the current template; None if that is unknown."""
    annotations = infra["metadata"].get("annotations") or {}
    name = annotations.get(Annotation.CLONED_FROM_NAME)
    group_kind = annotations.get(Annotation.CLONED_FROM_GROUP_KIND)
    wanted = plane.spec.machine_template.spec.infrastructure_ref
    if name is None or group_kind is None:
        return True
    return bool(name == wanted.name and group_kind == f"{wanted.kind}.{wanted.api_group}")


def _without_metadata(config: Document) -> Document:
    """Return the document without metadata in its managed fields."""
    managed = [
        {**one, "fieldsV1": {k: v for k, v in (one.get("fieldsV1") or {}).items() if k == "f:spec"}}
        for one in config["metadata"].get("managedFields") or ()
    ]
    return {**config, "metadata": {**config["metadata"], "managedFields": managed}}
