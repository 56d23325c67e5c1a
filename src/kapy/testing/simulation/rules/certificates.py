"""Rules about certificates: they are renewed before they expire."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from cryptography import x509

from kapy.api.times import moment
from kapy.client.kubeconfig import parse
from kapy.kube import Document
from kapy.testing.simulation.rules.rule import Rule, Scene, is_deleting
from kapy.testing.simulation.user import is_control_plane

LEAST: Final = timedelta(days=20)
"""How long the certificate of an API server is valid at least at the end of a scenario."""
LEAST_OF_CLIENTS: Final = timedelta(days=180)
"""How long a client certificate is: those for a year are renewed at half of their life."""


def client_certificate(secret: Document) -> x509.Certificate:
    """Return the client certificate of a kubeconfig Secret."""
    access = parse(b64decode(secret["data"]["value"]), "the Secret")
    return x509.load_pem_x509_certificates(access.client_certificate)[0]


def _certificates(scene: Scene) -> Iterator[str]:
    now = scene.world.clock()
    for cluster in scene.view.all("Cluster"):
        name = f"{cluster['metadata']['name']}-kubeconfig"
        secret = scene.view.get("Secret", name)
        if secret is None or is_deleting(cluster):
            continue
        left = client_certificate(secret).not_valid_after_utc - now
        if left < LEAST_OF_CLIENTS:
            yield f"the certificate in Secret {name} expires in {left.days} days"
    for machine in scene.view.all("Machine"):
        expiry = (machine.get("status") or {}).get("certificatesExpiryDate")
        if not expiry or is_deleting(machine) or not is_control_plane(machine):
            continue
        left = moment(expiry) - now
        if left < LEAST:
            name = machine["metadata"]["name"]
            yield f"the API server's certificate of Machine {name} expires in {left.days} days"


CERTIFICATE_RULES: Final = (
    Rule("certificates", "Certificates are renewed in time.", final=_certificates),
)
