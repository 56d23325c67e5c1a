"""Tests of the archive about a Cluster, with an in-memory server and consoles of the test."""

from __future__ import annotations

import asyncio
import io
import tarfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import pytest

from kapy.api.cluster import Cluster
from kapy.api.dev_machine import DevMachine
from kapy.api.machine import Machine
from kapy.client.client import Client
from kapy.clusterctl.debug import CollectOptions, CollectResult, NoSuchCluster, collect
from kapy.clusterctl.debug.archive import Archive
from kapy.kube import Document, Key
from kapy.kube.errors import Unreachable
from kapy.kube.http import Reply, Request
from kapy.kube.names import NODES, PODS, SECRETS
from kapy.sdk.console import ConsoleUnavailable, LogRequest, MachineConsole, MachineTarget
from kapy.testing.planes import RunningPlane, on_virtual_time, plane
from tests.clusterctl.debug.test_redaction import (
    BOOT_DATA,
    KUBECONFIG,
    PEM,
    SENTENCES,
    TOKEN,
    base64_of,
    leaks,
)

KEY = Key("default", "blue")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
REF = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachine"}


class Console(MachineConsole):
    """A machine whose log has every secret, and one log that never answers."""

    sources: ClassVar[Mapping[str, str]] = {"bootstrap": "", "stuck": "", "none": ""}

    def serves(self, infra: Document) -> bool:
        return bool(infra["kind"] == "DevMachine")

    async def logs(self, target: MachineTarget, wanted: LogRequest) -> AsyncIterator[bytes]:
        if wanted.source == "none":
            raise ConsoleUnavailable(f"{target.name} has none, as its token={TOKEN} is gone")
        yield b"begin\n" + "\n".join(SENTENCES.values()).encode()
        if wanted.source == "stuck":
            await asyncio.get_running_loop().create_future()

    async def versions(self) -> Mapping[str, str]:
        return {"engine": "1"}


def cluster(name: str) -> Document:
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Cluster",
        "metadata": {
            "name": name,
            "namespace": "default",
            "annotations": {"note": SENTENCES["bearer"], "paused-by": "the test"},
        },
        "spec": {"paused": True, "infrastructureRef": {**REF, "kind": "DevCluster", "name": name}},
    }


def machine(name: str, owner: str) -> Document:
    labels = {"cluster.x-k8s.io/cluster-name": owner}
    spec: Document = {
        "clusterName": owner,
        "bootstrap": {"dataSecretName": f"{name}-data"},
        "infrastructureRef": {**REF, "name": name},
    }
    metadata = {"name": name, "namespace": "default", "labels": labels}
    return {
        "apiVersion": cluster(owner)["apiVersion"],
        "kind": "Machine",
        "metadata": metadata,
        "spec": spec,
    }


def secret(name: str, owner: str, **data: str) -> Document:
    labels = {"cluster.x-k8s.io/cluster-name": owner}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "data": {key: base64_of(value) for key, value in data.items()},
    }


async def filled(there: RunningPlane) -> None:
    """A paused Cluster of two, with a Machine and Secrets each."""
    for name in ("blue", "green"):
        await there.client.create(Cluster.RESOURCE, cluster(name))
        await there.client.create(Machine.RESOURCE, machine(f"{name}-0", name))
        infra: Document = {
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
            "kind": "DevMachine",
            "metadata": {
                "name": f"{name}-0",
                "namespace": "default",
                "labels": {"cluster.x-k8s.io/cluster-name": name},
            },
            "spec": {"backend": {"inMemory": {}}},
        }
        await there.client.create(DevMachine.RESOURCE, infra)
        await there.client.create(SECRETS, secret(f"{name}-ca", name, **{"tls.key": PEM}))
        await there.client.create(SECRETS, secret(f"{name}-kubeconfig", name, value=KUBECONFIG))
        await there.client.create(SECRETS, secret(f"{name}-0-data", name, value=BOOT_DATA))


def workload(there: RunningPlane) -> Any:
    """The server itself as the workload cluster."""

    @asynccontextmanager
    async def dial(kubeconfig: str) -> AsyncIterator[Client]:
        assert kubeconfig == KUBECONFIG
        yield there.client

    return dial


def read(file: io.BytesIO) -> dict[str, str]:
    """The files of an archive by their names."""
    file.seek(0)
    with tarfile.open(fileobj=file) as tar:
        results = {member.name: tar.extractfile(member) for member in tar}
        return {name: value.read().decode() for name, value in results.items() if value is not None}


async def collected(there: RunningPlane, **how: Any) -> tuple[dict[str, str], CollectResult]:
    options = {"consoles": lambda _: Console(), "dial": workload(there), "now": NOW, **how}
    file = io.BytesIO()
    collect_result = await collect(there.client, KEY, file, CollectOptions(**options))
    return read(file), collect_result


