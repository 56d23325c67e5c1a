"""The objects for the machines of a pool (contract: MachinePoolMachines support).

    machines = PoolMachines(runtime, DevMachine.RESOURCE, DevMachinePool.RESOURCE)
    machines.wake(controller)
    objects = await machines.ensure(context, new_object, is_current)  # in `reconcile_normal`
    return pool_result(context, [instance(item) for item in objects], provider_id=name)
    return await machines.delete(context)                             # in `reconcile_delete`

Core creates a Machine for each object. A machine is deleted by deleting its Machine, so that its
Node is drained before; the object is deleted with the Machine. Missing machines are created first;
outdated ones are deleted only as far as enough others are ready. So an update first grows the pool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from kapy.api.condition import Condition
from kapy.api.infrastructure import PoolInstance
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.api.names import Annotation, ConditionType, Label, Reason
from kapy.conditions import TRUE, false, true
from kapy.contract.infra_machine import InfraMachine
from kapy.engine.cache import Change
from kapy.engine.controller import STATUS_DEBOUNCE, Controller
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.generated_names import generated_name
from kapy.kube.meta import owner_reference
from kapy.kube.model import encode
from kapy.kube.names import GroupKind, Resource, split_api_version
from kapy.kube.qualified_names import label_value
from kapy.kube.renamed import RenamedMember
from kapy.sdk.infra_machine_pool import MachinePoolContext
from kapy.sdk.ownership import machine_of
from kapy.sdk.results import PoolProvisioned, Released, Waiting

_BY_POOL: Final = "sdk/pool"
NewObject = Callable[[], Document]
"""Returns the `spec` of a new object and the annotations in its `metadata`."""


class Member(NamedTuple):
    """One machine of a pool that is not in deletion. ready: it is provisioned. current: it is up to
    date. delete_first: a user or autoscaler requested its deletion first. created: its creation
    time, as sortable text.
    """

    name: str
    ready: bool
    current: bool
    delete_first: bool = False
    created: str = ""


class Plan(NamedTuple):
    """The changes of a pool. missing: the number of machines to create. surplus: the names of those
    to delete."""

    missing: int
    surplus: Sequence[str]


def plan(members: Sequence[Member], wanted: int) -> Plan:
    """Return the plan towards `wanted` up-to-date machines."""
    current = _by_deletion_order([member for member in members if member.current])
    outdated = _by_deletion_order([member for member in members if not member.current])
    removal = current[: max(0, len(current) - wanted)]
    ready = sum(member.ready for member in current[len(removal) :])
    # All outdated members that are not ready are deleted, since they serve nothing. Ready ones are
    # deleted only if they are not needed.
    removal += [member for member in outdated if not member.ready]
    serving = [member for member in outdated if member.ready]
    removal += serving[: max(0, ready + len(serving) - wanted)]
    return Plan(max(0, wanted - len(current)), [member.name for member in removal])


def _by_deletion_order(members: list[Member]) -> list[Member]:
    return sorted(
        members,
        key=lambda member: (not member.delete_first, member.ready, member.created, member.name),
    )


class PoolMachines:
    """Creates, finds and deletes the machines of pools. resource: the kind of the objects for the
    machines. pools: the kind of the provider's pools, which own them.
    """

    converge = RenamedMember("ensure")
    release = RenamedMember("delete")

    def __init__(self, runtime: Runtime, resource: Resource, pools: Resource) -> None:
        self._client = runtime.client
        self._resource = resource
        self._pools = runtime.cache.informer(pools)
        self._manager = f"{pools.kind.lower()}-controller"
        self._objects = runtime.cache.informer(resource)
        self._objects.add_index(_BY_POOL, _pool_index)
        self._machines = runtime.cache.informer(Machine.RESOURCE)
        runtime.declare_write(resource, "create", "delete", "patch")
        runtime.declare_write(Machine.RESOURCE, "delete")
        # By pool: requested names that the cache does not contain yet; the objects may exist.
        self._reserved: dict[str, list[str]] = {}

    def wake(self, controller: Controller) -> None:
        """Enqueue the pool of a changed object: once it has a Machine, only its labels name the
        pool.
        """
        pools = self._pools
        pools.add_index(_BY_POOL, _owner_index)

        def of_pool(change: Change) -> Iterable[Key]:
            values = _pool_index(change.document)
            return {key for value in values for key in pools.keys_by_index(_BY_POOL, value)}

        controller.watch(self._objects, of_pool, debounce=STATUS_DEBOUNCE)

    def of(self, context: MachinePoolContext[Any]) -> Sequence[Document]:
        """Return the existing objects for the machines of a pool, by name."""
        name = "" if context.pool is None else context.pool.metadata.name
        return self._objects.list_by_index(
            _BY_POOL, _index_value(context.cluster, label_value(name))
        )

    async def ensure(
        self,
        context: MachinePoolContext[Any],
        new_object: NewObject,
        is_current: Callable[[Document], bool],
    ) -> Sequence[Document]:
        """Create missing machines, delete surplus or outdated ones; return the objects."""
        results = self.of(context)
        members = [
            self._member(element, current=is_current(element))
            for element in results
            if not _is_deleting(element)
        ]
        planned = plan(members, context.replicas)
        names = {element["metadata"]["name"] for element in results}
        for name in self._reserve_names(context, planned.missing, names):
            await self._client.apply(
                self._resource, self._new(context, name, new_object()), field_manager=self._manager
            )
        self._reserved.pop(context.uid, None)
        surplus = set(planned.surplus)
        for item in results:
            if item["metadata"]["name"] in surplus:
                await self._delete(item)
        return self.of(context)

    def _reserve_names(
        self, context: MachinePoolContext[Any], count: int, value: set[str]
    ) -> Sequence[str]:
        """Return names for new objects, first those whose creation was not confirmed."""
        unseen = [name for name in self._reserved.get(context.uid, ()) if name not in value]
        more = _new_names(context, max(0, count - len(unseen)), {*value, *unseen})
        self._reserved[context.uid] = [*unseen, *more]
        return [*unseen, *more][:count]

    async def delete(self, context: MachinePoolContext[Any]) -> Released | Waiting:
        """Delete all machines of the pool; return the provider's result for `reconcile_delete`."""
        self._reserved.pop(context.uid, None)
        for item in self.of(context):
            if _is_deleting(item):
                continue
            if machine_of(item) is not None:
                await self._delete(item)
            else:  # core will not create a Machine for it any more
                await self._delete_object(self._resource, item)
        count = len(self.of(context))
        if not count:
            return Released()
        return Waiting(message=f"{count} machines are still there", requeue_after=None)

    def _member(self, document: Document, *, current: bool) -> Member:
        machine, metadata = self._machine_of(document), document["metadata"]
        annotations = {} if machine is None else machine["metadata"].get("annotations") or {}
        return Member(
            name=metadata["name"],
            ready=bool(InfraMachine(document).provisioned),
            current=current,
            delete_first=Annotation.DELETE_MACHINE in annotations,
            created=metadata.get("creationTimestamp") or "",
        )

    def _machine_of(self, document: Document) -> Document | None:
        key = machine_of(document)
        return None if key is None else self._machines.raw(key)

    def _new(self, context: MachinePoolContext[Any], name: str, special: Document) -> Document:
        assert context.pool is not None  # objects are only created for an existing pool
        labels = {
            Label.CLUSTER_NAME: context.cluster.name,
            Label.POOL_NAME: label_value(context.pool.metadata.name),
        }
        # Until its Machine exists, which becomes its controller.
        owner = encode(owner_reference(context.object))
        metadata = {
            **special.get("metadata", {}),
            "name": name,
            "namespace": context.key.namespace,
            "labels": labels,
            "ownerReferences": [owner],
        }
        resource = self._resource
        named = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
        return {**named, "spec": special.get("spec", {})}

    async def _delete(self, document: Document) -> None:
        """Delete the owning Machine, which deletes this object. If no Machine exists yet, wait: it
        is created first and then deleted.
        """
        machine = self._machine_of(document)
        if machine is not None and not _is_deleting(machine):
            await self._delete_object(Machine.RESOURCE, machine)

    async def _delete_object(self, resource: Resource, document: Document) -> None:
        try:
            await self._client.delete(resource, Key.of(document), uid=document["metadata"]["uid"])
        except NotFound:
            return


