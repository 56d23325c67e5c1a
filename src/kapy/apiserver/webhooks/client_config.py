"""The address of a webhook: a URL, or a Service that the server resolves by its objects.

There is no cluster network, so the server calls a ready endpoint instead of the ClusterIP, like
kube-apiserver with `--enable-aggregator-routing`. An ExternalName is called at the port that the
webhook names, like kube-apiserver without that flag.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from kapy.apiserver.store.store import Store
from kapy.kube import Document
from kapy.kube.errors import KapyError

Services: TypeAlias = (
    Mapping[tuple[str, str, int], str] | Callable[[tuple[str, str, int]], str | None]
)
"""Base URLs of Services by namespace, name and port: a map (port 0 matches any port), or a function
that returns None for an unknown Service.
"""

_HTTPS_PORT: Final = 443

_SLICES: Final = "endpointslices.discovery.k8s.io"
_OWNER: Final = "kubernetes.io/service-name"
_MIRRORED: Final = ("ClusterIP", "LoadBalancer", "NodePort")


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """The address of a webhook.

    url: the URL to call, "" for a Service. authority: trusted CA certificates in PEM, "" for those
    of the system.
    """

    url: str
    namespace: str = ""
    service: str = ""
    port: int = _HTTPS_PORT
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
            service.get("port") or _HTTPS_PORT,
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


class ServiceUnresolved(KapyError):
    """The Service cannot be resolved; the message is kube-apiserver's."""


class ServiceResolver:
    """A resolver that reads Services, EndpointSlices and Endpoints from the server's store."""

    __slots__ = ("_store",)

    def __init__(self, store: Store) -> None:
        self._store = store

    def resolve(self, namespace: str, name: str, port: int) -> str:
        """Return the base URL of a Service. Raises ServiceUnresolved."""
        service = self._get("services", namespace, name)
        if service is None:
            raise ServiceUnresolved(f'service "{name}" not found')
        spec = service.get("spec") or {}
        kind = spec.get("type") or "ClusterIP"
        if kind == "ExternalName":
            return _https(spec.get("externalName") or "", port)
        if kind not in _MIRRORED:
            raise ServiceUnresolved(f'unsupported service type "{kind}"')
        wanted = next((item for item in spec.get("ports") or () if item.get("port") == port), None)
        if wanted is None:
            raise ServiceUnresolved(f'no service port {port} found for service "{name}"')
        places = self._endpoints(namespace, name, wanted.get("name") or "")
        place = next(places, None)
        if place is None:
            raise ServiceUnresolved(f'no endpoints available for service "{name}"')
        return place

    def _get(self, table: str, namespace: str, name: str) -> Document | None:
        result = self._store.peek(table)
        return None if result is None else result.get(namespace, name)

    def _endpoints(self, namespace: str, name: str, port: str) -> Iterator[str]:
        """Yield the URLs of ready endpoints for the Service port with this name."""
        table = self._store.peek(_SLICES)
        for item in table.scan(namespace) if table is not None else ():
            if (item["metadata"].get("labels") or {}).get(_OWNER) == name:
                yield from _of_slice(item, port)
        # kube-controller-manager would mirror these into an EndpointSlice.
        for subset in (self._get("endpoints", namespace, name) or {}).get("subsets") or ():
            numbers = _ports(subset, port)
            for address in subset.get("addresses") or ():
                yield from (_https(address.get("ip") or "", number) for number in numbers)


def _of_slice(document: Document, port: str) -> Iterator[str]:
    numbers = _ports(document, port)
    for endpoint in document.get("endpoints") or ():
        if (endpoint.get("conditions") or {}).get("ready") is False:
            continue
        for address in (endpoint.get("addresses") or ())[:1]:
            yield from (_https(address, number) for number in numbers)


def _ports(document: Document, name: str) -> list[Any]:
    """Return the numbers of the ports with this name in an EndpointSlice or a subset of
    Endpoints.
    """
    ports = document.get("ports") or ()
    return [port["port"] for port in ports if (port.get("name") or "") == name and port.get("port")]


def _https(host: str, port: int) -> str:
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
