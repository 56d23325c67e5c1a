"""A newer kapy starts in the folder of a killed plane: its containers go on, none is started twice.

The test writes the state of the earlier kapy in the format of its release: files, network, labels.
A change of the format must still read the earlier one, or all containers of users start again.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from kapy.containers import Container, Network
from kapy.kube import Document
from tests.node_agent.fake_engine import STARTED, FakeContainer
from tests.node_agent.test_containers import IMAGE, Setup, pod

SERVER, ADDRESS, PORT = "172.20.0.1", "172.20.0.2", 30001
NETWORK_LABEL = "cluster.x-k8s.io/kapy-network-of"


def own_pod() -> Document:
    document = pod("first", "beside", securityContext={"runAsUser": 65532}, hostAliases=[])
    document["spec"]["containers"][0]["env"] = [{"name": "A", "value": "1"}]
    return document


def leave_behind(setup: Setup) -> None:
    """Write the files and containers that kapy 0.1.0 leaves of a plane with one Pod."""
    engine, plane = setup.engine, str(setup.plane)
    used = {"engine": "unix:///fake.sock", "port": PORT}
    (setup.agent / "containers.json").write_text(json.dumps(used))
    (setup.agent / "addresses.json").write_text(json.dumps({"u-1": ADDRESS}))
    network = f"kapy-{blake2b(plane.encode(), digest_size=4).hexdigest()}"
    labels = {"cluster.x-k8s.io/kapy-plane": plane}
    subnet = {**labels, "cluster.x-k8s.io/kapy-subnet": "172.20.0.0/16"}
    engine.networks[network] = Network(network, ("172.20.0.0/16",), subnet, (SERVER,))
    engine._configured.add(network)
    digests = {"first": "541083167bbfed9a", "beside": "9a7b1032c56fccb1"}
    for name, more in (("first", {}), ("beside", {NETWORK_LABEL: "id-first"})):
        mode = f"container:{more[NETWORK_LABEL]}" if more else network
        own = {
            **labels,
            **more,
            "io.kubernetes.pod.uid": "u-1",
            "io.kubernetes.pod.name": "foo-1",
            "io.kubernetes.pod.namespace": "foo-system",
            "io.kubernetes.container.name": name,
            "io.kubernetes.container.restartCount": "3",
            "cluster.x-k8s.io/kapy-container-spec": digests[name],
        }
        record = Container(
            id=f"id-{name}", name=f"kapy-foo-system-foo-1-{name}", image=IMAGE, state="running",
            labels=own, started=STARTED, image_id="sha256:1",
            addresses={} if more else {network: (ADDRESS, "")},
        )  # fmt: skip
        config: dict[str, Any] = {"Labels": own, "HostConfig": {"NetworkMode": mode}}
        engine.made[record.id] = FakeContainer(config, record)


@pytest.fixture
def setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Setup:
    monkeypatch.setattr("kapy.node_agent.containers.network.ROUTES", tmp_path / "routes")
    stage_there = Setup(tmp_path)
    leave_behind(stage_there)
    return stage_there


async def test_a_newer_kapy_finds_the_containers_of_an_earlier_one(setup: Setup) -> None:
    runtime = setup.runtime()
    for index in range(2):
        config = await setup.config(runtime, own_pod(), index=index, restarts=3)
        assert (config.server, config.address) == ((SERVER, PORT), ADDRESS)
        container = await runtime.find(config)
        assert container is not None
        assert container.identity == f"docker://id-{config.name}"
        assert container.address == ADDRESS
    assert setup.engine.diary == [], "nothing is made, stopped or removed"
    await runtime._tidy({"u-1"})
    assert len(setup.engine.running()) == 2
    await runtime.forget(own_pod())
    assert not setup.engine.made


async def test_a_container_of_an_earlier_start_is_replaced_once(setup: Setup) -> None:
    runtime = setup.runtime()
    config = await setup.config(runtime, own_pod(), restarts=4)
    assert await runtime.find(config) is None
    first = await runtime.start(config)
    assert first.address == ADDRESS
    running = [
        container.record.labels["io.kubernetes.container.name"]
        for container in setup.engine.running()
    ]
    assert sorted(running) == ["beside", "first"]
