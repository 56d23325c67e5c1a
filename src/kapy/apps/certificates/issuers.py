"""The signer of a Certificate, and whether an Issuer is ready. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from kapy.clusterctl.certificates.issuing import value
from kapy.kube import Document, Key
from kapy.kube.pki import InvalidPem, KeyPair, is_authority, is_matching_pair

CLUSTER_NAMESPACE: Final = "cert-manager"
"""The namespace of the Secrets that ClusterIssuers name, as in cert-manager."""
Secrets = Callable[[Key], Document | None]


class NotReady(Exception):
    """An Issuer cannot sign. reason: the reason of its condition."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class Signer:
    """A CA that signs the certificates of an Issuer. secret: the namespace and name of the Secret
    of the CA. pair: the key pair of the CA, None if it is created on first use. bundle: the CA
    bundle.
    """

    secret: Key
    pair: KeyPair | None
    bundle: bytes = b""


def check_issuer(issuer: Document) -> tuple[str, str]:
    """Return the condition's reason and message for an Issuer that needs no Secret, ("", "") if it
    needs one.

    Raises NotReady for an issuer type that a plane does not support.
    """
    spec: Mapping[str, object] = issuer.get("spec") or {}
    if "selfSigned" in spec:
        return "IsReady", ""
    if "ca" in spec:
        return "", ""
    kinds = ", ".join(sorted(spec)) or "none"
    raise NotReady(
        "UnsupportedIssuer",
        f"this plane issues from issuers of the types selfSigned and ca, and this one is of "
        f"{kinds}; install cert-manager (`kapy init --certificates cert-manager`) for others",
    )


def secret_of(issuer: Document) -> Key:
    """Return the Secret of a CA Issuer."""
    namespace = issuer["metadata"].get("namespace") or CLUSTER_NAMESPACE
    return Key(namespace, str((issuer["spec"]["ca"] or {}).get("secretName", "")))


def signer_of(issuer: Document, namespace: str, secrets: Secrets) -> Signer:
    """Return the signer for the Certificates of a namespace that refer to an Issuer. Raises
    NotReady.
    """
    reason, _ = check_issuer(issuer)
    if reason:
        place = Key(namespace, f"{issuer['metadata']['name']}-kapy")
        held = secrets(place)
        if held is None:
            return Signer(place, None)
        return Signer(place, *_pair_of(place, held))
    place = secret_of(issuer)
    held = secrets(place)
    if held is None:
        raise NotReady(
            "ErrGetKeyPair",
            f"Error getting keypair for CA issuer: the Secret {place} does not exist",
        )
    return Signer(place, *_pair_of(place, held))


def _pair_of(place: Key, secret: Document) -> tuple[KeyPair, bytes]:
    certificate, key = value(secret, "tls.crt"), value(secret, "tls.key")
    try:
        good = is_matching_pair(KeyPair(certificate, key))
        signs = is_authority(certificate)
    except InvalidPem as error:
        raise NotReady(
            "ErrInvalidKeyPair", f"Error getting keypair for CA issuer: Secret {place}: {error}"
        ) from None
    if not good:
        raise NotReady(
            "ErrInvalidKeyPair",
            f"Error getting keypair for CA issuer: in the Secret {place} tls.key does not belong "
            "to tls.crt",
        )
    if not signs:
        raise NotReady(
            "ErrInvalidKeyPair",
            f"Error getting keypair for CA issuer: the certificate in the Secret {place} is not of "
            "an authority (isCA)",
        )
    return KeyPair(certificate, key), certificate + value(secret, "previous.crt")
