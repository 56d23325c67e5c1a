"""Lists the certificates that kapy's own CAs issued in a management cluster."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from kapy.client.client import Client
from kapy.clusterctl.certificates.issuing import CERTIFICATE_MARK, is_good, stored_request, value
from kapy.clusterctl.components import PROVIDER_LABEL
from kapy.kube import Key
from kapy.kube.names import SECRETS
from kapy.kube.pki import facts


@dataclass(frozen=True)
class CertificateRecord:
    """A certificate that kapy issued. secret: the namespace and name of its Secret. due: whether
    the next renewal reissues it.
    """

    provider: str
    secret: Key
    is_authority: bool
    ends: datetime
    due: bool


async def certificates_in(client: Client, *, now: datetime) -> list[CertificateRecord]:
    """Return all certificates that kapy issued, by Secret. Raises ApiErrors, InvalidPem."""
    certificates = []
    for secret in (await client.list(SECRETS, labels=CERTIFICATE_MARK)).items:
        certificate = value(secret, "tls.crt")
        request = stored_request(secret)
        certificates.append(
            CertificateRecord(
                secret["metadata"]["labels"].get(PROVIDER_LABEL, ""),
                Key.of(secret),
                request is None or request.is_authority,
                facts(certificate).not_after,
                not is_good(certificate, now),
            )
        )
    return certificates
