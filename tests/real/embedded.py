"""kapy's API server alone, as kube-apiserver is alone: no kind of Cluster API's is known to it, nor
anything of their admission and conversion.

    python -m tests.real.embedded FOLDER

It writes `kubeconfig` into the folder when it listens, and `audit.log`. It serves HTTPS, with RBAC.
Services are found by their EndpointSlices, as a node finds them.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack
from pathlib import Path

from kapy._aio.clock import system_clock
from kapy._aio.services import run_services
from kapy.apiserver.auth.authentication import Authenticator
from kapy.apiserver.server import Server
from kapy.apiserver.server.kube_controller_manager import add_kube_controllers
from kapy.apiserver.serving import Application, listen, server_context
from kapy.apps.audit import write_audit_log
from kapy.apps.credentials import Credentials, issue_credentials
from kapy.apps.settings import AuditLog, Serving
from kapy.cli.signals import handle_stop_signals
from kapy.client.kubeconfig import Kubeconfig, with_context
from kapy.kube.yaml import dump

SLICES = "endpointslices.discovery.k8s.io"


class Nodes:
    """The addresses of Services for webhooks, as kube-proxy would find them. server: has them."""

    server: Server

    def __call__(self, service: tuple[str, str, int]) -> str | None:
        namespace, name, _ = service
        table = self.server.store.peek(SLICES)
        for document in () if table is None else table.scan(namespace):
            if document["metadata"]["labels"]["kubernetes.io/service-name"] == name:
                (endpoint,), (port,) = document["endpoints"], document["ports"]
                return f"https://{endpoint['addresses'][0]}:{port['port']}"
        return None


async def serve(folder: Path) -> None:
    """Serve until a signal asks to stop."""
    nodes = Nodes()
    nodes.server = server = Server.open(None, clock=system_clock, services=nodes)
    credentials = issue_credentials(Serving(), system_clock())
    tls = server_context(
        credentials.server.certificate,
        credentials.server.key,
        client_ca=credentials.authority.certificate,
    )
    async with AsyncExitStack() as stack:
        context = stack.enter_context(handle_stop_signals())
        stack.callback(server.close)
        log = AuditLog(path=str(folder / "audit.log"))
        stack.enter_context(write_audit_log(server, log, system_clock))
        await stack.enter_async_context(run_services(server=server.run))
        add_kube_controllers(server, authority=credentials.authority.certificate.decode())
        application = Application(server, Authenticator({}))
        _, port = await stack.enter_async_context(listen(application, tls=tls))
        access = dump(with_context({}, "here", _access(credentials, port)))
        (folder / "new").write_text(access)
        (folder / "new").rename(folder / "kubeconfig")
        await context.wait()


def _access(credentials: Credentials, port: int) -> Kubeconfig:
    return Kubeconfig(
        server=f"https://127.0.0.1:{port}",
        certificate_authority=credentials.authority.certificate,
        client_certificate=credentials.administrator.certificate,
        client_key=credentials.administrator.key,
    )


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
