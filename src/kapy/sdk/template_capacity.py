"""The capacity of a template's machines (contract: InfraMachineTemplate, autoscaling from zero).

    add_template_capacity(runtime, RaftMachineTemplate.RESOURCE, capacity, serves=is_mine)

`capacity` is called once for each template, since the spec of a template does not change. The
result is written to `status.capacity`, where the cluster autoscaler reads it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TypeAlias

from kapy.engine.cache import Change
from kapy.engine.controller import Controller
from kapy.engine.result import DONE, Result
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.names import Resource

__all__ = ["add_template_capacity"]

Capacity: TypeAlias = Callable[[Document], Awaitable[Mapping[str, str]]]
"""The resources of a machine of a template, as quantities by name (`cpu`, `memory` …)."""


def add_template_capacity(
    runtime: Runtime,
    resource: Resource,
    capacity: Capacity,
    *,
    serves: Callable[[Document], bool] = lambda _: True,
) -> Controller:
    """Report the capacity of templates; returns the controller. serves: selects the provider's
    templates.

    Errors of `capacity` are retried with back-off.
    """
    templates = runtime.cache.informer(resource)

    def of_template(change: Change) -> Iterable[Key]:
        if change.new is not None and serves(change.new) and not _has_capacity(change.new):
            yield Key.of(change.new)

    async def reconcile(key: Key) -> Result:
        document = templates.raw(key)
        if document is None or _has_capacity(document) or not serves(document):
            return DONE
        status = {"status": {"capacity": dict(await capacity(document))}}
        await runtime.client.patch(resource, key, status, subresource="status")
        return DONE

    controller = Controller(resource.kind.lower(), reconcile, requeue_on_own_writes=False)
    controller.watch(templates, of_template)
    runtime.declare_write(resource, "patch")
    return runtime.add(controller, templates)


def _has_capacity(document: Document) -> bool:
    return bool((document.get("status") or {}).get("capacity"))
