"""The controllers of cert-manager's kinds on a plane."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Final

from kapy.apps.certificates import issuing, status
from kapy.apps.certificates.issuing import NotReady, Signer
from kapy.clusterctl.certificates import (
    CERTIFICATES,
    CLUSTER_ISSUERS,
    ISSUERS,
    CertificateError,
)
from kapy.clusterctl.certificates.cert_manager import of_plane
from kapy.clusterctl.certificates.requests import CertificateRequest, reference, request_of
from kapy.engine.cache import Change, Informer
from kapy.engine.controller import Controller
from kapy.engine.result import DONE, Result, requeue
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, Invalid, NotFound
from kapy.kube.names import CRDS, SECRETS, Resource

_DEFINITION: Final = Key("", CERTIFICATES.group_resource)
_SECRETS: Final = "secrets of certificates"
_READ_ERRORS: Final = (AttributeError, KeyError, TypeError, ValueError)
"""Errors of a field with another type than cert-manager's."""


class Certificates:
    """The cached objects that the controllers share."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        cache = runtime.cache
        self.certificates = cache.informer(CERTIFICATES)
        self.certificates.add_index(_SECRETS, _secrets_of)
        self.issuers: dict[str, Informer[Document]] = {
            "Issuer": cache.informer(ISSUERS),
            "ClusterIssuer": cache.informer(CLUSTER_ISSUERS),
        }
        self.secrets = cache.informer(SECRETS)
        self.definitions = cache.informer(CRDS)

    @property
    def is_idle(self) -> bool:
        """Whether cert-manager itself is installed and does the work."""
        definition = self.definitions.raw(_DEFINITION)
        return definition is None or not of_plane(definition)

    def issuer_of(self, certificate: Document) -> Document | None:
        """Return the Issuer or ClusterIssuer of a Certificate."""
        named = certificate["spec"]["issuerRef"]
        kind = named.get("kind") or "Issuer"
        namespace = certificate["metadata"]["namespace"] if kind == "Issuer" else ""
        informer = self.issuers.get(kind)
        result = None if informer is None else informer.raw(Key(namespace, str(named["name"])))
        return None if result is None else {"kind": kind, **result}

    # Mappers: the keys that a change concerns

    def certificates_of(self, secret: Key) -> list[Key]:
        """Return the Certificates that are stored in a Secret."""
        return list(self.certificates.keys_by_index(_SECRETS, str(secret)))

    def of_issuer(self, change: Change) -> Iterator[Key]:
        """The Certificates to reconcile after a change of an Issuer."""
        yield from self._certificates_of_issuers({change.document["metadata"]["name"]})

    def of_secret(self, change: Change) -> Iterator[Key]:
        """The Certificates to reconcile after a change of their Secret or their CA's Secret."""
        place = Key.of(change.document)
        yield from self.certificates_of(place)
        signs = {
            item["metadata"]["name"]
            for informer in self.issuers.values()
            for item in informer.list()
            if _signs_with(item, place)
        }
        yield from self._certificates_of_issuers(signs)

    def _certificates_of_issuers(self, names: set[str]) -> Iterator[Key]:
        if not names:
            return
        for item in self.certificates.list():
            if item["spec"]["issuerRef"].get("name") in names:
                yield Key.of(item)

    def issuers_of_secret(self, kind: str, change: Change) -> Iterator[Key]:
        """The CA Issuers to reconcile after a change of their Secret."""
        place = Key.of(change.document)
        for item in self.issuers[kind].list():
            if "ca" in item["spec"] and issuing.secret_of(item) == place:
                yield Key.of(item)


def _secrets_of(certificate: Document) -> Iterator[str]:
    """The Secret of a Certificate, as an index key."""
    yield str(Key(certificate["metadata"]["namespace"], certificate["spec"]["secretName"]))


def _signs_with(issuer: Document, place: Key) -> bool:
    if "ca" in issuer["spec"]:
        return issuing.secret_of(issuer) == place
    return place.name == f"{issuer['metadata']['name']}-kapy"


def add_certificates(runtime: Runtime) -> Certificates:
    """Add the controllers of Certificates and Issuers."""
    shared = Certificates(runtime)
    for kind, resource in (("Issuer", ISSUERS), ("ClusterIssuer", CLUSTER_ISSUERS)):
        informer = shared.issuers[kind]
        controller = Controller(
            resource.plural, partial(_reconcile_issuer, shared, resource, informer), concurrency=1
        )
        controller.watch(informer)
        controller.watch(shared.secrets, partial(shared.issuers_of_secret, kind))
        runtime.add(controller, informer)
    controller = Controller("certificates", partial(_reconcile_certificate, shared), concurrency=2)
    controller.watch(shared.certificates)
    for informer in shared.issuers.values():
        controller.watch(informer, shared.of_issuer)
    controller.watch(shared.secrets, shared.of_secret)
    runtime.add(controller, shared.certificates)
    return shared


