"""The way to runtime extensions over HTTPS, as a program was told to go it."""

from __future__ import annotations

from kapy.apiserver.webhooks.clients import Services
from kapy.apps.settings import ExtensionCalls
from kapy.hooks.https import ClientCertificate, HttpsTransport


def https(told: ExtensionCalls, services: Services | None = None) -> HttpsTransport:
    """services: base URLs of the Services that extensions are behind, for a program to which their
    names say nothing; None for one in a cluster, where they resolve."""
    own = None
    if told.certificate is not None and told.key is not None:
        own = ClientCertificate(told.certificate, told.key)
    return HttpsTransport(services, own)
