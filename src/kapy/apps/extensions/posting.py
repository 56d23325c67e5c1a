"""The HTTPS transport to runtime extensions, from a program's settings."""

from __future__ import annotations

from kapy.apiserver.webhooks.clients import Services
from kapy.apps.settings import ExtensionCalls
from kapy.hooks.https import ClientCertificate, HttpsTransport


def https(told: ExtensionCalls, services: Services | None = None) -> HttpsTransport:
    """The HTTPS transport.

    services: base URLs of the extensions' Services, for a program that cannot resolve Service
    names; None for a program in a cluster.
    """
    own = None
    if told.certificate is not None and told.key is not None:
        own = ClientCertificate(told.certificate, told.key)
    return HttpsTransport(services, own)
