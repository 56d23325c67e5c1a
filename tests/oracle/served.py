"""An API server of ours in a process of its own, with the tokens that the recordings use.

    with served() as (url, ca_file): ...

`python -m tests.oracle.served` is that process: it prints `{"url", "ca"}` when it listens and ends
when its standard input does.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kapy._aio.clock import system_clock
from kapy.apiserver.auth.authentication import Authenticator, authenticated_user
from kapy.apiserver.server import Server
from kapy.apiserver.serving import Application, listen, server_context
from kapy.kube.pki import issue, new_ca

ROOT = Path(__file__).resolve().parents[2]
TOKENS = {"admin": "admin-token", "alice": "alice-token"}
PATIENCE = 60.0


@contextmanager
def served() -> Iterator[tuple[str, str]]:
    """The URL and the path of the CA file of a server that runs while the context is open."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "tests.oracle.served"]
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        try:
            assert process.stdout is not None
            document = json.loads(process.stdout.readline())
            ca = Path(scratch) / "ca.crt"
            ca.write_text(document["ca"])
            yield document["url"], str(ca)
        finally:
            process.communicate(timeout=PATIENCE)


def kubeconfig_of(url: str, ca: str) -> dict[str, Any]:
    """Return the kubeconfig of the server's administrator. ca: the path of the CA's file."""
    cluster = {"server": url, "certificate-authority": ca}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "clusters": [{"name": "x", "cluster": cluster}],
        "users": [{"name": "x", "user": {"token": TOKENS["admin"]}}],
    }


async def _serve() -> None:
    now = system_clock()
    ca = new_ca("kapy-oracle", now=now, algorithm="ECDSA-P256")
    own = issue(ca, "kapy", now=now, names=["127.0.0.1"], usages=["server"], algorithm="ECDSA-P256")
    users = {
        TOKENS["admin"]: authenticated_user("admin", ("system:masters",), "admin"),
        TOKENS["alice"]: authenticated_user("alice", (), "alice"),
    }
    server = Server.open(None, clock=system_clock)
    application = Application(server, Authenticator(users))
    tls = server_context(own.certificate, own.key)
    async with asyncio.TaskGroup() as group, listen(application, tls=tls) as (host, port):
        running = group.create_task(server.run())
        messages = {"url": f"https://{host}:{port}", "ca": ca.certificate.decode()}
        sys.stdout.write(json.dumps(messages) + "\n")
        sys.stdout.flush()
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        running.cancel()
    server.close()


if __name__ == "__main__":
    asyncio.run(_serve())
