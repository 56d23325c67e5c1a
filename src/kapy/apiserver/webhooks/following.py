"""Keep a server's webhooks in sync with the configurations in its store.

To save memory, the rest of this package is imported only with the first configuration or
conversion.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING

from kapy.apiserver.metadata import new_uid
from kapy.apiserver.plane import Plane
from kapy.apiserver.resources.custom import DEFINITIONS
from kapy.apiserver.store.history import Happening
from kapy.kube import Document
from kapy.kube.names import Resource

if TYPE_CHECKING:
    from kapy.apiserver.webhooks.calls import Calls
    from kapy.apiserver.webhooks.clients import Services

_SUFFIX = "webhookconfigurations.admissionregistration.k8s.io"
_MUTATING, _VALIDATING = f"mutating{_SUFFIX}", f"validating{_SUFFIX}"
_WATCHED = frozenset((_MUTATING, _VALIDATING, DEFINITIONS))


class Following:
    """The webhooks of one server, updated when configurations change."""

    __slots__ = ("_calls", "_in_process", "_plane", "_services", "_serving")

    def __init__(self, plane: Plane, services: Services | None) -> None:
        self._plane = plane
        self._services = services
        self._in_process = plane.admission
        self._calls: Calls | None = None
        self._serving = False
        self._renew()
        plane.following = self
        plane.store.listeners.append(self._noticed)

    def serve(self) -> None:
        """Keep connections open from now on, until `aclose`."""
        self._serving = True
        if self._calls is not None:
            self._calls.open()

    async def aclose(self) -> None:
        """Close all connections, and stop keeping new ones."""
        self._serving = False
        if self._calls is not None:
            await self._calls.aclose()

    async def convert(
        self,
        conversion: Document,
        documents: Sequence[Document],
        source: Resource,
        target: Resource,
    ) -> list[Document]:
        """Convert objects by the conversion webhook of a resource. Raises ApiError."""
        from kapy.apiserver.webhooks.conversion import WebhookFailed, converted

        began, failure = perf_counter(), ""
        try:
            uid = new_uid(self._plane.rng)
            wanted = target.api_version
            return await converted(self._client(), conversion, documents, wanted, uid)
        except WebhookFailed as error:
            failure = error.kind
            raise
        finally:
            versions = source.version, target.version
            self._plane.traffic.hooks.converted(
                source.group_resource, versions, perf_counter() - began, failure
            )

    def _noticed(self, one: Happening) -> None:
        if one.table not in _WATCHED:
            return
        if one.table != DEFINITIONS:
            self._renew()
        else:
            self._plane.handled.clear()  # kinds, or versions named by rules, may have changed

    def _renew(self) -> None:
        plane = self._plane
        mutating, validating = self._configurations(_MUTATING), self._configurations(_VALIDATING)
        plane.handled.clear()
        plane.webhooks = bool(mutating or validating)
        plane.admission = self._in_process
        if plane.webhooks:
            from kapy.apiserver.webhooks.admission import Webhooks
            from kapy.apiserver.webhooks.configuration import hooks_of

            hooks = hooks_of(mutating, "mutating"), hooks_of(validating, "validating")
            plane.admission = (*self._in_process, Webhooks(plane, self._client(), *hooks))

    def _configurations(self, name: str) -> list[Document]:
        table = self._plane.store.peek(name)
        return [] if table is None else list(table.scan(""))

    def _client(self) -> Calls:
        if self._calls is None:
            from kapy.apiserver.webhooks.calls import Calls
            from kapy.apiserver.webhooks.service_lookup import ServiceLookup

            self._calls = Calls(self._services, ServiceLookup(self._plane.store))
            if self._serving:
                self._calls.open()
        return self._calls
