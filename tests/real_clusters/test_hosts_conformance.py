"""`kapy conformance run` of the provider of hosts, whose Hosts are containers with OpenSSH."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Final

import pytest
from kapy_hosts import PROVIDER
from kapy_hosts.kinds import HostCluster, HostMachine, HostMachinePool

from kapy.apps.provider.release import write_release
from kapy.kube import Document
from kapy.kube.names import Resource
from tests.real_clusters.engine import container_engine
from tests.real_clusters.host_containers import start_hosts, traces
from tests.real_clusters.host_setup import KEY, host_document, public_key
from tests.real_clusters.judge import PARALLEL, judge

pytestmark = pytest.mark.sockets

HOSTS: Final = tuple(f"host-{number}" for number in range(1, 6 * int(PARALLEL) + 1))
"""Six for each check that runs at the same time."""


async def test_the_contracts_are_kept_with_real_hosts(tmp_path: Path) -> None:
    release = write_release(PROVIDER, "v0.1.0", tmp_path)
    async with container_engine(tmp_path) as engine:
        addresses = await start_hosts(engine, HOSTS, public_key())
        variables = {"CONTROL_PLANE_ENDPOINT_HOST": addresses["host-1"]}
        await judge(release, ["kapy_hosts"], _examples(addresses), variables, {})
        for name in HOSTS:
            assert await traces(engine, name) == ""


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
    for number, (name, address) in enumerate(addresses.items()):
        access = {"privateKeySecretRef": {"name": "key"}, "failureDomain": f"rack-{number % 2}"}
        document = host_document(name, address, access)
        document["metadata"]["labels"].update(moved)
        hosts.append(document)
    return [secret, *kinds, *hosts]
