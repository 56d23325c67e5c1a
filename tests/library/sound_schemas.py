"""Validates the schemas of kapy's own CRDs as a server does, and writes their digests.

python -m tests.library.sound_schemas
"""

from __future__ import annotations

import asyncio

from kapy._aio.clock import system_clock
from kapy.api.crds import crds
from kapy.apiserver.resources.builtin.definition_schemas import (
    SoundSchemas,
    forget_sound_schemas,
    sound_schemas,
)
from kapy.apiserver.server import Server
from kapy.apps import sound_schemas as own
from kapy.apps.built_in import with_provider_labels
from kapy.client.client import Client
from kapy.kube.http import ADMIN
from kapy.kube.names import CRDS


async def validate() -> SoundSchemas:
    """Create all CRDs on a new server. Raises Invalid if it refuses one."""
    forget_sound_schemas()
    server = Server.open(None, clock=system_clock)
    try:
        client = Client(server.transport(ADMIN))
        for crd in map(with_provider_labels, crds()):
            await client.create(CRDS, crd)
    finally:
        server.close()
    return sound_schemas()


if __name__ == "__main__":
    own.FILE.write_text(own.render(asyncio.run(validate())))
