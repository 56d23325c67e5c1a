"""Addresses of the Services in front of runtime extensions."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from kapy.apiserver.webhooks.client_config import ServiceResolver, ServiceUnresolved


class ServiceAddresses:
    """Looks up addresses of Services: those that the plane was given, else those in the plane's
    EndpointSlices.
    """

    def __init__(self, addresses: Mapping[tuple[str, str, int], str]) -> None:
        self._told = addresses
        self.lookup: ServiceResolver | None = None

    def __call__(self, service: tuple[str, str, int]) -> str | None:
        namespace, name, port = service
        result = self._told.get(service) or self._told.get((namespace, name, 0))
        if result is None and self.lookup is not None:
            with suppress(ServiceUnresolved):
                return self.lookup.resolve(namespace, name, port)
        return result
