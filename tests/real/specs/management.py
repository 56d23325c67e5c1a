"""A plane without providers, in the place of a management cluster of kind.

    python -m tests.real.specs.management FOLDER

Upstream's clusterctl installs providers there, of old and of current releases. Their Deployments
run as processes: programs of old releases were built from Go modules, current ones are kapy. This
program takes the place of cert-manager: it writes the Secrets of Certificates, and the CA bundles
of webhooks and CRDs.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

from kapy.client import kubeconfig_files
from kapy.client.client import Client
from kapy.client.https import ApiTransport
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError
from kapy.kube.names import DEPLOYMENTS, Resource
from kapy.node_agent.processes import programs
from kapy.node_agent.processes.programs import Program
from tests.real.specs import parts
from tests.real.specs.certificates import issue
from tests.real.specs.old_release import MANAGERS
from tests.real.specs.plane import kapy, process, serves, until

EVERY: Final = 0.5
LEASES: Final = Resource("coordination.k8s.io", "v1", "leases", "Lease")
LEASE: Final = Key("kube-system", "kube-controller-manager")
"""Upstream's spec takes this Lease away, by which kube-controller-manager would begin anew."""
_LEASE: Final[Document] = {
    "apiVersion": LEASES.api_version,
    "kind": LEASES.kind,
    "metadata": {"name": LEASE.name, "namespace": LEASE.namespace},
    "spec": {"holderIdentity": "nobody"},
}


async def serve(folder: Path) -> None:
    """Serve until a signal asks to stop."""
    request = asyncio.Event()
    for item in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(item, request.set)
    kubeconfig = folder / "kubeconfig"
    command = [
        *(kapy(), "up", "--name", folder.name, "--data-dir", str(folder / "plane")),
        *("--port", "0", "--kubeconfig", str(kubeconfig)),
        *("--audit-log-path", str(folder / "audit.log")),
    ]
    for name in MANAGERS.values():
        command += ["--without", name]
    with ExitStack() as stack:
        stack.callback((folder / "ended").touch)
        stack.enter_context(process(folder / "plane.log", command))
        until(lambda: serves(kubeconfig), folder / "plane.log")
        transport = ApiTransport(kubeconfig_files.load([kubeconfig], ""))
        client = Client(transport, field_manager="cert-manager")
        await client.create(LEASES, _LEASE)
        async with asyncio.TaskGroup() as group:
            work = group.create_task(_keep_house(client, folder / "plane"))
            (folder / "ready").touch()
            await request.wait()
            work.cancel()
        await transport.aclose()


async def _keep_house(client: Client, plane: Path) -> None:
    """Choose programs and issue certificates, for as long as the plane lives."""
    while True:
        with suppress(KapyError):
            await _choose(client, plane)
            await issue(client)
        await asyncio.sleep(EVERY)


async def _choose(client: Client, plane: Path) -> None:
    """The programs in place of the images of Deployments."""
    wanted = []
    for document in (await client.list(DEPLOYMENTS)).items:
        for container in document["spec"]["template"]["spec"]["containers"]:
            if command := _program(container["image"]):
                key = Key.of(document)
                wanted.append(Program(key.namespace, key.name, container["name"], command))
    if wanted != list(programs.read(plane)):
        programs.replace(plane, wanted)


def _program(image: str) -> tuple[str, ...]:
    """The command for an image, () where there is none."""
    path, _, version = image.rpartition(":")
    name = path.rpartition("/")[2]
    if name in MANAGERS:
        return (str(parts.manager(MANAGERS[name], version)),)
    return (kapy(),) if name == "kapy" else ()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