@on_virtual_time
async def test_everything_about_the_cluster_is_there_and_no_secret(tmp_path: Path) -> None:
    (tmp_path / "plane.log").write_text("plane begins\n" + "\n".join(SENTENCES.values()))
    async with plane() as there:
        await filled(there)
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "blue-0"}, "spec": {}}
        await there.client.create(NODES, node)
        logs = [str(tmp_path / "plane.log")]
        files, collect_result = await collected(there, plane_logs=logs)
    names = {name.removeprefix("kapy-debug/") for name in files}
    assert {
        "README.txt",
        "events.txt",
        "objects/default/Cluster/blue.yaml",
        "objects/default/Machine/blue-0.yaml",
        "objects/default/DevMachine/blue-0.yaml",
        "objects/default/Secret/blue-ca.yaml",
        "objects/default/Secret/blue-0-data.yaml",
        "workload/nodes/blue-0.yaml",
        "versions/kapy.yaml",
        "versions/management-cluster.yaml",
        "versions/machines.yaml",
        "machines/blue-0/bootstrap.log",
        "managers/plane-0.log",
    } <= names
    assert not [name for name in names if "green" in name]
    assert {name: leaks(text) for name, text in files.items() if leaks(text)} == {}
    assert "tls.key: REDACTED" in files["kapy-debug/objects/default/Secret/blue-ca.yaml"]
    assert "the test" in files["kapy-debug/objects/default/Cluster/blue.yaml"]
    assert files["kapy-debug/machines/blue-0/bootstrap.log"].startswith("begin\n")
    txt = files["kapy-debug/README.txt"]
    assert "machines/blue-0/stuck.log: it was not read within 20 s" in txt
    assert "machines/blue-0/none.log: blue-0 has none" in txt
    assert not leaks("\n".join(collect_result.missing))
    assert files["kapy-debug/machines/blue-0/stuck.log"].startswith("begin\n")  # as far as it came


@on_virtual_time
async def test_unavailable_parts_are_reported_and_the_others_collected() -> None:
    @asynccontextmanager
    async def nobody(_: str) -> AsyncIterator[Client]:
        raise Unreachable("cannot reach 172.18.0.3:6443: timed out")
        yield  # pragma: no cover

    def unknown(_: Document) -> MachineConsole:
        raise ConsoleUnavailable("no console of its provider is known")

    async with plane() as there:
        await filled(there)
        files, collect_result = await collected(there, dial=nobody, consoles=unknown)
        assert "kapy-debug/objects/default/Machine/blue-0.yaml" in files
        message = "\n".join(collect_result.missing)
        assert "workload cluster: cannot reach 172.18.0.3:6443" in message
        assert "Machine blue-0: no console of its provider is known" in message
        assert "logs of managers: no Pod of a provider is there" in message
        files, collect_result = await collected(there, within=0.0)
        assert (
            "logs of machines: not all was read in the time that was given"
            in collect_result.missing
        )
        assert "kapy-debug/README.txt" in files
        how = CollectOptions(consoles=unknown, dial=nobody, now=NOW)
        with pytest.raises(NoSuchCluster, match="no Cluster other in namespace default"):
            await collect(there.client, Key("default", "other"), io.BytesIO(), how)


async def test_the_size_is_bounded() -> None:
    async def lines() -> AsyncIterator[bytes]:
        for number in range(10_000):
            yield f"line {number}\n".encode()

    file = io.BytesIO()
    archive = Archive(file, NOW, max_bytes=3000, log=2000)
    await archive.log("a.log", lines())
    await archive.text("b.txt", "x" * 2000)
    await archive.text("c.txt", "small")
    archive.close()
    files = read(file)
    assert files.keys() == {"kapy-debug/a.log", "kapy-debug/c.txt"}
    assert files["kapy-debug/a.log"].startswith("(only the last 2000 bytes)\nline ")
    assert files["kapy-debug/a.log"].endswith("line 9999\n")
    assert archive.missing == ["b.txt: the archive has its full size already"]


@on_virtual_time
async def test_logs_of_managers_are_those_of_their_pods() -> None:
    pod: Document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "manager-x",
            "namespace": "default",
            "labels": {"cluster.x-k8s.io/provider": "cluster-api"},
        },
        "spec": {
            "containers": [{"name": "manager", "image": "i"}, {"name": "proxy", "image": "i"}]
        },
    }
    async with plane() as there:
        await filled(there)
        await there.client.create(PODS, pod)
        inner = there.client.transport

        async def with_logs(request: Request) -> Reply:
            if not request.path.endswith("/pods/manager-x/log"):
                return await inner(request)
            assert request.query["limitBytes"]
            if request.query["container"] == "proxy":
                return Reply(400, {"kind": "Status", "message": "container is waiting to start"})
            return Reply(200, "\n".join(("begin", *SENTENCES.values())).encode())

        file = io.BytesIO()
        how = CollectOptions(consoles=lambda _: Console(), dial=workload(there), now=NOW)
        collect_result = await collect(Client(with_logs), KEY, file, how)
        files = read(file)
    log = files["kapy-debug/managers/default/manager-x/manager.log"]
    assert log.startswith("begin\n")
    assert not leaks(log)
    message = "managers/default/manager-x/proxy.log: container is waiting to start"
    assert message in collect_result.missing
