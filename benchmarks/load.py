"""A load generator for any Kubernetes API server, cheap enough not to be what is measured.

Plain blocking sockets with keep-alive: one request is sent on each connection, then all answers are
read. It runs in a process of its own (`python -m benchmarks.load`), is told on stdin what to reach,
and prints rows as JSON. Machines of about 0.9 KB; the server must serve their kind.
"""

from __future__ import annotations

import json
import os
import socket
import ssl
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from benchmarks.machines import API_VERSION, PATH, machine
from benchmarks.measure import percentile
from kapy.client.kubeconfig import Kubeconfig
from kapy.kube.http import APPLY_PATCH, MERGE_PATCH

Row = dict[str, Any]
Ask = Callable[[int], bytes]
OBJECTS: Final = 1000
CONNECTIONS: Final = 16
WATCHERS: Final = 200
EVENTS: Final = 50
SECONDS: Final = 60.0
"""How long an answer may take before the measurement is given up."""

_APPLY: Final = "?fieldManager=applier&force=true"


class Connection:
    """One connection; `send` a request, then `receive` its answer."""

    def __init__(self, access: Kubeconfig, tls: ssl.SSLContext) -> None:
        url = urlsplit(access.server)
        raw = socket.create_connection((url.hostname, url.port or 443), timeout=SECONDS)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = tls.wrap_socket(raw, server_hostname=access.tls_server_name or url.hostname)
        self._rest = b""

    def send(self, request: bytes) -> None:
        self._socket.sendall(request)

    def receive(self) -> tuple[int, bytes]:
        """Status and body. Raises ConnectionError."""
        head = self._head()
        status = int(head[9:12])
        if b"chunked" in head:
            return status, self._chunks()
        begins = head.index(b"content-length:") + 15
        return status, self._exactly(int(head[begins : head.find(b"\r", begins)]))

    def begin(self, request: bytes) -> None:
        """Open a stream of lines."""
        self.send(request)
        assert self._head()[9:12] == b"200"

    def line(self) -> bytes:
        """The next chunk that is no keep-alive, which is one or more whole events."""
        return self._chunk()

    def close(self) -> None:
        self._socket.close()

    def _head(self) -> bytes:
        while (end := self._rest.find(b"\r\n\r\n")) < 0:
            self._more()
        head, self._rest = self._rest[:end].lower() + b"\r", self._rest[end + 4 :]
        return head

    def _exactly(self, size: int) -> bytes:
        parts, number = [self._rest], len(self._rest)
        while number < size:
            part = self._socket.recv(1 << 18)
            if not part:
                raise ConnectionError("the server closed the connection")
            parts.append(part)
            number += len(part)
        whole = b"".join(parts)
        self._rest = whole[size:]
        return whole[:size]

    def _chunk(self) -> bytes:
        while (end := self._rest.find(b"\r\n")) < 0:
            self._more()
        size = int(self._rest[:end], 16)
        self._rest = self._rest[end + 2 :]
        return self._exactly(size + 2)[:-2]

    def _chunks(self) -> bytes:
        parts = []
        while part := self._chunk():
            parts.append(part)
        return b"".join(parts)

    def _more(self) -> None:
        part = self._socket.recv(1 << 16)
        if not part:
            raise ConnectionError("the server closed the connection")
        self._rest += part


def measured(
    access: Kubeconfig, pids: list[int], where: str, watchers: int = WATCHERS
) -> list[Row]:
    """One row for each kind of request. pids: the server's processes, for their CPU."""
    tls = context_of(access)
    connections = [Connection(access, tls) for _ in range(CONNECTIONS)]
    token = f"Authorization: Bearer {access.token}\r\n" if access.token else ""
    host = urlsplit(access.server).netloc

    def request(method: str, path: str, body: Any = None, media: str = "application/json") -> bytes:
        content = b"" if body is None else json.dumps(body, separators=(",", ":")).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: driver/1\r\n{token}"
        if content:
            head += f"Content-Type: {media}\r\nContent-Length: {len(content)}\r\n"
        return head.encode() + b"Accept: application/json\r\n\r\n" + content

    def path_of(number: int) -> str:
        return f"{PATH}/{machine(number)['metadata']['name']}"

    def applied(number: int) -> Row:
        meta = {"name": machine(number)["metadata"]["name"], "labels": {"applied": str(number)}}
        return {"apiVersion": API_VERSION, "kind": "Machine", "metadata": meta}

    steps: tuple[tuple[str, int, Ask], ...] = (
        ("CREATE", OBJECTS, lambda at: request("POST", PATH, machine(at))),
        ("GET", 4 * OBJECTS, lambda at: request("GET", path_of(at % OBJECTS))),
        ("PATCH", OBJECTS, lambda at: request("PATCH", path_of(at), _label(at), MERGE_PATCH)),
        (
            "APPLY",
            OBJECTS,
            lambda at: request("PATCH", path_of(at) + _APPLY, applied(at), APPLY_PATCH),
        ),
        (f"LIST of {OBJECTS}", 32, lambda _: request("GET", PATH)),
    )
    rows = [timed(f"{verb}, {where}", item, connections, n, pids) for verb, n, item in steps]
    rows.append(_fan_out(access, tls, request, where, pids, watchers))
    timed(
        "", lambda at: request("PATCH", path_of(at), _FREE, MERGE_PATCH), connections, OBJECTS, pids
    )
    delete = f"DELETE, {where}"
    rows.append(
        timed(delete, lambda at: request("DELETE", path_of(at)), connections, OBJECTS, pids)
    )
    for connection in connections:
        connection.close()
    return rows


