"""The names of the objects that serve a provider's webhooks."""

from __future__ import annotations

from typing import Final

from kapy.apps.components.objects import object_of
from kapy.kube import Document

PORT: Final = 9443
SERVER: Final = "webhook-server"


def service_of(prefix: str) -> str:
    """Return the name of the Service that API servers call."""
    return f"{prefix}-webhook-service"


def secret_of(prefix: str) -> str:
    """Return the name of the Secret with the certificate."""
    return certificate_of(service_of(prefix))


def certificate_of(service: str) -> str:
    """Return the Secret with the certificate of a Service."""
    return f"{service}-cert"


def client_config(prefix: str, namespace: str) -> Document:
    """Return the `clientConfig` by which a server reaches the webhooks, without a path."""
    return {"service": {"name": service_of(prefix), "namespace": namespace}}


def webhook_service(prefix: str, namespace: str, selector: dict[str, str]) -> Document:
    """Return the Service of a program's webhooks. selector: the labels of the Pods behind the
    Service.
    """
    spec = {"ports": [{"port": 443, "targetPort": SERVER}], "selector": dict(selector)}
    return object_of("v1", "Service", service_of(prefix), namespace, spec=spec)
