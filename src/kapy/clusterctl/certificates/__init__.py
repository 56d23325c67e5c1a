"""Certificates for providers' webhooks, from cert-manager or from a CA of kapy.

A components file requests them as cert-manager objects (Certificate, Issuer) and marks the objects
that must trust the CA with `cert-manager.io/inject-ca-from`. Without cert-manager, kapy creates the
same Secrets (`own`) and fills in the same fields (`injection`).
"""

from __future__ import annotations

from typing import Final

from kapy.clusterctl.errors import ClusterctlError
from kapy.kube.names import Resource

GROUP: Final = "cert-manager.io"
CERTIFICATES: Final = Resource(GROUP, "v1", "certificates", "Certificate")
ISSUERS: Final = Resource(GROUP, "v1", "issuers", "Issuer")
CLUSTER_ISSUERS: Final = Resource(GROUP, "v1", "clusterissuers", "ClusterIssuer", namespaced=False)
INJECT_FROM_SECRET: Final = "cert-manager.io/inject-ca-from-secret"


class CertificateError(ClusterctlError):
    """A provider's certificates cannot be issued in the chosen way."""