def pool_result(
    context: MachinePoolContext[Any], instances: Sequence[PoolInstance], *, provider_id: str
) -> PoolProvisioned | Waiting:
    """Return the result of `reconcile_normal` for a pool with these machines.

    A new pool is provisioned when it has exactly the wanted machines and each has a provider ID.
    After that it stays provisioned, and the condition ReplicasReady reports what is missing.
    provider_id: the ID of the pool itself.
    """
    ids = sorted(instance.provider_id for instance in instances if instance.provider_id)
    ready = _replicas_ready(len(ids), len(instances), context.replicas)
    if ready.status != TRUE and not context.provisioned:
        because = "not all machines are there yet"
        return Waiting(message=because, requeue_after=None, conditions=[ready])
    return PoolProvisioned(
        provider_ids=ids,
        replicas=len(instances),
        provider_id=provider_id,
        instances=instances,
        conditions=[ready],
    )


def _replicas_ready(ready: int, there: int, wanted: int) -> Condition:
    """Return the condition ReplicasReady, which is True if exactly the wanted machines exist and
    have their provider IDs.
    """
    of = ConditionType.REPLICAS_READY
    if ready == there == wanted:
        return true(of, Reason.READY)
    message = f"{ready} of {wanted} machines are ready"
    if there > wanted:
        message = f"{there - wanted} more machines than wanted are there"
    return false(of, Reason.NOT_READY, message)


def _new_names(context: MachinePoolContext[Any], count: int, value: set[str]) -> list[str]:
    """Return names that stay the same until the pool's object is written: a lost response causes no
    second machine.
    """
    names: list[str] = []
    attempt, version = 0, _version(context.object)
    while len(names) < count:
        name = generated_name(f"{context.key.name}-", context.uid, version, attempt)
        attempt += 1
        if name not in value and name not in names:
            names.append(name)
    return names


def _version(obj: Any) -> str:
    metadata = obj["metadata"] if isinstance(obj, dict) else obj.metadata
    version = metadata["resourceVersion"] if isinstance(obj, dict) else metadata.resource_version
    return str(version)


def _is_deleting(document: Document) -> bool:
    return "deletionTimestamp" in document["metadata"]


def _pool_index(document: Document) -> Iterable[str]:
    metadata = document["metadata"]
    labels = metadata.get("labels") or {}
    if Label.POOL_NAME in labels:
        cluster = Key(metadata["namespace"], labels.get(Label.CLUSTER_NAME, ""))
        yield _index_value(cluster, labels[Label.POOL_NAME])


def _owner_index(document: Document) -> Iterable[str]:
    """Index the object of a pool by the MachinePool that owns it."""
    metadata = document["metadata"]
    cluster = (metadata.get("labels") or {}).get(Label.CLUSTER_NAME, "")
    for ref in metadata.get("ownerReferences") or ():
        group, _ = split_api_version(ref["apiVersion"])
        if GroupKind(group, ref["kind"]) == MachinePool.RESOURCE.group_kind:
            yield _index_value(Key(metadata["namespace"], cluster), label_value(ref["name"]))


def _index_value(cluster: Key, pool: str) -> str:
    return f"{cluster}/{pool}"
