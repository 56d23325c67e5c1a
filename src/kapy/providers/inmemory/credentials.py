"""Authenticates the client certificate of a kubeconfig against the cluster's CA.

In-process connections have no TLS, so this module makes the same checks: both sides trust the same
CA, the CA signed the certificate, it is valid now, and the caller has its key.
"""

from __future__ import annotations

from datetime import datetime

from kapy.apiserver.auth.authentication import authenticated_user
from kapy.kube.errors import Unauthorized, Unreachable
from kapy.kube.http import ANONYMOUS, User
from kapy.kube.pki import InvalidPem, KeyPair, facts, is_matching_pair, load
from kapy.remote.cluster_cache import Kubeconfig


def user_of(kubeconfig: Kubeconfig, authority: KeyPair, now: datetime) -> User:
    """Return the user in the kubeconfig's certificate.

    Raises Unreachable if the two sides do not trust each other (TLS would fail) and Unauthorized if
    the certificate has expired.
    """
    try:
        return _check(kubeconfig, authority, now)
    except InvalidPem as error:
        raise Unreachable(f"TLS with {kubeconfig.server} fails: {error}") from None


def _check(kubeconfig: Kubeconfig, authority: KeyPair, now: datetime) -> User:
    from cryptography.exceptions import InvalidSignature

    ca = load(authority.certificate)
    if not kubeconfig.insecure and load(kubeconfig.certificate_authority) != ca:
        raise Unreachable(f"TLS with {kubeconfig.server} fails: the server is signed by another CA")
    if not kubeconfig.client_certificate:
        return ANONYMOUS
    client = load(kubeconfig.client_certificate)
    try:
        client.verify_directly_issued_by(ca)
    except (InvalidSignature, ValueError, TypeError):
        raise Unreachable(
            f"TLS with {kubeconfig.server} fails: the client certificate is signed by another CA"
        ) from None
    if not is_matching_pair(KeyPair(kubeconfig.client_certificate, kubeconfig.client_key)):
        raise Unreachable(f"TLS with {kubeconfig.server} fails: the client's key is another one")
    result = facts(kubeconfig.client_certificate)
    if not result.not_before <= now <= result.not_after:
        raise Unauthorized("Unauthorized")
    return authenticated_user(result.common_name, result.organizations)
