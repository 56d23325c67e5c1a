"""Nimbus over HTTP."""

import os
from base64 import b64encode
from typing import Any

import aiohttp
from kapy.sdk import Setting

from nimbus.cloud import Network, Server

URL = Setting("NIMBUS_URL", "Where the cloud is.", "http://127.0.0.1:8800")


class Nimbus:
    """The cloud. What is there already is made again without harm; what is not there is gone."""

    def __init__(self) -> None:
        self._url = os.environ.get(URL.name, URL.default)

    async def make_network(self, name: str, region: str) -> Network:
        network = await self._put(f"/networks/{name}", {"region": region})
        return Network(network["host"], network["port"])

    async def delete_network(self, name: str) -> bool:
        return await self._delete(f"/networks/{name}")

    async def make_server(
        self, network: str, name: str, size: str, version: str, user_data: bytes
    ) -> Server:
        wanted = {"size": size, "image": version, "user_data": b64encode(user_data).decode()}
        server = await self._put(f"/networks/{network}/servers/{name}", wanted)
        running = server["state"] == "running"
        return Server(server["id"], server["address"], running, server["because"])

    async def delete_server(self, network: str, name: str) -> bool:
        return await self._delete(f"/networks/{network}/servers/{name}")

    async def _put(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        async with aiohttp.request("PUT", f"{self._url}{path}", json=body) as response:
            response.raise_for_status()
            document: dict[str, Any] = await response.json()
            return document

    async def _delete(self, path: str) -> bool:
        async with aiohttp.request("DELETE", f"{self._url}{path}") as response:
            if response.status != 404:
                response.raise_for_status()
            return True
