"""The webhook client of one server, created at the first call.

Most servers have no webhooks and save the memory of an HTTP client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kapy.apiserver.store.store import Store
from kapy.apiserver.webhooks.client_config import Services

if TYPE_CHECKING:
    from kapy.apiserver.webhooks.webhook_client import WebhookClient


class LazyWebhookClient:
    """A webhook client that is created at the first call.

    services: the base URLs of webhook Services; other Services are looked up in the store.
    """

    __slots__ = ("_client", "_is_open", "_services", "_store")

    def __init__(self, store: Store, services: Services | None) -> None:
        self._store = store
        self._services = services
        self._client: WebhookClient | None = None
        self._is_open = False

    def open(self) -> None:
        """Keep connections open from now on, until `aclose`."""
        self._is_open = True
        if self._client is not None:
            self._client.open()

    async def aclose(self) -> None:
        """Close all connections, and stop keeping new ones."""
        self._is_open = False
        if self._client is not None:
            await self._client.aclose()

    def get(self) -> WebhookClient:
        """Return the client, which is created at the first call."""
        if self._client is None:
            from kapy.apiserver.webhooks.client_config import ServiceResolver
            from kapy.apiserver.webhooks.webhook_client import WebhookClient

            self._client = WebhookClient(self._services, ServiceResolver(self._store))
            if self._is_open:
                self._client.open()
        return self._client
