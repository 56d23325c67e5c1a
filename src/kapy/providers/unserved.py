"""Kinds that nobody serves here: said in a condition, so that nobody waits without knowing why.

Only Ready is written, in the form of both versions, and only where there is none: whoever serves
the kind beside kapy, as upstream's Docker provider does, has the last word, and is not touched
again. No finalizer is set, so that deletion waits for nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from kapy.api.dev_cluster import DevCluster
from kapy.api.dev_machine import DevMachine
from kapy.api.dev_machine_pool import DevMachinePool
from kapy.api.docker_cluster import DockerCluster
from kapy.api.docker_machine import DockerMachine
from kapy.api.docker_machine_pool import DockerMachinePool
from kapy.api.names import Annotation, ConditionType
from kapy.kube import Document, Key
from kapy.kube.errors import Conflict, NotFound
from kapy.kube.meta import Object, read
from kapy.kube.model import encode
from kapy.providers.inmemory.backend import is_in_memory
from kapy.sdk import DONE, Change, Controller, Result, Runtime, conditions, v1beta1

NOT_SERVED: Final = "NotServed"
"""Reason of the Ready condition of an object that nobody serves."""


class _Unserved(NamedTuple):
    """A kind, which of its objects are meant, and what to tell: what to use in their stead."""

    kind: type[Object]
    why: str
    applies: Callable[[Document], bool] = lambda _: True


def _docker_backend(document: Document) -> bool:
    return not is_in_memory(document)


_NOBODY: Final = "No controller of this management plane serves"
_KINDS: Final = (
    _Unserved(
        DevCluster,
        f"{_NOBODY} spec.backend.docker; use spec.backend.inMemory",
        _docker_backend,
    ),
    _Unserved(
        DevMachine,
        f"{_NOBODY} spec.backend.docker; use spec.backend.inMemory",
        _docker_backend,
    ),
    _Unserved(
        DockerCluster, f"{_NOBODY} DockerClusters; use a DevCluster with spec.backend.inMemory"
    ),
    _Unserved(
        DockerMachine, f"{_NOBODY} DockerMachines; use DevMachines with spec.backend.inMemory"
    ),
    _Unserved(
        DockerMachinePool,
        f"{_NOBODY} DockerMachinePools; use a DevMachinePool with spec.backend.inMemory",
    ),
    _Unserved(
        DevMachinePool,
        f"{_NOBODY} spec.backend.docker; use spec.backend.inMemory",
        _docker_backend,
    ),
)


def add_to(runtime: Runtime) -> list[Controller]:
    """Tell of objects of all such kinds that they are not served."""
    return [_added(runtime, one) for one in _KINDS]


def _added(runtime: Runtime, unserved: _Unserved) -> Controller:
    resource = unserved.kind.RESOURCE
    informer = runtime.cache.informer(resource)

    def concerned(document: Document | None) -> bool:
        return document is not None and unserved.applies(document) and _untold(document)

    def changed(change: Change) -> Iterable[Key]:
        return (Key.of(change.document),) if concerned(change.new) else ()

    async def tell(key: Key) -> Result:
        document = informer.raw(key)
        if document is not None and concerned(document):
            await _tell(runtime, unserved, document)
        return DONE

    controller = Controller(f"unserved-{resource.kind.lower()}", tell, concurrency=1)
    controller.watch(informer, changed)
    return runtime.add(controller, informer)


def _untold(document: Document) -> bool:
    metadata = document["metadata"]
    others = {Annotation.PAUSED, Annotation.MANAGED_BY} & set(metadata.get("annotations") or ())
    reported = (document.get("status") or {}).get("conditions") or []
    ready = any(one["type"] == ConditionType.READY for one in reported)
    return not (ready or others or "deletionTimestamp" in metadata)


async def _tell(runtime: Runtime, unserved: _Unserved, document: Document) -> None:
    obj: Any = read(document, unserved.kind)
    now = runtime.clock()
    ready = ConditionType.READY
    conditions.set_condition(obj, conditions.false(ready, NOT_SERVED, unserved.why), now)
    if "deprecated" in obj.status.__struct_fields__:
        old = v1beta1.false(ready, NOT_SERVED, v1beta1.ERROR, unserved.why)
        v1beta1.set_condition(v1beta1.conditions_of(obj), old, now)
    version = {"resourceVersion": document["metadata"]["resourceVersion"]}
    patch = {"metadata": version, "status": encode(obj.status)}
    try:
        await runtime.client.patch(obj.RESOURCE, obj.key, patch, subresource="status")
    except (Conflict, NotFound):
        return  # somebody was quicker; what they wrote comes, and is looked at
