"""The objects that every case finds on a server: the kinds of the recordings."""

from __future__ import annotations

import asyncio
from functools import cache
from pathlib import Path
from typing import Final

import yaml

from tests.differential.case import Json
from tests.differential.peers import Peer

ROOT: Final = Path(__file__).resolve().parents[2]
CRDS: Final = ROOT / "tests" / "data" / "apiserver" / "crds"
BASE: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PATIENCE: Final = 60.0


@cache
def definitions() -> tuple[Json, ...]:
    """The CustomResourceDefinitions, without Cluster API's own."""
    files = sorted(CRDS.glob("0*.yaml"))
    return tuple(item for path in files for item in yaml.safe_load_all(path.read_text()) if item)


async def prepare(peer: Peer) -> None:
    """Install the kinds, and wait until all of them are served."""
    for definition in definitions():
        answer = await peer.call({"method": "POST", "path": BASE, "body": definition})
        assert answer["status"] in (201, 409), answer
    for item in definitions():
        spec = item["spec"]
        for version in spec["versions"]:
            if version["served"]:
                path = f"/apis/{spec['group']}/{version['name']}/{spec['names']['plural']}"
                await _served(peer, path)


async def _served(peer: Peer, path: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while (await peer.call({"method": "GET", "path": path}))["status"] != 200:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
