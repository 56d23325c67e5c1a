"""Where a webhook is: a URL of its own, or a service that the server is told the place of."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from kapy.kube import Document

Services: TypeAlias = (
    Mapping[tuple[str, str, int], str] | Callable[[tuple[str, str, int]], str | None]
)
"""The base URL of a service by namespace, name and port: a map (port 0 there: any port), or a
function that may say None."""

HTTPS_PORT = 443


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """url: what is asked, or "" for a service. authority: PEM certificates that are trusted, ""
    for those that the system trusts."""

    url: str
    namespace: str = ""
    service: str = ""
    port: int = HTTPS_PORT
    path: str = ""
    authority: str = ""

    @classmethod
    def of(cls, document: Document) -> ClientConfig:
        """The `clientConfig` of a webhook or a conversion."""
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
        """The name that a service's certificate must have, "" for a URL."""
        return f"{self.service}.{self.namespace}.svc" if self.service else ""

    @property
    def shown(self) -> str:
        """The URL as messages tell it."""
        return self.url or f"https://{self.host}:{self.port}{self.path}"

    def resolved(self, services: Services | None) -> str:
        """The URL to ask, "" when nobody knows the service."""
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
