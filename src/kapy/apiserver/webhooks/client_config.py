"""The address of a webhook: a URL, or a Service that the server resolves."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from kapy.kube import Document

Services: TypeAlias = (
    Mapping[tuple[str, str, int], str] | Callable[[tuple[str, str, int]], str | None]
)
"""Base URLs of Services by namespace, name and port: a map (port 0 matches any port), or a function
that returns None for an unknown Service.
"""

HTTPS_PORT = 443


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """The address of a webhook.

    url: the URL to call, "" for a Service. authority: trusted CA certificates in PEM, "" for those
    of the system.
    """

    url: str
    namespace: str = ""
    service: str = ""
    port: int = HTTPS_PORT
    path: str = ""
    authority: str = ""

    @classmethod
    def from_document(cls, document: Document) -> ClientConfig:
        """Return the `clientConfig` of a webhook or a conversion."""
        bundle = document.get("caBundle") or ""
        authority = base64.b64decode(bundle).decode(errors="replace") if bundle else ""
        service = document.get("service")
        if service is None:
            return cls(document["url"], authority=authority)
        path = service.get("path") or ""
        return cls(
            "",
            service["namespace"],
            service["name"],
            service.get("port") or HTTPS_PORT,
            path if path.startswith("/") or not path else f"/{path}",
            authority,
        )

    @property
    def host(self) -> str:
        """Return the host name that a Service's certificate must have, "" for a URL."""
        return f"{self.service}.{self.namespace}.svc" if self.service else ""

    @property
    def display_url(self) -> str:
        """Return the URL for messages."""
        return self.url or f"https://{self.host}:{self.port}{self.path}"

    def resolve_url(self, services: Services | None) -> str:
        """Return the URL to call, "" if the Service is unknown."""
        if self.url:
            return self.url
        key = (self.namespace, self.service, self.port)
        if services is None:
            return ""
        if callable(services):
            base = services(key)
        else:
            base = services.get(key) or services.get((self.namespace, self.service, 0))
        return f"{base.rstrip('/')}{self.path}" if base else ""
