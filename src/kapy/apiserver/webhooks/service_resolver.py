"""Resolution of a webhook's Service by the objects in the store, if no URL is configured.

There is no cluster network, so the server calls a ready endpoint instead of the ClusterIP, like
kube-apiserver with `--enable-aggregator-routing`. An ExternalName is called at the port that the
webhook names, like kube-apiserver without that flag.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kapy.apiserver.store.store import Store
from kapy.kube import Document
from kapy.kube.errors import KapyError

_SLICES: Final = "endpointslices.discovery.k8s.io"
_OWNER: Final = "kubernetes.io/service-name"
_MIRRORED: Final = ("ClusterIP", "LoadBalancer", "NodePort")


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
