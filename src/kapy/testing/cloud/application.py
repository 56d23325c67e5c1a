"""The HTTP API of the simulated cloud, with JSON bodies.

| | |
|---|---|
| `GET /networks` | returns all networks and servers |
| `PUT /networks/NAME` `{"region"}` | creates one; returns `host` and `port` for its API server |
| `DELETE /networks/NAME` | deletes one; 409 as long as it has servers |
| `PUT /networks/NAME/servers/SERVER` `{"size", "image", "user_data"}` | creates one; base64 data |
| `DELETE /networks/NAME/servers/SERVER` | deletes one |

PUT of an existing network or server returns it; DELETE of a missing one is 404.
"""

from __future__ import annotations

from base64 import b64decode
from typing import Any, Final

import msgspec

from kapy._aio.asgi import Receive, Scope, Send, read_body, run_lifespan, send_reply
from kapy.testing.cloud.cloud import Cloud, InUse, Network, NoNetwork, Server

MOST: Final = 1024 * 1024
"""The maximum bytes of a request."""

_JSON: Final = b"application/json"


class WantedNetwork(msgspec.Struct):
    """The request body that creates a network."""

    region: str = "north"


class WantedServer(msgspec.Struct):
    """The request body that creates a server."""

    image: str
    size: str = "small"
    user_data: str = ""


class Application:
    """The ASGI application that serves the cloud's API."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request, or the start and end of the ASGI server."""
        if scope["type"] == "lifespan":
            await run_lifespan(receive, send)
            return
        body = await read_body(receive, MOST)
        try:
            status, result = self._answer(scope["method"], scope["path"], body)
        except NoNetwork as error:
            status, result = 404, {"error": str(error)}
        except InUse as error:
            status, result = 409, {"error": str(error)}
        except (msgspec.MsgspecError, ValueError) as error:
            status, result = 400, {"error": str(error)}
        await send_reply(send, status, _JSON, msgspec.json.encode(result) + b"\n")

    async def stop(self) -> None:
        """Do nothing at the end of the server: no request takes long."""

    def _answer(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        match method, path.strip("/").split("/"):
            case "GET", ["networks"]:
                return 200, [_network_document(value) for value in self._cloud.networks.values()]
            case "PUT", ["networks", name]:
                network = msgspec.json.decode(body, type=WantedNetwork)
                return 200, _network_document(self._cloud.make_network(name, network.region))
            case "DELETE", ["networks", name]:
                self._cloud.delete_network(name)
                return 200, {}
            case "PUT", ["networks", network, "servers", name]:
                return 200, self._server(network, name, body)
            case "DELETE", ["networks", network, "servers", name]:
                there = self._cloud.delete_server(network, name)
                return (200, {}) if there else (404, {"error": f"there is no server {name}"})
        return 404, {"error": f"{method} {path} is nothing that this cloud knows"}

    def _server(self, network: str, name: str, body: bytes) -> Server:
        wanted = msgspec.json.decode(body, type=WantedServer)
        data = b64decode(wanted.user_data, validate=True)
        return self._cloud.make_server(network, name, wanted.size, wanted.image, data)


def _network_document(network: Network) -> dict[str, Any]:
    return {
        "name": network.name,
        "region": network.region,
        "host": network.endpoint.host,
        "port": network.endpoint.port,
        "servers": list(network.servers.values()),
    }
