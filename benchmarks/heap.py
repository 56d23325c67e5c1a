"""The memory of a settled cluster by what holds it, before and after its objects are packed."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

from msgspec import Struct

from benchmarks.fleet import Fleet, Shape, fleet, names
from kapy.apiserver.store.stored_object import StoredObject
from kapy.apiserver.store.table import Table
from kapy.engine import idle_packing
from kapy.engine.cache import Informer
from kapy.engine.queue import Queue
from kapy.engine.ssa_cache import SSACache
from kapy.engine.status_writes import StatusMemo
from kapy.engine.store import Index, Store
from kapy.kube import Document
from kapy.kube.packed_json import Packer
from kapy.providers.inmemory.workload.cluster import WorkloadCluster
from kapy.remote.cluster_accessor import ClusterAccessor

Row = dict[str, Any]
WARM_UP: Final = 5
SETTLING: Final = 15.0  # seconds; nothing tells that nothing is left to do
NEVER: Final = 1e9
DATA: Final = (
    dict,
    list,
    tuple,
    set,
    frozenset,
    deque,
    str,
    bytes,
    int,
    float,
    StoredObject,
    Struct,
)
CODE: Final = (type, ModuleType, FunctionType, CodeType)


class Heap:
    """Bytes by owner. An object belongs to the first owner that claims it."""

    def __init__(self) -> None:
        self.bytes: Counter[str] = Counter()
        self.seen: set[int] = set()

    def claim(self, owner: str, *roots: Any) -> None:
        """Add the data below some roots to an owner."""
        waiting = list(roots)
        while waiting:
            node = waiting.pop()
            if id(node) in self.seen or not isinstance(node, DATA) or isinstance(node, type):
                continue
            self._count(owner, node)
            waiting += gc.get_referents(node)

    def claim_rest(self) -> None:
        """Add each remaining object to its package."""
        mine = {id(self.bytes), id(self.seen), id(self.__dict__)}
        for node in gc.get_objects():
            if id(node) in self.seen or id(node) in mine or isinstance(node, CODE):
                continue
            package = ".".join(str(type(node).__module__).split(".")[:2])
            owner = f"rest: {package}" if package.startswith(("kapy", "asyncio")) else "rest"
            self._count(owner, node)
            for below in gc.get_referents(node):
                if isinstance(below, str | bytes | int | float) and id(below) not in self.seen:
                    self._count(owner, below)

    def _count(self, owner: str, node: Any) -> None:
        self.seen.add(id(node))
        self.bytes[owner] += sys.getsizeof(node)


async def by_owner(number: int) -> list[Row]:
    """Profile the heap of so many clusters, when they are settled and when they are packed."""
    idle_packing.pack_idle_objects.__kwdefaults__ = {"interval": NEVER}
    shape = Shape(keys="ECDSA-P256")
    async with fleet() as herd:
        await herd.create(shape, [f"warm-{item}" for item in range(WARM_UP)])
        await asyncio.sleep(SETTLING)
        base = _profile(herd)
        with herd.costs.of() as cost:
            await herd.create(shape, names(number))
        await asyncio.sleep(SETTLING)
        settled = _row("settled", number, base, _profile(herd))
        with herd.costs.of() as packing:
            _pack(herd)
        packed = _row("packed", number, base, _profile(herd))
    settled["cpu_s_per_cluster"] = round(cost.cpu / number, 4)
    packed["packing_ms_per_cluster"] = round(1000 * packing.cpu / number, 2)
    return [settled, packed]


def _pack(herd: Fleet) -> None:
    packer = Packer()
    for _ in range(2):  # a pass packs what came before the one before it
        for part in (herd.plane.server.store.pack_idle, *herd.plane.runtime.packing):
            for _ in part(packer):
                pass


def _row(step: str, number: int, base: Counter[str], now: Counter[str]) -> Row:
    sizes = {owner: (size - base[owner]) / number / 1024 for owner, size in now.most_common()}
    return {
        "step": f"{number} clusters, {step}",
        "kib_per_cluster": round(sum(sizes.values()), 1),
        "by_owner": {owner: round(size, 1) for owner, size in sizes.items() if abs(size) >= 0.5},
    }


def _profile(herd: Fleet) -> Counter[str]:
    gc.collect()
    heap = Heap()
    _claim_server(heap, "API server", herd.plane.server.store.tables())
    heap.claim("API server: history", herd.plane.server.store.history._events)
    census: dict[type, list[Any]] = {}
    for node in gc.get_objects():
        census.setdefault(type(node), []).append(node)
    _claim_caches(heap, census)
    for cluster in census.get(WorkloadCluster, ()):
        store = cluster.server.store
        _claim_server(heap, "simulated cluster", store.tables())
        heap.claim("simulated cluster: history", store.history._events)
    for accessor in census.get(ClusterAccessor, ()):
        heap.claim("connection: kubeconfig", accessor.value)
    census.clear()
    heap.claim_rest()
    return heap.bytes


def _claim_server(heap: Heap, owner: str, tables: Iterable[Table]) -> None:
    for table in tables:
        for objects in table.namespaces.values():
            for stored in objects.values():
                heap.claim(f"{owner}: JSON", stored._kept)
                if stored.document is not None:
                    _claim_document(heap, owner, stored.document)
        heap.claim(f"{owner}: tables", table.namespaces, table._order, table.large)


def _claim_caches(heap: Heap, census: dict[type, list[Any]]) -> None:
    for store in census.get(Store, ()):
        for document in store.objects._decoded.values():
            _claim_document(heap, "informers", document)
        packed = store.objects._packed
        heap.claim("informers: packed documents", *packed.values())
        heap.claim("informers: keys", store.objects._decoded, packed, store.objects._idle._marked)
        heap.claim("informers: keys", store._order)
    for index in census.get(Index, ()):
        heap.claim("informers: indexes", index._keys)
    for informer in census.get(Informer, ()):
        heap.claim("informers: typed objects", informer._shared)
    for memo in census.get(StatusMemo, ()):
        heap.claim("controllers: status memos", memo._known)
    for cache in census.get(SSACache, ()):
        heap.claim("controllers: applies without effect", cache._unchanging._entries)
    for queue in census.get(Queue, ()):
        heap.claim("controllers: queues", queue._heap, queue._places, queue._dirty)


def _claim_document(heap: Heap, owner: str, document: Document) -> None:
    heap.claim(f"{owner}: managedFields", document["metadata"].get("managedFields"))
    status = document.get("status")
    if isinstance(status, dict):
        heap.claim(f"{owner}: conditions", *_conditions(status))
    heap.claim(f"{owner}: documents", document)


def _conditions(status: Document) -> Iterator[Any]:
    yield status.get("conditions")
    yield status.get("deprecated")
