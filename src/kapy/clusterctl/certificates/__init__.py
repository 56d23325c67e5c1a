"""Certificates of providers' webhooks: from cert-manager, or from an authority of kapy's own.

A components file asks for them as cert-manager's objects (Certificate, Issuer) and marks with
`cert-manager.io/inject-ca-from` what has to trust them. Without cert-manager the same Secrets are
made here (`own`), and the same fields filled in (`injection`).
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
    """A provider's certificates cannot be had in the way that was chosen."""
