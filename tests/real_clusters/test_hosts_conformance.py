"""`kapy conformance run` of the provider of hosts, whose Hosts are containers with OpenSSH."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from base64 import b64encode
from pathlib import Path
from typing import Final

import pytest
from kapy_hosts import PROVIDER
from kapy_hosts.kinds import HostCluster, HostMachine, HostMachinePool

from kapy.apps.provider.release import write_release
from kapy.kube import Document
from kapy.kube.names import Resource
from kapy.kube.yaml import dump
from tests.real_clusters.engine import container_engine
from tests.real_clusters.host_containers import start_hosts, traces
from tests.real_clusters.host_scene import KEY, host_document, public_key
from tests.real_clusters.parts import OLD, ROOT, tell

pytestmark = pytest.mark.sockets

HOSTS: Final = tuple(f"host-{number}" for number in range(1, 7))
FAULTS: Final = os.environ.get("KAPY_REAL_FAULTS") or "2"
"""Number of runs with injected faults."""
LIMIT: Final = 5400.0


async def test_the_contracts_are_kept_with_real_hosts(tmp_path: Path) -> None:
    release = write_release(PROVIDER, "v0.1.0", tmp_path)
    async with container_engine(tmp_path) as engine:
        addresses = await start_hosts(engine, HOSTS, public_key())
        examples = tmp_path / "examples.yaml"
        examples.write_text("---\n".join(map(dump, _examples(addresses))))
        options = ["--examples", str(examples), "--parallel", "1", "--within", "120"]
        options += ["--variable", f"KUBERNETES_VERSION={OLD.version}"]
        options += ["--variable", f"CONTROL_PLANE_ENDPOINT_HOST={addresses['host-1']}"]
        options += ["--faults", FAULTS, "--fail-on", "SHOULD"]
        began = time.monotonic()
        code, said = await _judge(str(release), *options)
        tell(f"conformance with real hosts: {time.monotonic() - began:.0f} s\n{said}")
        assert code == 0
        assert "was never" not in said
        for name in HOSTS:
            assert await traces(engine, name) == ""


async def _judge(*words: str) -> tuple[int | None, str]:
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "providers" / "hosts")])
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "kapy", "conformance", "run", *words),
        *("--", sys.executable, "-m", "kapy_hosts"),
        env={**os.environ, "PYTHONPATH": path},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(LIMIT):
        data, _ = await process.communicate()
    return process.returncode, data.decode()


def _examples(addresses: dict[str, str]) -> list[Document]:
    """Each kind, and the hosts with their key. A Host moves with its Cluster by a label."""
    moved = {"clusterctl.cluster.x-k8s.io/move": ""}
    data = {"ssh-privatekey": b64encode(KEY.export_private_key()).decode()}
    secret: Document = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "key", "labels": moved},
        "data": data,
    }
    endpoint = {"controlPlaneEndpoint": {"host": addresses["host-1"], "port": 6443}}
    specs: list[tuple[Resource, Document]] = [
        (HostCluster.RESOURCE, endpoint),
        (HostMachine.RESOURCE, {}),
        (HostMachinePool.RESOURCE, {"template": {}}),
    ]
    kinds = [
        {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": "example"},
            "spec": spec,
        }
        for resource, spec in specs
    ]
    hosts = []
    for name, address in addresses.items():
        document = host_document(name, address, {"privateKeySecretRef": {"name": "key"}})
        document["metadata"]["labels"].update(moved)
        hosts.append(document)
    return [secret, *kinds, *hosts]
