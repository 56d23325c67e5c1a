"""kapy's own CA in a management cluster: reads, writes, renews and lists its Secrets."""

from __future__ import annotations

from asyncio import get_running_loop
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final

from kapy.client.client import Client
from kapy.clusterctl.bounded_gather import bounded_gather
from kapy.clusterctl.certificates.cert_manager import is_built_in
from kapy.clusterctl.certificates.injection import WEBHOOKS, inject_bundles, source, with_bundle
from kapy.clusterctl.certificates.issuing import (
    CERTIFICATE_MARK,
    IssuedSecrets,
    is_good,
    issue_secrets,
    stored_request,
    value,
)
from kapy.clusterctl.certificates.requests import CertificateRequest, of_cert_manager, requests_in
from kapy.clusterctl.components import CLUSTERCTL_LABEL, PROVIDER_LABEL
from kapy.clusterctl.retry import retry
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.names import CRDS, SECRETS, Resource
from kapy.kube.pki import facts

INJECTED_RESOURCES: Final = (
    CRDS,
    *(
        Resource("admissionregistration.k8s.io", "v1", f"{kind.lower()}s", kind, namespaced=False)
        for kind in WEBHOOKS
    ),
    Resource("apiregistration.k8s.io", "v1", "apiservices", "APIService", namespaced=False),
)
"""Kinds of components that have a CA bundle."""


async def with_own_authority(
    client: Client, objects: Sequence[Document], *, now: datetime
) -> list[Document]:
    """Components with Secrets in place of cert-manager's objects, and with CA bundles filled in.

    Certificates that are still valid are kept. If a kapy plane serves cert-manager's kinds, these
    objects stay, too, because the plane renews their certificates. Raises CertificateError,
    ApiErrors.
    """
    requests = requests_in(objects)
    labels = {
        Key.of(obj): obj["metadata"].get("labels") or {}
        for obj in objects
        if of_cert_manager(obj) and obj["kind"] == "Certificate"
    }
    held = await _read_secrets(client, requests)
    issued = await _run_in_thread(partial(issue_secrets, requests, held, now=now, labels=labels))
    keeps = await is_built_in(client)
    rest = [obj for obj in objects if keeps or not of_cert_manager(obj)]
    return [
        *issued.secrets,
        *(inject_bundles(item, issued.bundles, issued.by_secret) for item in rest),
    ]


async def renew(client: Client, *, now: datetime, anew: bool = False) -> list[Key]:
    """Reissue the certificates that are due (all if `anew`), and update the CA bundles.

    The new CA is added to the bundles first, beside the old one; then the Secrets are written. An
    interrupted run can be repeated. Returns the keys of the Secrets. Raises ApiErrors.
    """
    secrets = (await retry(partial(client.list, SECRETS, labels=CERTIFICATE_MARK))).items
    held = {Key.of(item): item for item in secrets}
    requests = [request for item in secrets if (request := stored_request(item)) is not None]
    labels = {
        Key(item.namespace, item.name): held[Key(item.namespace, item.secret)]["metadata"]["labels"]
        for item in requests
    }
    issued = await _run_in_thread(
        partial(issue_secrets, requests, held, now=now, labels=labels, anew=anew)
    )
    if issued.secrets:
        await _inject_all(client, issued)
    for secret in issued.secrets:
        await retry(partial(client.patch, SECRETS, Key.of(secret), secret))
    return [Key.of(item) for item in issued.secrets]


async def _inject_all(client: Client, issued: IssuedSecrets) -> None:
    for resource in INJECTED_RESOURCES:
        try:
            listed = await retry(partial(client.list, resource, labels=CLUSTERCTL_LABEL))
        except NotFound:
            continue  # not every server has APIServices
        trusting = [{"kind": resource.kind, **item} for item in listed.items]
        await bounded_gather(
            partial(_trust, client, resource, item, bundle)
            for item in trusting
            if (bundle := _bundle(item, issued)) is not None
        )


def _bundle(document: Document, issued: IssuedSecrets) -> bytes | None:
    certificate, secret = source(document)
    if certificate in issued.bundles:
        return issued.bundles[certificate]
    return issued.by_secret.get(secret) if secret is not None else None


async def _trust(client: Client, resource: Resource, document: Document, bundle: bytes) -> None:
    result = with_bundle(document, b64encode(bundle).decode())
    if result == document:
        return
    field = "webhooks" if resource.kind in WEBHOOKS else "spec"
    await retry(partial(client.patch, resource, Key.of(document), {field: result[field]}))


async def _read_secrets(
    client: Client, requests: Iterable[CertificateRequest]
) -> dict[Key, Document]:
    keys = {
        Key(request.namespace, name)
        for request in requests
        for name in (request.secret, request.authority)
    }

    async def read(key: Key) -> Document | None:
        try:
            return await retry(lambda: client.get(SECRETS, key))
        except NotFound:
            return None

    gather = await bounded_gather(partial(read, key) for key in keys)
    return {Key.of(item): item for item in gather if item is not None}


async def _run_in_thread(make: partial[IssuedSecrets]) -> IssuedSecrets:
    """Run in a thread, because key generation is slow."""
    return await get_running_loop().run_in_executor(None, make)


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
