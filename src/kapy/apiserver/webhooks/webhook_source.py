"""Keep a server's webhooks in sync with the configurations in its store.

To save memory, the rest of this package is imported only with the first configuration or
conversion.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING

from kapy.apiserver.resources.custom import DEFINITIONS
from kapy.apiserver.resources.metadata import new_uid
from kapy.apiserver.store.watch_cache import WriteEvent
from kapy.apiserver.verbs.context import ServerContext
from kapy.kube import Document
from kapy.kube.names import Resource

if TYPE_CHECKING:
    from kapy.apiserver.webhooks.client_config import Services
    from kapy.apiserver.webhooks.webhook_client import WebhookClient

_SUFFIX = "webhookconfigurations.admissionregistration.k8s.io"
_MUTATING, _VALIDATING = f"mutating{_SUFFIX}", f"validating{_SUFFIX}"
_WATCHED = frozenset((_MUTATING, _VALIDATING, DEFINITIONS))


class WebhookSource:
    """The webhooks of one server, updated when configurations change."""

    __slots__ = ("_calls", "_in_process", "_server", "_services", "_serving")

    def __init__(self, server: ServerContext, services: Services | None) -> None:
        self._server = server
        self._services = services
        self._in_process = server.admission
        self._calls: WebhookClient | None = None
        self._serving = False
        self._reload()
        server.webhook_source = self
        server.store.listeners.append(self._on_write)

    def open(self) -> None:
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
        from kapy.apiserver.webhooks.conversion import ConversionWebhookFailed, convert_by_webhook

        began, failure = perf_counter(), ""
        try:
            uid = new_uid(self._server.rng)
            wanted = target.api_version
            return await convert_by_webhook(self._client(), conversion, documents, wanted, uid)
        except ConversionWebhookFailed as error:
            failure = error.kind
            raise
        finally:
            versions = source.version, target.version
            self._server.metrics.hooks.count_conversion(
                source.group_resource, versions, perf_counter() - began, failure
            )

    def _on_write(self, one: WriteEvent) -> None:
        if one.table not in _WATCHED:
            return
        if one.table != DEFINITIONS:
            self._reload()
        else:
            # kinds, or versions named by rules, may have changed
            self._server.plugins_by_resource.clear()

    def _reload(self) -> None:
        server = self._server
        mutating, validating = self._configurations(_MUTATING), self._configurations(_VALIDATING)
        server.plugins_by_resource.clear()
        server.has_webhooks = bool(mutating or validating)
        server.admission = self._in_process
        if server.has_webhooks:
            from kapy.apiserver.webhooks.admission import AdmissionWebhooks
            from kapy.apiserver.webhooks.configuration import parse_webhooks

            hooks = parse_webhooks(mutating, "mutating"), parse_webhooks(validating, "validating")
            server.admission = (
                *self._in_process,
                AdmissionWebhooks(server, self._client(), *hooks),
            )

    def _configurations(self, name: str) -> list[Document]:
        table = self._server.store.peek(name)
        return [] if table is None else list(table.scan(""))

    def _client(self) -> WebhookClient:
        if self._calls is None:
            from kapy.apiserver.webhooks.service_resolver import ServiceResolver
            from kapy.apiserver.webhooks.webhook_client import WebhookClient

            self._calls = WebhookClient(self._services, ServiceResolver(self._server.store))
            if self._serving:
                self._calls.open()
        return self._calls
