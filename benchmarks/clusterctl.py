"""`kapy init` of core, kubeadm and one infrastructure provider, on a server of its own process.

The components are the CRDs of our own kinds, as large as the released ones, with a Deployment each.
Where CLUSTERCTL names upstream's executable, it does the same on another empty server.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from kapy._aio.clock import system_clock
from kapy.api.crds import crds, for_kubernetes
from kapy.apiserver.auth.authentication import Authenticator
from kapy.apiserver.server import Server
from kapy.apiserver.serving import Application, listen, server_context
from kapy.apps.credentials import issue_credentials
from kapy.apps.settings import Serving
from kapy.client.client import Client
from kapy.kube import Document, yaml
from kapy.kube.http import ADMIN
from kapy.kube.names import CRDS

Row = dict[str, Any]

PEER: Final = "CLUSTERCTL"
VERSION: Final = "v1.14.0"
_PROVIDERS: Final = (
    ("cluster-api", "CoreProvider", "cluster-api", "core"),
    ("kubeadm", "BootstrapProvider", "bootstrap-kubeadm", "bootstrap"),
    ("kubeadm", "ControlPlaneProvider", "control-plane-kubeadm", "control-plane"),
    ("docker", "InfrastructureProvider", "infrastructure-docker", "infrastructure"),
)
_LABEL: Final = "cluster.x-k8s.io/provider"


async def init(foreign: int) -> list[Row]:
    """`foreign`: CRDs of others that are there."""
    programs = {"kapy": [sys.executable, "-m", "kapy.cli.main"]}
    if peer := os.environ.get(PEER):
        programs["clusterctl"] = [peer]
    rows = []
    for name, command in programs.items():
        with tempfile.TemporaryDirectory() as folder:
            _release(Path(folder))
            async with _empty_server(foreign, Path(folder) / "kubeconfig"):
                rows.append(
                    {"step": f"{name} init, {foreign} foreign CRDs", **_run(command, folder)}
                )
    return rows


def _run(command: list[str], folder: str) -> Row:
    environ = {**os.environ, "HOME": folder, "XDG_CONFIG_HOME": folder}
    places = ["--config", f"{folder}/clusterctl.yaml", "--kubeconfig", f"{folder}/kubeconfig"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    subprocess.run(
        [*command, "init", "--infrastructure", "docker", *places],
        env=environ,
        check=True,
        capture_output=True,
    )
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    # The largest of all children so far; the others are small.
    return {"wall_s": round(wall, 3), "cpu_s": round(cpu, 3), "peak_mb": after.ru_maxrss // 1024}


def _release(folder: Path) -> None:
    """The providers as a folder repository, with its configuration."""
    listed = []
    for name, of_type, label, word in _PROVIDERS:
        place = folder / "providers" / label / VERSION
        place.mkdir(parents=True)
        file = place / f"{word}-components.yaml"
        file.write_text(yaml.dump_all(list(_components(label))))
        (place / "metadata.yaml").write_text(
            "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\n"
            "releaseSeries: [{major: 1, minor: 14, contract: v1beta2}]\n"
        )
        listed.append({"name": name, "type": of_type, "url": str(file)})
    (folder / "clusterctl.yaml").write_text(yaml.dump({"providers": listed}))


def _components(label: str) -> Iterator[Document]:
    namespace = f"{label}-system"
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    for crd in crds():
        if crd["metadata"]["labels"][_LABEL] == label:
            yield for_kubernetes(crd)
    pod = {"containers": [{"name": "manager", "image": f"registry.example/{label}:{VERSION}"}]}
    yield {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": f"{label}-manager", "namespace": namespace},
        "spec": {
            "selector": {"matchLabels": {"app": label}},
            "template": {"metadata": {"labels": {"app": label}}, "spec": pod},
        },
    }


@asynccontextmanager
async def _empty_server(foreign: int, kubeconfig: Path) -> AsyncIterator[None]:
    """Run a server with `foreign` custom kinds as a process, and write its kubeconfig."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.clusterctl", str(foreign)), stdin=PIPE, stdout=PIPE
    )
    assert process.stdout is not None
    data = await process.stdout.readline()
    await asyncio.to_thread(kubeconfig.write_bytes, data)
    try:
        yield
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


async def _serve(foreign: int) -> None:
    credentials = issue_credentials(Serving(), system_clock())
    tls = server_context(
        credentials.server.certificate, credentials.server.key, credentials.authority.certificate
    )
    server = Server.open(None, clock=system_clock)
    listening = listen(Application(server, Authenticator()), tls=tls)
    async with asyncio.TaskGroup() as group, listening as (host, port):
        running = group.create_task(server.run())
        client = Client(server.transport(ADMIN))
        for crd in (
            *_foreign(foreign),
            _of_cert_manager("Certificate"),
            _of_cert_manager("Issuer"),
        ):
            await client.create(CRDS, crd)
        user = {
            "client-certificate-data": _base64(credentials.administrator.certificate),
            "client-key-data": _base64(credentials.administrator.key),
        }
        cluster = {
            "server": f"https://{host}:{port}",
            "certificate-authority-data": _base64(credentials.authority.certificate),
        }
        messages = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "x",
            "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
            "clusters": [{"name": "x", "cluster": cluster}],
            "users": [{"name": "x", "user": user}],
        }
        sys.stdout.write(json.dumps(messages) + "\n")
        sys.stdout.flush()
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        running.cancel()
    server.close()


def _foreign(number: int) -> Iterator[Document]:
    for item in range(number):
        yield _crd(f"group{item % 20}.example.com", f"Thing{item}")


def _of_cert_manager(kind: str) -> Document:
    """clusterctl asks whether it can have a certificate."""
    return _crd("cert-manager.io", kind)


def _crd(group: str, kind: str) -> Document:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"openAPIV3Schema": anything}
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": CRDS.api_version,
        "kind": CRDS.kind,
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1])))
