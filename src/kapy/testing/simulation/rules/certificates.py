"""Simulation rules about certificates: they are renewed before they expire."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from cryptography import x509

from kapy.api.times import moment
from kapy.client.kubeconfig import parse
from kapy.kube import Document
from kapy.testing.simulation.rules.rule import Rule, RuleContext, is_deleting
from kapy.testing.simulation.user import is_control_plane

SERVER_MINIMUM: Final = timedelta(days=20)
"""At the end of a scenario, each API server's certificate is valid for at least this time."""
CLIENT_MINIMUM: Final = timedelta(days=180)
"""At the end of a scenario, each client certificate is valid for at least this time: certificates
are issued for a year and renewed at half of their life."""


def client_certificate(secret: Document) -> x509.Certificate:
    """Return the client certificate of a kubeconfig Secret."""
    access = parse(b64decode(secret["data"]["value"]), "the Secret")
    return x509.load_pem_x509_certificates(access.client_certificate)[0]


def _certificates(context: RuleContext) -> Iterator[str]:
    now = context.world.clock()
    for cluster in context.view.all("Cluster"):
        name = f"{cluster['metadata']['name']}-kubeconfig"
        secret = context.view.get("Secret", name)
        if secret is None or is_deleting(cluster):
            continue
        remaining = client_certificate(secret).not_valid_after_utc - now
        if remaining < CLIENT_MINIMUM:
            yield f"the certificate in Secret {name} expires in {remaining.days} days"
    for machine in context.view.all("Machine"):
        expiry = (machine.get("status") or {}).get("certificatesExpiryDate")
        if not expiry or is_deleting(machine) or not is_control_plane(machine):
            continue
        remaining = moment(expiry) - now
        if remaining < SERVER_MINIMUM:
            name = machine["metadata"]["name"]
            yield f"the API server's certificate of Machine {name} expires in {remaining.days} days"


CERTIFICATE_RULES: Final = (
    Rule("certificates", "Certificates are renewed in time.", final=_certificates),
)
