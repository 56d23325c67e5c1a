"""Statuses of Certificates and Issuers in cert-manager's format. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from kapy.api.times import stamp
from kapy.kube import Document
from kapy.kube.pki import Facts

UP_TO_DATE: Final = ("Ready", "Certificate is up to date and has not expired")


def condition(
    document: Document, reason: str, message: str, now: datetime, *, ready: bool
) -> Document:
    """Return the condition Ready; its transition time is kept while its status is the same."""
    status = "True" if ready else "False"
    there: list[Document] = (document.get("status") or {}).get("conditions") or []
    current = next((item for item in there if item.get("type") == "Ready"), {})
    moved = current.get("lastTransitionTime") if current.get("status") == status else None
    result: Document = {
        "type": "Ready",
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": moved or stamp(now),
    }
    if document["metadata"].get("generation"):
        result["observedGeneration"] = document["metadata"]["generation"]
    return result


def issuer_status(
    issuer: Document, reason: str, message: str, now: datetime, *, ready: bool
) -> Document:
    """Return the status of an Issuer or a ClusterIssuer."""
    return {"conditions": [condition(issuer, reason, message, now, ready=ready)]}


def certificate_status(
    certificate: Document,
    reason_and_message: tuple[str, str],
    now: datetime,
    *,
    facts: Facts | None = None,
    renewal: datetime | None = None,
    issued: bool = False,
) -> Document:
    """Return the status of a Certificate.

    facts: the facts about the certificate in its Secret. renewal: the renewal time of a valid
    certificate. issued: whether the certificate was issued just now.
    """
    before = certificate.get("status") or {}
    revision = int(before.get("revision") or 0)
    ready = renewal is not None
    result: Document = {
        "conditions": [condition(certificate, *reason_and_message, now, ready=ready)]
    }
    if facts is not None:
        result["notBefore"], result["notAfter"] = stamp(facts.not_before), stamp(facts.not_after)
    if renewal is not None:
        result["renewalTime"] = stamp(renewal)
    if issued or (ready and not revision):
        revision += 1
    if revision:
        result["revision"] = revision
    return result
