"""Computes plans: plans of files for `kapy plan`, and plans of forms for the fleet page."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from kapy.kube import Document
from kapy.kube.errors import KapyError, TooManyRequests
from kapy.kube.http import Reply, Request, Transport

if TYPE_CHECKING:
    from kapy.apps.plan.changes import RequestedChange
    from kapy.apps.plan.planned import Plan, PlanSource
    from kapy.client.client import Client

MOST_PLANS: Final = 2
"""Plans that a server of pages computes at a time: each takes a thread and a copy of clusters."""
MOST_OBJECTS: Final = 1000
"""Objects of a form: a page of more is of no use, and takes the memory of a plane."""
ANSWER_SECONDS: Final = 60.0
"""The maximum wait of a plan for one response of the API server."""


def plan_on_virtual_time(
    world: PlanSource, requested: Sequence[RequestedChange], *, quiet: bool = False
) -> Plan:
    """Compute a plan; waits of the controllers take no real time.

    quiet: suppress the log messages of the controllers; the plan reports the problems. Raises
    KapyError.
    """
    from kapy._aio.clock import loop_clock, system_clock
    from kapy.apps.plan.planned import compute_plan
    from kapy.apps.settings import EMBEDDED_GATES
    from kapy.testing.virtual_time import VirtualTimeLoop

    async def main() -> Plan:
        clock = loop_clock(system_clock())
        return await compute_plan(world, requested, clock=clock, gates=EMBEDDED_GATES)

    loop, before = VirtualTimeLoop(), logging.root.manager.disable
    if quiet:
        logging.disable(logging.CRITICAL)
    try:
        return loop.run_until_complete(main())
    finally:
        if quiet:
            logging.disable(before)
        loop.close()


def with_namespace(document: Document, namespace: str) -> Document:
    """Return the object with a namespace; cluster-scoped kinds ignore it."""
    if document["metadata"].get("namespace") or document["kind"] in _CLUSTER_SCOPED:
        return document
    return {**document, "metadata": {**document["metadata"], "namespace": namespace}}


_CLUSTER_SCOPED: Final = ("CustomResourceDefinition", "Namespace")


class PagePlanner:
    """Computes plans on threads, so that the event loop stays free (a `kapy.ui.page.Planner`)."""

    def __init__(self) -> None:
        self._running = 0

    async def __call__(
        self, client: Client, objects: str | Sequence[Document], namespace: str, *, deletes: bool
    ) -> tuple[Document, str]:
        """Return the plan as `kapy plan` prints it: as a document and as text.

        objects: YAML, or documents. Raises KapyError.
        """
        if self._running >= MOST_PLANS:
            raise TooManyRequests(f"{MOST_PLANS} plans are being computed; try again in a moment")
        self._running += 1
        try:
            bridge = _bridge(client, asyncio.get_running_loop())
            return await asyncio.to_thread(_plan, bridge, objects, namespace, deletes=deletes)
        finally:
            self._running -= 1


def _plan(
    client: Client, objects: str | Sequence[Document], namespace: str, *, deletes: bool
) -> tuple[Document, str]:
    from kapy.apps.manifests import read_manifests
    from kapy.apps.plan.changes import RequestedChange
    from kapy.apps.plan.plan_sources import ClusterSource
    from kapy.apps.plan.report import as_document, as_text

    documents = read_manifests(objects, "the form") if isinstance(objects, str) else objects
    if len(documents) > MOST_OBJECTS:
        raise KapyError(
            f"the form holds {len(documents)} objects, and a page plans {MOST_OBJECTS} at most: "
            "use `kapy plan -f FILE`"
        )
    requested = [
        RequestedChange(with_namespace(item, namespace), deletes=deletes) for item in documents
    ]
    plan = plan_on_virtual_time(ClusterSource(client), requested)
    return as_document(plan), as_text(plan)


def _bridge(client: Client, loop: asyncio.AbstractEventLoop) -> Client:
    """Return a client for another thread. The event loop of the given client sends its requests."""
    from kapy.client.client import Client as Asking

    transport: Transport = client.transport

    async def send(request: Request) -> Reply:
        async def ask() -> Reply:
            return await transport(request)

        # The plan's event loop stands still during the request, so it takes no virtual time.
        future: Any = asyncio.run_coroutine_threadsafe(ask(), loop)
        try:
            answer: Reply = future.result(ANSWER_SECONDS)
        except TimeoutError:
            future.cancel()
            raise KapyError(f"the API server did not answer within {ANSWER_SECONDS:g} s") from None
        return answer

    send.over_network = True  # type: ignore[attr-defined]
    return Asking(send, field_manager=client.field_manager)
