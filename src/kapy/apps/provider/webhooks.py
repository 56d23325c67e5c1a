"""What a provider's webhooks need in a cluster: a Service, a certificate, configurations.

In the form that clusterctl takes for granted: cert-manager makes the certificate and puts its
authority where it belongs. `kapy init` does both itself where there is no cert-manager.
"""

from __future__ import annotations

from typing import Final

from kapy.apps.components.objects import object_of
from kapy.apps.components.serving import client_of, secret_of, service_of, webhook_service
from kapy.kube import Document
from kapy.sdk.admission import Rulebook
from kapy.sdk.admission_configurations import webhook_configurations

CERTIFICATES: Final = "cert"
SERVING: Final = "/tmp/k8s-webhook-server/serving-certs"
"""Where managers find their certificate."""
_CERT_MANAGER: Final = "cert-manager.io/v1"
_INJECT: Final = "cert-manager.io/inject-ca-from"


def trusting(document: Document, prefix: str, namespace: str) -> Document:
    """An object into which cert-manager puts whom to trust for the webhooks."""
    annotations = {_INJECT: f"{namespace}/{_serving(prefix)}"}
    return {**document, "metadata": {**document["metadata"], "annotations": annotations}}


def webhooks_of(
    rules: Rulebook, prefix: str, namespace: str, selector: dict[str, str]
) -> list[Document]:
    """The objects. selector: of the pods that answer."""
    service, issuer, serving = service_of(prefix), f"{prefix}-selfsigned-issuer", _serving(prefix)
    host = f"{service}.{namespace}.svc"
    configurations = webhook_configurations(
        rules, f"{prefix}-webhook-configuration", client_of(prefix, namespace)
    )
    certificate = {
        "dnsNames": [host, f"{host}.cluster.local"],
        "issuerRef": {"kind": "Issuer", "name": issuer},
        "secretName": secret_of(prefix),
    }
    return [
        webhook_service(prefix, namespace, selector),
        object_of(_CERT_MANAGER, "Issuer", issuer, namespace, spec={"selfSigned": {}}),
        object_of(_CERT_MANAGER, "Certificate", serving, namespace, spec=certificate),
        *(trusting(one, prefix, namespace) for one in configurations),
    ]


def _serving(prefix: str) -> str:
    return f"{prefix}-serving-cert"
