"""In the place of cert-manager: Secrets of Certificates, and CA bundles of webhooks and CRDs.

    python -m tests.real.specs.certificates KUBECONFIG

issues those of all clusters that a plane makes, for specs whose management cluster has machines.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from kapy._aio.clock import system_clock
from kapy.api.cluster import Cluster
from kapy.client import kubeconfig_files
from kapy.client.client import Client
from kapy.client.https import ApiTransport
from kapy.clusterctl.certificates import CertificateError
from kapy.clusterctl.certificates.own import INJECTED_RESOURCES, with_own_authority
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, KapyError, NotFound
from kapy.kube.names import SECRETS, Resource
from kapy.remote.kubeconfig_secret import access
from kapy.remote.secrets import KUBECONFIG, secret_key

EVERY: Final = 2.0
GROUP: Final = "cert-manager.io"
ISSUERS: Final = Resource(GROUP, "v1", "issuers", "Issuer")
CERTIFICATES: Final = Resource(GROUP, "v1", "certificates", "Certificate")


async def issue(client: Client) -> None:
    """Write the Secrets of Certificates, and tell webhooks and CRDs whom to trust."""
    objects = [
        {"apiVersion": resource.api_version, "kind": resource.kind, **item}
        for resource in (ISSUERS, CERTIFICATES, *INJECTED_RESOURCES)
        for item in await _all(client, resource)
    ]
    with suppress(CertificateError):  # an Issuer that is not there yet
        results = await with_own_authority(client, objects, now=system_clock())
        before = {(obj["kind"], Key.of(obj)): obj for obj in objects}
        names = {Key.of(item) for item in await _all(client, CERTIFICATES)}
        if names != {key for kind, key in before if kind == CERTIFICATES.kind}:
            return  # an upgrade has just deleted them, with their Secrets
        for document in results:
            await _write(client, before.get((document["kind"], Key.of(document))), document)


async def _all(client: Client, resource: Resource) -> list[Document]:
    try:
        return list((await client.list(resource)).items)
    except NotFound:
        return []


async def _write(client: Client, before: Document | None, after: Document) -> None:
    if before is None:
        with suppress(AlreadyExists):
            await client.create(SECRETS, after)
    elif before != after:
        (resource,) = (item for item in INJECTED_RESOURCES if item.kind == after["kind"])
        await client.update(resource, after)


async def _serve(kubeconfig: Path) -> None:
    plane = Client(ApiTransport(kubeconfig_files.load([kubeconfig], "")))
    while True:
        with suppress(KapyError):
            for cluster in (await plane.list(Cluster.RESOURCE)).items:
                await _issue_in(plane, Key.of(cluster))
        await asyncio.sleep(EVERY)


async def _issue_in(plane: Client, cluster: Key) -> None:
    secret = await plane.get(SECRETS, secret_key(cluster, KUBECONFIG))
    transport = ApiTransport(access(secret))
    try:
        await issue(Client(transport, field_manager="cert-manager"))
    finally:
        await transport.aclose()


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1])))
