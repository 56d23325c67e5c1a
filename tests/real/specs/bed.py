"""A plane for one spec, with upstream's runtime extension beside it."""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kapy._aio.clock import system_clock
from kapy.client import kubeconfig_files
from kapy.client.blocking import BlockingApiTransport, run_without_loop
from kapy.client.client import Client
from kapy.kube import Document, pki
from kapy.kube.names import CONFIG_MAPS, NAMESPACES, SECRETS, Resource
from kapy.kube.yaml import dump
from tests.real.servers import free_port
from tests.real.specs import parts
from tests.real.specs.autoscaler import autoscalers
from tests.real.specs.catalogue import Spec
from tests.real.specs.containers import containers
from tests.real.specs.kind_nodes import nodes
from tests.real.specs.machines import machines
from tests.real.specs.plane import kapy, process, serves, until

NAMESPACE: Final = "test-extension-system"
SERVICE: Final = "test-extension-webhook-service"
GATES: Final = (
    "ClusterTopology=true,RuntimeSDK=true,InPlaceUpdates=true,MachineTaintPropagation=true,"
    "KubeadmBootstrapFormatIgnition=true"
)


@dataclass(frozen=True, slots=True)
class Bed:
    """The environment of a spec. folder: of its files. engine: the container engine's address.
    environment: more variables of the spec."""

    folder: Path
    kubeconfig: Path
    engine: str
    environment: dict[str, str] = field(default_factory=dict)


@contextmanager
def bed(folder: Path, spec: Spec) -> Iterator[Bed]:
    """A plane that serves, with the extension, and an engine for machines in containers; all of
    them end with the context."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        engine = f"unix://{folder / 'no-docker.sock'}"
        if spec.machines == "containers":
            engine = stack.enter_context(containers(folder, spec))
        of_kind = spec.old and spec.machines == "memory"
        environment = stack.enter_context(nodes(folder)) if of_kind else {}
        result = Bed(folder, folder / "kubeconfig", engine, environment)
        _begin(result, stack)
        if spec.old and not of_kind:
            command = [sys.executable, "-m", "tests.real.specs.certificates"]
            command.append(str(result.kubeconfig))
            stack.enter_context(process(folder / "certificates.log", command))
        if spec.autoscaler:
            access = kubeconfig_files.load([result.kubeconfig], "")
            stack.enter_context(autoscalers(access, folder / "autoscalers"))
        yield result


def _begin(value: Bed, stack: ExitStack) -> None:
    folder, port = value.folder, free_port()
    command = [
        *(kapy(), "up", "--name", f"specs-{folder.name}", "--data-dir", str(folder / "plane")),
        *("--port", "0", "--kubeconfig", str(value.kubeconfig), "--feature-gates", GATES),
        *("--webhook-service", f"{NAMESPACE}/{SERVICE}=127.0.0.1:{port}"),
        *("--audit-log-path", str(folder / "audit.log")),
    ]
    environment = {
        **os.environ,
        "DOCKER_HOST": value.engine,
        "POD_IP": "127.0.0.1",  # a port for each workload cluster in memory
    }
    stack.enter_context(process(folder / "plane.log", command, environment))
    until(lambda: serves(value.kubeconfig), folder / "plane.log")
    _furnish(value)
    stack.enter_context(_extension(value, port))
    access = kubeconfig_files.load([value.kubeconfig], "")
    stack.enter_context(machines(access, folder / "machines"))


def _furnish(value: Bed) -> None:
    """Write what kubeadm and cert-manager would have made on a management cluster."""
    now = system_clock()
    authority = pki.new_ca("test-extension", now=now)
    names = (f"{SERVICE}.{NAMESPACE}.svc", "localhost")
    leaf = pki.issue(authority, names[0], now=now, names=names, usages=("server",))
    certificates = value.folder / "certificates"
    certificates.mkdir()
    (certificates / "tls.crt").write_bytes(leaf.certificate)
    (certificates / "tls.key").write_bytes(leaf.key)
    access = kubeconfig_files.load([value.kubeconfig], "")
    trusted = base64.b64encode(access.certificate_authority).decode()
    server = {"server": access.server, "certificate-authority-data": trusted}
    cluster = {"name": "", "cluster": server}
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
    transport = BlockingApiTransport(access)
    with closing(transport):
        for resource, document in objects:
            run_without_loop(Client(transport).create(resource, document))


@contextmanager
def _extension(value: Bed, port: int) -> Iterator[None]:
    command = [
        *(str(parts.extension()), f"--webhook-port={port}", "--health-addr=127.0.0.1:0"),
        *(f"--webhook-cert-dir={value.folder / 'certificates'}", "--diagnostics-address=0"),
    ]
    environment = {**os.environ, "KUBECONFIG": str(value.kubeconfig)}
    with process(value.folder / "extension.log", command, environment):
        yield


def _object(kind: str, namespace: str, name: str) -> Document:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata}
