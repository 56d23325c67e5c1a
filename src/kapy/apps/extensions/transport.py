"""The HTTPS transport to runtime extensions, from a program's settings."""

from __future__ import annotations

from kapy.apiserver.webhooks.client_config import Services
from kapy.apps.settings import ExtensionCalls
from kapy.hooks.https import ClientCertificate, HttpsTransport


def https_transport(settings: ExtensionCalls, services: Services | None = None) -> HttpsTransport:
    """Return the HTTPS transport to runtime extensions.

    services: base URLs of the extensions' Services, for a program that cannot resolve Service
    names; None for a program in a cluster.
    """
    own = None
    if settings.certificate is not None and settings.key is not None:
        own = ClientCertificate(settings.certificate, settings.key)
    return HttpsTransport(services, own)
