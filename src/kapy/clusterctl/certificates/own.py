"""kapy's own CA in a management cluster: reads, writes and renews its Secrets."""

from __future__ import annotations

from asyncio import get_running_loop
from base64 import b64encode
from collections.abc import Iterable, Sequence
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
    issue_secrets,
    stored_request,
)
from kapy.clusterctl.certificates.requests import CertificateRequest, of_cert_manager, requests_in
from kapy.clusterctl.components import CLUSTERCTL_LABEL
from kapy.clusterctl.retry import retry
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.names import CRDS, SECRETS, Resource

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
    asked = requests_in(objects)
    labels = {
        Key.of(one): one["metadata"].get("labels") or {}
        for one in objects
        if of_cert_manager(one) and one["kind"] == "Certificate"
    }
    held = await _read_secrets(client, asked)
    issued = await _run_in_thread(partial(issue_secrets, asked, held, now=now, labels=labels))
    keeps = await is_built_in(client)
    rest = [one for one in objects if keeps or not of_cert_manager(one)]
    return [
        *issued.secrets,
        *(inject_bundles(one, issued.bundles, issued.by_secret) for one in rest),
    ]


async def renew(client: Client, *, now: datetime, anew: bool = False) -> list[Key]:
    """Reissue the certificates that are due (all if `anew`), and update the CA bundles.

    The new CA is added to the bundles first, beside the old one; then the Secrets are written. An
    interrupted run can be repeated. Returns the keys of the Secrets. Raises ApiErrors.
    """
    secrets = (await retry(partial(client.list, SECRETS, labels=CERTIFICATE_MARK))).items
    held = {Key.of(one): one for one in secrets}
    asked = [request for one in secrets if (request := stored_request(one)) is not None]
    labels = {
        Key(one.namespace, one.name): held[Key(one.namespace, one.secret)]["metadata"]["labels"]
        for one in asked
    }
    issued = await _run_in_thread(
        partial(issue_secrets, asked, held, now=now, labels=labels, anew=anew)
    )
    if issued.secrets:
        await _inject_all(client, issued)
    for secret in issued.secrets:
        await retry(partial(client.patch, SECRETS, Key.of(secret), secret))
    return [Key.of(one) for one in issued.secrets]


async def _inject_all(client: Client, issued: IssuedSecrets) -> None:
    for resource in INJECTED_RESOURCES:
        try:
            listed = await retry(partial(client.list, resource, labels=CLUSTERCTL_LABEL))
        except NotFound:
            continue  # not every server has APIServices
        trusting = [{"kind": resource.kind, **one} for one in listed.items]
        await bounded_gather(
            partial(_trust, client, resource, one, bundle)
            for one in trusting
            if (bundle := _bundle(one, issued)) is not None
        )


def _bundle(document: Document, issued: IssuedSecrets) -> bytes | None:
    certificate, secret = source(document)
    if certificate in issued.bundles:
        return issued.bundles[certificate]
    return issued.by_secret.get(secret) if secret is not None else None


async def _trust(client: Client, resource: Resource, document: Document, bundle: bytes) -> None:
    told = with_bundle(document, b64encode(bundle).decode())
    if told == document:
        return
    field = "webhooks" if resource.kind in WEBHOOKS else "spec"
    await retry(partial(client.patch, resource, Key.of(document), {field: told[field]}))


async def _read_secrets(
    client: Client, requests: Iterable[CertificateRequest]
) -> dict[Key, Document]:
    keys = {Key(one.namespace, name) for one in requests for name in (one.secret, one.authority)}

    async def read(key: Key) -> Document | None:
        try:
            return await retry(lambda: client.get(SECRETS, key))
        except NotFound:
            return None

    found = await bounded_gather(partial(read, key) for key in keys)
    return {Key.of(one): one for one in found if one is not None}


async def _run_in_thread(make: partial[IssuedSecrets]) -> IssuedSecrets:
    """Run in a thread, because key generation is slow."""
    return await get_running_loop().run_in_executor(None, make)
