"""Telling a server our kinds: the CRDs of `kapy.api`, as any user would apply them."""

from __future__ import annotations

from typing import Final

from kapy.api.crds import crds
from kapy.client.client import Client
from kapy.kube import Document, Key
from kapy.kube.names import CRDS

_DEFAULTS: Final[Document] = {"conversion": {"strategy": "None"}}
"""What a server fills into the spec."""


async def install_definitions(client: Client) -> None:
    """Create the CRDs that are not there, update those of another version of this program."""
    there = {Key.of(one): one for one in (await client.list(CRDS)).items}
    for crd in crds():
        stored = there.get(Key.of(crd))
        if stored is None:
            await client.create(CRDS, crd)
        elif stored["spec"] != {**_DEFAULTS, **crd["spec"]}:
            await client.update(CRDS, {**stored, "spec": crd["spec"]})
