"""Reads objects that providers own: from watched caches, by references without a version.

    external = External(client, cache)
    external.wake(controller, owner_keys(GroupKind(CLUSTER_GROUP, "Machine")))
    ...
    match await external.get(ref, machine.metadata.namespace, InfraMachine):
        case Found(infra): ...
        case Absent(): ...
        case Unreadable(error): ...

A kind is watched from the moment it is first read, for every controller that asked to be woken.
CRDs are watched too: controllers that could not read a kind are woken when its CRD is created or
corrected, as are those that read it in a version which the CRD no longer names. A CRD that lacks
the scope or the fields of its contract makes its objects unreadable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache as once
from typing import Any, Final, Protocol, TypeVar

from kapy.api.names import CLUSTER_GROUP
from kapy.client.client import Client
from kapy.contract.errors import BrokenDefinition, ContractError, NotPermitted, NotServed
from kapy.contract.fields import Version, View, fields_of
from kapy.contract.observed import Absent, Found, Observed, Unreadable
from kapy.contract.ownership import claim
from kapy.contract.resolve import Resolved, contract_of, crd_name, resolve
from kapy.engine.cache import Cache, Change
from kapy.engine.controller import Controller, Debounce, Mapper
from kapy.kube import Document, Key
from kapy.kube.errors import Forbidden, KapyError, NotFound
from kapy.kube.names import CRDS, GroupKind, Resource, split_api_version
from kapy.kube.renamed import RenamedMember

V = TypeVar("V", bound=View)

AGGREGATE_TO_MANAGER: Final = f"{CLUSTER_GROUP}/aggregate-to-manager"


class Reference(Protocol):
    """A reference to a provider's object: group, kind and name
    (`ContractVersionedObjectReference`).
    """

    @property
    def api_group(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def name(self) -> str: ...


class External:
    """Reads provider objects through the contracts that their CRDs declare."""

    owned = RenamedMember("get_owned")
    named = RenamedMember("get_version")

    def __init__(self, client: Client, cache: Cache) -> None:
        self._client = client
        self._cache = cache
        self._crds = cache.informer(CRDS)
        self._known: dict[tuple[GroupKind, type[View] | None], tuple[Document, Resolved]] = {}
        self._unreadable: dict[GroupKind, set[Key]] = {}
        self._watched: set[Resource] = set()
        self._wakes: list[tuple[Controller, Mapper, Debounce]] = []
        self._crds.subscribe(self._crd_changed)

    def wake(self, controller: Controller, keys: Mapper, *, gather: Debounce = 0.0) -> None:
        """Enqueue `keys(change)` for changes of all objects that are read through here.

        gather: seconds to wait for more changes, as in `Controller.watch`.
        """
        self._wakes.append((controller, keys, gather))

    async def resolve(self, kind: GroupKind, view: type[View] | None = None) -> Resolved:
        """Return where a kind is served and by which contract it is read.

        view: the contract that its CRD must fit. Raises NotServed, NoContract, BrokenDefinition, or
        the client's error while the CRDs are not cached yet.
        """
        crd = await self._crd(kind)
        resolution = self._known.get((kind, view))
        if resolution is None or resolution[0] is not crd:
            where = resolve(kind, crd)
            if view is not None:
                check_definition(crd, where, view)
            resolution = crd, where
            self._known[kind, view] = resolution
        return resolution[1]

    async def resource_of(self, document: Document) -> Resource:
        """Return the resource of a document by its own apiVersion and kind. Raises as `resolve`."""
        group, version = split_api_version(document["apiVersion"])
        resource = (await self.resolve(GroupKind(group, document["kind"]))).resource
        return resource if resource.version == version else replace(resource, version=version)

    async def get(self, ref: Reference, namespace: str, view: type[V]) -> Observed[V]:
        """Return the object that `ref` names in `namespace`, as a view of its contract."""
        kind, key = GroupKind(ref.api_group, ref.kind), Key(namespace, ref.name)
        try:
            where = await self.resolve(kind, view)
            document = await self._read(where.resource, key)
        except NotFound:
            return Absent()
        except ContractError as error:
            self._unreadable.setdefault(kind, set()).add(key)
            return Unreadable(error)
        except Forbidden as error:  # Permissions cannot be watched: callers retry with back-off.
            return Unreadable(_not_permitted(kind, error))
        except KapyError as error:
            return Unreadable(error)
        return Found(view(document, where.contract))

    async def get_owned(
        self,
        ref: Reference,
        namespace: str,
        view: type[V],
        patch: Callable[[Document], Document],
    ) -> Observed[V]:
        """Return the object that `ref` names, patched with `patch(document)` unless that is empty.

        patch: sets ownership (`kapy.contract.ownership`); it is called again if the object has
        changed meanwhile.
        """
        result = await self.get(ref, namespace, view)
        if not isinstance(result, Found):
            return result
        document = result.view.document
        try:
            if not patch(document):
                return result
            resource = await self.resource_of(document)
            document = await claim(self._client, resource, document, patch)
        except NotFound:
            return await self.get(ref, namespace, view)
        except KapyError as error:
            return Unreadable(error)
        return Found(view(document, result.view.contract))

    async def get_version(self, api_version: str, kind: str, key: Key) -> Document:
        """Return an object in the version that a reference names, and watch its kind.

        Raises NotFound, ContractError, and the client's errors.
        """
        group, version = split_api_version(api_version)
        try:
            resource = (await self.resolve(GroupKind(group, kind))).resource
        except ContractError:
            self._unreadable.setdefault(GroupKind(group, kind), set()).add(key)
            raise
        if resource.version != version:
            resource = replace(resource, version=version)
        return await self._read(resource, key)

    async def contract(self, document: Document) -> Version:
        """Return the contract that the document's version implements. Raises ContractError."""
        group, version = split_api_version(document["apiVersion"])
        return contract_of(await self._crd(GroupKind(group, document["kind"])), version)

    async def _read(self, resource: Resource, key: Key) -> Document:
        """Return an object from the watched cache of its kind, or from the server until the cache
        is synced. Raises NotFound.
        """
        informer = self._cache.informer(resource)
        self._watched.add(resource)
        for controller, keys, gather in self._wakes:
            controller.watch(informer, keys, debounce=gather)
        if not informer.is_synced:
            # Fetching thousands of objects one by one would take longer than one list.
            await self._cache.wait_for_first_attempt(resource)
        if not informer.is_synced:
            # The list may fail. Then a GET returns the reason, or at least this object.
            return await self._client.get(resource, key)
        document = informer.raw(key)
        if document is None:
            raise NotFound(f'{resource.group_resource} "{key.name}" not found')
        return document

    async def _crd(self, kind: GroupKind) -> Document:
        name = crd_name(*kind)
        if self._crds.is_synced:
            crd = self._crds.raw(Key("", name))
        else:
            try:
                crd = await self._client.get(CRDS, Key("", name))
            except NotFound:
                crd = None
        if crd is None:
            raise NotServed(
                f"failed to get object from ref: failed to get CustomResourceDefinition metadata: "
                f'{CRDS.group_resource} "{name}" not found'
            )
        return crd

    def _crd_changed(self, change: Change) -> None:
        spec = change.document["spec"]
        kind = GroupKind(spec["group"], spec["names"]["kind"])
        keys = self._unreadable.pop(kind, set())
        for name in [group_kind for group_kind in self._known if group_kind[0] == kind]:
            crd, where = self._known[name]
            if change.new is None or change.new is crd:
                continue
            del self._known[name]
            if where.resource in self._watched and not _is_still_resolved(where, kind, change.new):
                keys.update(self._cache.informer(where.resource).keys())
        for key in keys:
            self._wake(kind, key)

    def _wake(self, kind: GroupKind, key: Key) -> None:
        """Enqueue the objects that refer to an object, whether it exists or not."""
        metadata = {"namespace": key.namespace, "name": key.name}
        named = {"apiVersion": f"{kind.group}/", "kind": kind.kind, "metadata": metadata}
        for controller, keys, _ in self._wakes:
            for entry in keys(Change(None, named)):
                controller.enqueue(entry)