async def _reconcile_issuer(
    shared: Certificates, resource: Resource, informer: Informer[Document], key: Key
) -> Result:
    """Report in the status whether an Issuer can sign."""
    issuer = informer.raw(key)
    if issuer is None or shared.is_idle:
        return DONE
    now = shared.runtime.clock()
    try:
        reason, message = issuing.check_issuer(issuer)
        if not reason:
            issuing.signer_of(issuer, key.namespace, shared.secrets.raw)
            reason, message = "KeyPairVerified", "Signing CA verified"
        new_status = status.issuer_status(issuer, reason, message, now, ready=True)
    except NotReady as error:
        new_status = status.issuer_status(issuer, error.reason, str(error), now, ready=False)
    await _write_status(shared, resource, issuer, new_status)
    return DONE


async def _reconcile_certificate(shared: Certificates, key: Key) -> Result:
    """Issue and renew one Certificate."""
    certificate = shared.certificates.raw(key)
    if certificate is None or shared.is_idle or "deletionTimestamp" in certificate["metadata"]:
        return DONE
    try:
        request, signer = _parse_request(shared, certificate)
        return await _issue(shared, certificate, request, signer)
    except NotReady as error:
        reason_and_message = error.reason, str(error)
    except (CertificateError, Invalid) as error:
        reason_and_message = "Failed", str(error)
    except _READ_ERRORS as error:
        reason_and_message = "Failed", f"the Certificate cannot be issued as it is: {error}"
    result = status.certificate_status(certificate, reason_and_message, shared.runtime.clock())
    await _write_status(shared, CERTIFICATES, certificate, result)
    return DONE


def _parse_request(
    shared: Certificates, certificate: Document
) -> tuple[CertificateRequest, Signer]:
    """Return the request of a Certificate, and its signer. Raises NotReady, CertificateError."""
    named = certificate["spec"]["issuerRef"]
    issuer = shared.issuer_of(certificate)
    if issuer is None:
        raise NotReady(
            "IssuerNotFound",
            f"Referenced {named.get('kind') or 'Issuer'} {named['name']!r} does not exist; "
            "it is issued as soon as that is there",
        )
    if fields := issuing.unsupported_fields(certificate):
        raise CertificateError(
            f"{', '.join(fields)} is not supported by this plane; leave it out, or install "
            "cert-manager"
        )
    namespace = certificate["metadata"]["namespace"]
    signer = issuing.signer_of(issuer, namespace, shared.secrets.raw)
    return request_of(certificate, {reference(issuer): issuer}), signer


async def _issue(
    shared: Certificates, certificate: Document, request: CertificateRequest, signer: Signer
) -> Result:
    runtime, now = shared.runtime, shared.runtime.clock()
    place = Key(request.namespace, request.secret)
    held = shared.secrets.raw(place)
    if other := issuing.other_owner(certificate, held):
        raise NotReady(
            "IncorrectCertificate",
            f"Secret {place} was issued for Certificate {other!r}; choose another secretName",
        )
    reason = issuing.renewal_reason(certificate, request, held, signer, now)
    if reason is not None:
        runtime.events.normal(certificate, "Issuing", reason.message)
        held = await _new_secret(shared, certificate, request, held, signer)
        runtime.events.normal(certificate, "Issued", "The certificate has been successfully issued")
    facts = None if held is None else issuing.facts_of(held)
    assert facts is not None
    renewal = issuing.renewal_time(certificate, facts)
    new_status = status.certificate_status(
        certificate,
        status.UP_TO_DATE,
        now,
        facts=facts,
        renewal=renewal,
        issued=reason is not None,
    )
    await _write_status(shared, CERTIFICATES, certificate, new_status)
    remaining = max(renewal - now, timedelta(seconds=1))
    return requeue(after=remaining, because="the certificate has to be renewed then")


async def _new_secret(
    shared: Certificates,
    certificate: Document,
    request: CertificateRequest,
    secret: Document | None,
    signer: Signer,
) -> Document:
    """Issue a certificate; returns its Secret. A thread generates the key, because that is slow."""
    loop, now = asyncio.get_running_loop(), shared.runtime.clock()
    if not request.is_authority:
        signer, new = await loop.run_in_executor(None, issuing.ensure_ca, signer, now)
        if new is not None:
            await shared.runtime.client.create(SECRETS, new)
    result = await loop.run_in_executor(
        None, issuing.issue_secret, certificate, request, secret, signer, now
    )
    client, place = shared.runtime.client, Key.of(result)
    if secret is None:
        with suppress(AlreadyExists):
            return await client.create(SECRETS, result)
    return await client.patch(SECRETS, place, result)


async def _write_status(
    shared: Certificates, resource: Resource, document: Document, status: Document
) -> None:
    if (document.get("status") or {}) == status:
        return
    key, body = Key.of(document), {"status": status}
    with suppress(NotFound):
        await shared.runtime.client.patch(resource, key, body, subresource="status")
