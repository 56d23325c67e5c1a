"""Probes of a container: HTTP, TCP, a command, or gRPC's health service.

Probes use the actual ports of a container: `Running.ports` maps the declared ones to them.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from kapy.kube import Document
from kapy.kube.digits import parse_digits
from kapy.node_agent.runtime import Running, StartFailed

_MAX_BODY: Final = 10 * 1024
"""Bytes of an answer that are read."""


class Outcome(NamedTuple):
    """The result of one probe. message: the reason for which it failed."""

    well: bool
    message: str = ""


class Probe:
    """One probe of one container. Times are in seconds."""

    def __init__(self, container: Document, spec: Mapping[str, Any]) -> None:
        self._container = container
        self._spec = spec
        self.delay = float(spec.get("initialDelaySeconds") or 0)
        self.period = float(spec.get("periodSeconds") or 10)
        self.patience = float(spec.get("timeoutSeconds") or 1)
        self.successes = int(spec.get("successThreshold") or 1)
        self.failures = int(spec.get("failureThreshold") or 3)

    async def run(self, running: Running) -> Outcome:
        """Run the probe once, and return the result."""
        try:
            async with asyncio.timeout(self.patience):
                return await self._run(running)
        except TimeoutError:
            return Outcome(well=False, message=f"no answer within {self.patience:g} s")
        except (OSError, StartFailed, EOFError, ValueError) as error:
            return Outcome(well=False, message=str(error) or type(error).__name__)

    async def _run(self, running: Running) -> Outcome:
        spec = self._spec
        if "httpGet" in spec:
            return await self._http(running, spec["httpGet"])
        if "tcpSocket" in spec:
            port = self._port(running, spec["tcpSocket"].get("port"))
            _, writer = await asyncio.open_connection(running.address, port)
            writer.close()
            return Outcome(well=True)
        if "grpc" in spec:
            return await self._grpc(running, spec["grpc"])
        command = (spec.get("exec") or {}).get("command") or ()
        code = await running.execute(command, self.patience)
        return Outcome(code == 0, f"{' '.join(command)} ended with code {code}")

    async def _http(self, running: Running, action: Mapping[str, Any]) -> Outcome:
        port = self._port(running, action.get("port"))
        tls = None
        if (action.get("scheme") or "HTTP") == "HTTPS":
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            tls.check_hostname = False
            tls.verify_mode = ssl.CERT_NONE  # like a kubelet, which does not verify certificates
        reader, writer = await asyncio.open_connection(running.address, port, ssl=tls)
        try:
            writer.write(_request(action, running.address, port))
            status = int((await reader.read(_MAX_BODY)).split(b" ", 2)[1])
        except IndexError:
            return Outcome(well=False, message="the answer is not HTTP")
        finally:
            writer.close()
        path = action.get("path") or "/"
        return Outcome(
            200 <= status < 400, f"HTTP probe of {path} failed with statuscode: {status}"
        )

    async def _grpc(self, running: Running, action: Mapping[str, Any]) -> Outcome:
        from kapy.node_agent.grpc_health import is_serving

        port = self._port(running, action.get("port"))
        well = await is_serving(running.address, port, action.get("service") or "")
        return Outcome(well, "gRPC health check: the service is not serving")

    def _port(self, running: Running, port: Any) -> int:
        number = port if isinstance(port, int) else self._declared_port(str(port))
        return running.ports.get(number, number)

    def _declared_port(self, name: str) -> int:
        for item in self._container.get("ports") or ():
            if item.get("name") == name:
                return int(item["containerPort"])
        number = parse_digits(name)
        if number is not None and number <= 65535:
            return number
        raise ValueError(f"the container has no port {name!r}")


def _request(action: Mapping[str, Any], address: str, port: int) -> bytes:
    headers = {"Host": f"{address}:{port}", "User-Agent": "kube-probe/kapy", "Accept": "*/*"}
    headers |= {item["name"]: item["value"] for item in action.get("httpHeaders") or ()}
    path = action.get("path") or "/"
    path = path if path.startswith("/") else f"/{path}"
    lines = [f"GET {path} HTTP/1.1", *(f"{key}: {value}" for key, value in headers.items())]
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode()