_FREE: Final = {"metadata": {"finalizers": None}}


def _label(number: int) -> Row:
    return {"metadata": {"labels": {"turn": str(number)}}}


def timed(step: str, ask: Ask, connections: list[Connection], number: int, pids: list[int]) -> Row:
    requests = [ask(at) for at in range(number)]
    took: list[float] = []
    cpu, began = _cpu(pids), time.perf_counter()
    for first in range(0, number, len(connections)):
        some = requests[first : first + len(connections)]
        sent = time.perf_counter()
        for connection, content in zip(connections, some, strict=False):
            connection.send(content)
        for connection, _ in zip(connections, some, strict=False):
            status, body = connection.receive()
            if status >= 300:
                raise RuntimeError(f"{step}: {status} {body[:300]!r}")
            took.append(time.perf_counter() - sent)
    return _row(step, number, time.perf_counter() - began, _spent(cpu, _cpu(pids)), took)


def _row(step: str, number: int, wall: float, spent: list[float], took: list[float]) -> Row:
    """A row. spent: CPU seconds of each process of the server; with a core for each, the busiest
    one limits the rate, whatever this load generator leaves of the machine's cores.
    """
    cpu, busiest = sum(spent), max(spent, default=0.0)
    is_measured = cpu > 0
    row = {
        "step": step,
        "wall_s": round(wall, 4),
        "per_s": round(number / wall),
        "p50_us": round(1e6 * percentile(took, 0.5), 1),
        "p99_us": round(1e6 * percentile(took, 0.99), 1),
        "cpu_s": round(cpu, 4) if is_measured else None,
        "cpu_us_per_request": round(1e6 * cpu / number, 1) if is_measured else None,
        "per_core_s": round(number / cpu) if is_measured else None,
    }
    if len(spent) > 1:
        row |= {"cpu_of_each_s": [round(value, 3) for value in spent]}
        row |= {"per_s_own_cores": round(number / busiest) if is_measured else None}
    return row


def _fan_out(
    access: Kubeconfig,
    tls: ssl.SSLContext,
    request: Callable[..., bytes],
    where: str,
    pids: list[int],
    number: int,
) -> Row:
    """Writes of one object, each of which all watchers see before the next."""
    writer = Connection(access, tls)
    watchers = [Connection(access, tls) for _ in range(number)]
    writer.send(request("GET", PATH + "?limit=1"))
    version = json.loads(writer.receive()[1])["metadata"]["resourceVersion"]
    for watcher in watchers:
        watcher.begin(request("GET", f"{PATH}?watch=true&resourceVersion={version}"))
    path = f"{PATH}/{machine(0)['metadata']['name']}"
    took: list[float] = []
    cpu, began = _cpu(pids), time.perf_counter()
    for turn in range(EVENTS):
        sent = time.perf_counter()
        writer.send(request("PATCH", path, _label(OBJECTS + turn), MERGE_PATCH))
        status, body = writer.receive()
        if status != 200:
            raise RuntimeError(f"the write that all watch: {status} {body[:300]!r}")
        for connection in watchers:
            connection.line()
        took.append(time.perf_counter() - sent)
    wall, spent = time.perf_counter() - began, _spent(cpu, _cpu(pids))
    for item in (*watchers, writer):
        item.close()
    return _row(f"events to {number} watchers, {where}", EVENTS * number, wall, spent, took)


def _cpu(pids: list[int]) -> list[float]:
    """CPU seconds of each of the other processes, nothing where they are not known."""
    spent = []
    try:
        for pid in pids:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            spent.append((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"))
    except OSError:
        return []
    return spent


def _spent(before: list[float], after: list[float]) -> list[float]:
    return [later - earlier for earlier, later in zip(before, after, strict=False)]


def context_of(access: Kubeconfig) -> ssl.SSLContext:
    context = ssl.create_default_context(
        cadata=access.certificate_authority.decode() if access.certificate_authority else None
    )
    if access.insecure:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if access.client_certificate:
        with _file(access.client_certificate + b"\n" + access.client_key) as path:
            context.load_cert_chain(path)
    return context


@contextmanager
def _file(content: bytes) -> Iterator[str]:
    with tempfile.NamedTemporaryFile() as file:  # mode 0600
        file.write(content)
        file.flush()
        yield file.name


def main() -> None:
    """Read what to reach from stdin, print the rows."""
    result = json.load(sys.stdin)
    ca, certificate, key = (result[name].encode() for name in ("ca", "certificate", "key"))
    token, insecure = result.get("token", ""), result.get("insecure", False)
    access = Kubeconfig(result["server"], ca, certificate, key, token, insecure)
    watchers = result.get("watchers", WATCHERS)
    print(json.dumps(measured(access, result["pids"], result["where"], watchers)))


if __name__ == "__main__":
    main()