def _is_still_resolved(where: Resolved, kind: GroupKind, crd: Document) -> bool:
    try:
        return resolve(kind, crd) == where
    except ContractError:
        return False


def _not_permitted(kind: GroupKind, error: Forbidden) -> NotPermitted:
    return NotPermitted(
        f"{kind} may not be read by core: {error}. A provider with an API group of its own "
        f'grants it with a ClusterRole that has the label {AGGREGATE_TO_MANAGER}: "true"'
    )


@once
def owner_keys(owner: GroupKind) -> Mapper:
    """Return a mapper to the owners of a kind, in any version."""

    def keys(change: Change) -> Iterable[Key]:
        metadata = change.document["metadata"]
        for ref in metadata.get("ownerReferences") or ():
            if ref["kind"] == owner.kind and split_api_version(ref["apiVersion"])[0] == owner.group:
                yield Key(metadata.get("namespace", ""), ref["name"])

    return keys


def check_definition(crd: Document, where: Resolved, view: type[View]) -> None:
    """Raise BrokenDefinition if objects of the CRD cannot keep the contract of `view`.

    All resources must be namespaced, and the schema of the version that is read must have every
    mandatory field. A part of the schema that preserves unknown fields has them all.
    """
    name = crd["metadata"]["name"]
    if not where.resource.namespaced:
        raise BrokenDefinition(
            f"CRD {name} breaks the {view.__name__} contract {where.contract}: its scope is "
            f"Cluster, and all resources must be Namespaced"
        )
    schema = _schema(crd, where.resource.version)
    missing = [path for path in mandatory_paths(view, where.contract) if not _has(schema, path)]
    if missing:
        paths = " and ".join(f".{item}" for item in missing)
        raise BrokenDefinition(
            f"CRD {name} breaks the {view.__name__} contract {where.contract}: it declares the "
            f"contract for version {where.resource.version}, whose schema has no {paths}"
        )


def mandatory_paths(view: type[View], contract: Version) -> list[str]:
    """Return the paths of the fields that every provider must have."""
    return [field.path(contract) for field in fields_of(view).values() if field.mandatory]


def _schema(crd: Document, version: str) -> Any:
    for item in crd["spec"]["versions"]:
        if item["name"] == version:
            return (item.get("schema") or {}).get("openAPIV3Schema") or {}
    return {}


def _has(schema: Any, path: str) -> bool:
    node = schema
    for part in path.split("."):
        if node.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in node:
            return True
        node = (node.get("properties") or {}).get(part)
        if node is None:
            return False
    return True
