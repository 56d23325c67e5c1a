"""A plane without providers, in the place of a management cluster of kind.

    python -m tests.real.specs.management FOLDER

Upstream's clusterctl installs providers there, of old and of current releases. Their Deployments
run as processes: programs of old releases were built from Go modules, current ones are kapy. What
cert-manager does is done here: Secrets for Certificates, and trust in webhooks and CRDs.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Final

from kapy._aio.clock import system_clock
from kapy.client import kubeconfig_files
from kapy.client.blocking import Blocking, run
from kapy.client.client import Client
from kapy.client.kubeconfig import Kubeconfig
from kapy.clusterctl.certificates import CertificateError
from kapy.clusterctl.certificates.own import TRUSTING, with_own_authority
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, KapyError, NotFound
from kapy.kube.names import DEPLOYMENTS, SECRETS, Resource
from kapy.node_agent.processes import programs
from kapy.node_agent.processes.programs import Program
from tests.real.specs import parts
from tests.real.specs.plane import kapy, process, serves, until

EVERY: Final = 0.5
GROUP: Final = "cert-manager.io"
ISSUERS: Final = Resource(GROUP, "v1", "issuers", "Issuer")
CERTIFICATES: Final = Resource(GROUP, "v1", "certificates", "Certificate")
LEASES: Final = Resource("coordination.k8s.io", "v1", "leases", "Lease")
LEASE: Final = Key("kube-system", "kube-controller-manager")
"""Upstream's spec takes this Lease away, by which kube-controller-manager would begin anew."""
MANAGERS: Final = {
    "cluster-api-controller": "core",
    "kubeadm-bootstrap-controller": "bootstrap-kubeadm",
    "kubeadm-control-plane-controller": "control-plane-kubeadm",
    "capd-manager": "infrastructure-dev",
}
"""kapy's names of upstream's images."""


def main(folder: Path) -> None:
    """Serve until a signal asks to stop."""
    asked = threading.Event()
    for one in (signal.SIGTERM, signal.SIGINT):
        signal.signal(one, lambda *_: asked.set())
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
        access = kubeconfig_files.load([kubeconfig], "")
        stack.enter_context(_housekeeping(access, folder / "plane"))
        (folder / "ready").touch()
        asked.wait()


@contextmanager
def _housekeeping(access: Kubeconfig, plane: Path) -> Iterator[None]:
    """Issue certificates and choose programs meanwhile."""
    ended = threading.Event()
    transport = Blocking(access)
    client = Client(transport, field_manager="cert-manager")
    lease: Document = {
        "apiVersion": LEASES.api_version,
        "kind": LEASES.kind,
        "metadata": {"name": LEASE.name, "namespace": LEASE.namespace},
        "spec": {"holderIdentity": "nobody"},
    }
    run(client.create(LEASES, lease))

    def follow() -> None:
        with closing(transport):
            while not ended.wait(EVERY):
                with suppress(KapyError):
                    _choose(client, plane)
                    _issue(client)

    thread = threading.Thread(target=follow)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _choose(client: Client, plane: Path) -> None:
    """The programs in place of the images of Deployments."""
    wanted = []
    for one in run(client.list(DEPLOYMENTS)).items:
        for container in one["spec"]["template"]["spec"]["containers"]:
            if command := _program(container["image"]):
                key = Key.of(one)
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


def _issue(client: Client) -> None:
    """Write the Secrets of Certificates, and tell webhooks and CRDs whom to trust."""
    objects = [
        {"apiVersion": resource.api_version, "kind": resource.kind, **one}
        for resource in (ISSUERS, CERTIFICATES, *TRUSTING)
        for one in _all(client, resource)
    ]
    with suppress(CertificateError):  # an Issuer that is not there yet
        found = run(with_own_authority(client, objects, now=system_clock()))
        before = {(one["kind"], Key.of(one)): one for one in objects}
        for one in found:
            _write(client, before.get((one["kind"], Key.of(one))), one)


def _all(client: Client, resource: Resource) -> list[Document]:
    try:
        return list(run(client.list(resource)).items)
    except NotFound:
        return []


def _write(client: Client, before: Document | None, after: Document) -> None:
    if before is None:
        with suppress(AlreadyExists):
            run(client.create(SECRETS, after))
    elif before != after:
        (resource,) = (one for one in TRUSTING if one.kind == after["kind"])
        run(client.update(resource, after))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
