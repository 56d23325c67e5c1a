"""Telling a server our kinds: the CRDs of `kapy.api`, as any user would apply them."""

from __future__ import annotations

from kapy.api.crds import crds
from kapy.client.client import Client
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists
from kapy.kube.names import CRDS


async def install_definitions(client: Client) -> None:
    """Create the CRDs that are not there, update those of another version of this program."""
    for crd in crds():
        try:
            await client.create(CRDS, crd)
        except AlreadyExists:
            await _update(client, crd)


async def _update(client: Client, crd: Document) -> None:
    """Replace the spec; the server stores nothing when that changes nothing."""
    stored = await client.get(CRDS, Key.of(crd))
    await client.update(CRDS, {**stored, "spec": crd["spec"]})
