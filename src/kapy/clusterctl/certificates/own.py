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
from kapy.clusterctl.certificates.injection import WEBHOOKS, injected, source, with_bundle
from kapy.clusterctl.certificates.issuing import OURS, Issued, issued, kept
from kapy.clusterctl.certificates.wanted import Wanted, asked_by, of_cert_manager
from kapy.clusterctl.components import CLUSTERCTL_LABEL
from kapy.clusterctl.retry import retry
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.names import CRDS, SECRETS, Resource

TRUSTING: Final = (
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
    asked = asked_by(objects)
    labels = {
        Key.of(one): one["metadata"].get("labels") or {}
        for one in objects
        if of_cert_manager(one) and one["kind"] == "Certificate"
    }
    held = await _held(client, asked)
    found = await _off_the_loop(partial(issued, asked, held, now=now, labels=labels))
    keeps = await is_built_in(client)
    rest = [one for one in objects if keeps or not of_cert_manager(one)]
    return [*found.secrets, *(injected(one, found.bundles, found.by_secret) for one in rest)]


async def renew(client: Client, *, now: datetime, anew: bool = False) -> list[Key]:
    """Reissue the certificates that are due (all if `anew`), and update the CA bundles.

    The new CA is added to the bundles first, beside the old one; then the Secrets are written. An
    interrupted run can be repeated. Returns the keys of the Secrets. Raises ApiErrors.
    """
    secrets = (await retry(partial(client.list, SECRETS, labels=OURS))).items
    held = {Key.of(one): one for one in secrets}
    asked = [wanted for one in secrets if (wanted := kept(one)) is not None]
    labels = {
        Key(one.namespace, one.name): held[Key(one.namespace, one.secret)]["metadata"]["labels"]
        for one in asked
    }
    found = await _off_the_loop(partial(issued, asked, held, now=now, labels=labels, anew=anew))
    if found.secrets:
        await _tell(client, found)
    for secret in found.secrets:
        await retry(partial(client.patch, SECRETS, Key.of(secret), secret))
    return [Key.of(one) for one in found.secrets]


async def _tell(client: Client, found: Issued) -> None:
    for resource in TRUSTING:
        try:
            listed = await retry(partial(client.list, resource, labels=CLUSTERCTL_LABEL))
        except NotFound:
            continue  # not every server has APIServices
        trusting = [{"kind": resource.kind, **one} for one in listed.items]
        await bounded_gather(
            partial(_trust, client, resource, one, bundle)
            for one in trusting
            if (bundle := _bundle(one, found)) is not None
        )


def _bundle(document: Document, found: Issued) -> bytes | None:
    certificate, secret = source(document)
    if certificate in found.bundles:
        return found.bundles[certificate]
    return found.by_secret.get(secret) if secret is not None else None


async def _trust(client: Client, resource: Resource, one: Document, bundle: bytes) -> None:
    told = with_bundle(one, b64encode(bundle).decode())
    if told == one:
        return
    field = "webhooks" if resource.kind in WEBHOOKS else "spec"
    await retry(partial(client.patch, resource, Key.of(one), {field: told[field]}))


async def _held(client: Client, asked: Iterable[Wanted]) -> dict[Key, Document]:
    keys = {Key(one.namespace, name) for one in asked for name in (one.secret, one.authority)}

    async def read(key: Key) -> Document | None:
        try:
            return await retry(lambda: client.get(SECRETS, key))
        except NotFound:
            return None

    found = await bounded_gather(partial(read, key) for key in keys)
    return {Key.of(one): one for one in found if one is not None}


async def _off_the_loop(make: partial[Issued]) -> Issued:
    """Run in a thread, because key generation is slow."""
    return await get_running_loop().run_in_executor(None, make)
