"""A plane for one spec, with upstream's runtime extension beside it."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kapy._aio.clock import system_clock
from kapy.client import kubeconfig_files
from kapy.client.blocking import Blocking, run
from kapy.client.client import Client
from kapy.kube import Document, pki
from kapy.kube.errors import KapyError
from kapy.kube.names import CONFIG_MAPS, NAMESPACES, SECRETS, Resource
from kapy.kube.yaml import dump
from tests.real.servers import free_port
from tests.real.specs import parts
from tests.real.specs.catalogue import Spec
from tests.real.specs.containers import containers
from tests.real.specs.machines import machines

PATIENCE: Final = 180.0
NAMESPACE: Final = "test-extension-system"
SERVICE: Final = "test-extension-webhook-service"
GATES: Final = (
    "ClusterTopology=true,RuntimeSDK=true,InPlaceUpdates=true,MachineTaintPropagation=true,"
    "KubeadmBootstrapFormatIgnition=true"
)


class NotReady(Exception):
    """A plane that does not serve."""


@dataclass(frozen=True, slots=True)
class Bed:
    """Where a spec runs. folder: of its files. engine: the container engine's address."""

    folder: Path
    kubeconfig: Path
    engine: str


def kapy() -> str:
    """The program `kapy` of this environment."""
    return str(Path(sys.executable).with_name("kapy"))


@contextmanager
def bed(folder: Path, spec: Spec) -> Iterator[Bed]:
    """A plane that serves, with the extension, and an engine for machines in containers; all of
    them end with the context."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        engine = f"unix://{folder / 'no-docker.sock'}"
        if spec.machines == "containers":
            engine = stack.enter_context(containers(folder, managers=spec.managers))
        made = Bed(folder, folder / "kubeconfig", engine)
        _begin(made, stack)
        yield made


def _begin(made: Bed, stack: ExitStack) -> None:
    folder, port = made.folder, free_port()
    command = [
        *(kapy(), "up", "--name", f"specs-{folder.name}", "--data-dir", str(folder / "plane")),
        *("--port", "0", "--kubeconfig", str(made.kubeconfig), "--feature-gates", GATES),
        *("--webhook-service", f"{NAMESPACE}/{SERVICE}=127.0.0.1:{port}"),
        *("--audit-log-path", str(folder / "audit.log")),
    ]
    environment = {
        **os.environ,
        "DOCKER_HOST": made.engine,
        "POD_IP": "127.0.0.1",  # a port for each workload cluster in memory
    }
    stack.enter_context(process(folder / "plane.log", command, environment))
    _wait(lambda: _serves(made.kubeconfig), folder / "plane.log")
    _furnish(made)
    stack.enter_context(_extension(made, port))
    access = kubeconfig_files.load([made.kubeconfig], "")
    stack.enter_context(machines(access, folder / "machines"))


def _furnish(made: Bed) -> None:
    """Write what kubeadm and cert-manager would have made on a management cluster."""
    now = system_clock()
    authority = pki.new_ca("test-extension", now=now)
    names = (f"{SERVICE}.{NAMESPACE}.svc", "localhost")
    leaf = pki.issue(authority, names[0], now=now, names=names, usages=("server",))
    certificates = made.folder / "certificates"
    certificates.mkdir()
    (certificates / "tls.crt").write_bytes(leaf.certificate)
    (certificates / "tls.key").write_bytes(leaf.key)
    access = kubeconfig_files.load([made.kubeconfig], "")
    cluster = {"name": "", "cluster": {"server": access.server}}
    info = {"apiVersion": "v1", "kind": "Config", "clusters": [cluster]}
    objects: tuple[tuple[Resource, Document], ...] = (
        (NAMESPACES, _object("Namespace", "", NAMESPACE)),
        (
            SECRETS,
            {
                **_object("Secret", NAMESPACE, f"{SERVICE}-cert"),
                "data": {"ca.crt": base64.b64encode(authority.certificate).decode()},
            },
        ),
        (
            CONFIG_MAPS,
            {
                **_object("ConfigMap", "kube-public", "cluster-info"),
                "data": {"kubeconfig": dump(info)},
            },
        ),
    )
    transport = Blocking(access)
    with closing(transport):
        for resource, one in objects:
            run(Client(transport).create(resource, one))


@contextmanager
def _extension(made: Bed, port: int) -> Iterator[None]:
    command = [
        *(str(parts.extension()), f"--webhook-port={port}", "--health-addr=127.0.0.1:0"),
        *(f"--webhook-cert-dir={made.folder / 'certificates'}", "--diagnostics-address=0"),
    ]
    environment = {**os.environ, "KUBECONFIG": str(made.kubeconfig)}
    with process(made.folder / "extension.log", command, environment):
        yield


@contextmanager
def process(
    log: Path, command: list[str], environment: dict[str, str] | None = None
) -> Iterator[None]:
    """A process, which ends with the context."""
    with (
        log.open("ab") as said,
        subprocess.Popen(
            command, env=environment, stdout=said, stderr=said, stdin=subprocess.DEVNULL
        ) as started,
    ):
        try:
            yield
        finally:
            started.terminate()


def _object(kind: str, namespace: str, name: str) -> Document:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata}


def _serves(kubeconfig: Path) -> bool:
    if not kubeconfig.exists():
        return False
    transport = Blocking(kubeconfig_files.load([kubeconfig], ""))
    with closing(transport), suppress(KapyError):
        run(Client(transport).raw("GET", "/api/v1/namespaces/kube-public"))
        return True
    return False


def _wait(holds: Callable[[], bool], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > deadline:
            raise NotReady(f"after {PATIENCE:.0f} s: {log.read_text()[-2000:]}")
        time.sleep(0.1)
