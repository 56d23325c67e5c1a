"""Containers of Pods on an engine in memory: started once, found again, and none but our own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kapy._aio.clock import loop_clock
from kapy.containers import Container, EngineError, EngineUnreachable, Image
from kapy.kube import Document
from kapy.node_agent.containers.leftovers import remove
from kapy.node_agent.containers.names import PLANE, POD_UID
from kapy.node_agent.containers.network import read_used
from kapy.node_agent.containers.runtime import Containers
from kapy.node_agent.runtime import ContainerConfig, Running, StartFailed
from tests.node_agent.fake_engine import FakeContainer, FakeEngine

IMAGE = "registry.example/foo@sha256:1"


def pod(*names: str, **spec: Any) -> Document:
    containers = [
        {"name": name, "image": IMAGE, "imagePullPolicy": "IfNotPresent"} for name in names or "m"
    ]
    metadata = {"name": "foo-1", "namespace": "foo-system", "uid": "u-1"}
    return {"metadata": metadata, "spec": {"containers": containers, **spec}}


class Setup:
    """An engine, and runtimes of planes in one folder."""

    def __init__(self, folder: Path) -> None:
        self.plane = folder / "plane"
        self.agent = self.plane / "node"
        self.agent.mkdir(parents=True)
        self.engine = FakeEngine()
        self.engine.images[IMAGE] = Image("sha256:1", (IMAGE,), "65532", ("/manager",))
        self.listened: list[tuple[str, int]] = []
        self.told: list[tuple[str, str]] = []

    def runtime(self, **more: Any) -> Containers:
        """The runtime of a plane that was started now."""

        async def listen(host: str, port: int) -> int:
            self.listened.append((host, port))
            return port or 30001

        return Containers(
            self.plane, self.agent, open_engine=lambda: self.engine, listen=listen,
            clock=loop_clock(), host_address="127.0.0.1", workload=lambda _: "foo", **more,
        )  # fmt: skip

    async def config(
        self,
        runtime: Containers,
        document: Document | None = None,
        *,
        index: int = 0,
        restarts: int = 0,
        environment: Mapping[str, str] | None = None,
    ) -> ContainerConfig:
        document = document or pod()
        container = document["spec"]["containers"][index]
        folder = self.agent / "pods" / "u-1" / container["name"]
        server = await runtime.server(document, self._tell)
        return ContainerConfig(
            document, container, [], [], environment or {}, [], folder, None, folder / "0.log",
            restarts=restarts, server=server, tell=self._tell,
            address="" if server is None else runtime.address(document),
        )  # fmt: skip

    def _tell(self, reason: str, message: str) -> None:
        self.told.append((reason, message))

    @property
    def one(self) -> FakeContainer:
        """The one container that runs."""
        (fake_container,) = self.engine.running()
        return fake_container


@pytest.fixture
def setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Setup:
    monkeypatch.setattr(
        "kapy.node_agent.containers.network.ROUTES", tmp_path / "routes"
    )  # not those of this machine
    return Setup(tmp_path)


async def started(setup: Setup) -> tuple[Containers, Running]:
    runtime = setup.runtime()
    return runtime, await runtime.start(await setup.config(runtime))


async def test_a_container_runs_in_the_network_of_its_plane(setup: Setup) -> None:
    _, running = await started(setup)
    (network,) = setup.engine.networks
    assert setup.one.config["HostConfig"]["NetworkMode"] == network
    assert running.identity == f"docker://{setup.one.record.id}"
    assert running.image == IMAGE, "by digest, where the release names one"
    assert running.address.startswith("172.20.0.")
    assert running.started.isoformat() == "2026-01-01T00:00:01.123456+00:00"
    assert setup.listened == [("172.20.0.1", 0)], "the plane listens on the bridge"


async def test_a_plane_that_was_killed_finds_its_container_and_listens_on_the_same_port(
    setup: Setup,
) -> None:
    _, first = await started(setup)
    again = setup.runtime()
    running = await again.find(await setup.config(again))
    assert running is not None
    assert (running.identity, running.address) == (first.identity, first.address)
    assert setup.listened == [("172.20.0.1", 0), ("172.20.0.1", 30001)]
    assert [text for text in setup.engine.diary if text.startswith("create")] == ["create id-2"]


@pytest.mark.parametrize("field", ["image", "env", "securityContext"])
async def test_a_container_that_was_made_from_something_else_is_ended(
    setup: Setup, field: str
) -> None:
    await started(setup)
    other = pod()
    other["spec"]["containers"][0][field] = f"another {field}"
    again = setup.runtime()
    assert await again.find(await setup.config(again, other)) is None
    assert setup.engine.running() == []


async def test_a_variable_of_a_secret_that_has_changed_ends_nothing(setup: Setup) -> None:
    await started(setup)
    again = setup.runtime()
    assert await again.find(await setup.config(again, environment={"A": "another"})) is not None


async def test_only_its_own_containers_are_removed(setup: Setup) -> None:
    runtime, running = await started(setup)
    others: list[dict[str, str]] = [{}, {PLANE: "/another"}, {POD_UID: "u-1"}]
    for number, labels in enumerate(others):
        record = Container(id=f"x{number}", name="x", image="", state="running", labels=labels)
        setup.engine.made[record.id] = FakeContainer({}, record)
    await remove(setup.engine, setup.plane, {"u-1"})
    assert len(setup.engine.running()) == 4
    await runtime.forget(pod())
    await remove(setup.engine, setup.plane, ())
    assert [fake_container.record.id for fake_container in setup.engine.running()] == [
        "x0",
        "x1",
        "x2",
    ]
    assert running.identity


async def test_containers_of_deleted_pods_are_removed_at_the_start(setup: Setup) -> None:
    await started(setup)
    again = setup.runtime()
    async with asyncio.TaskGroup() as group:
        keeping = group.create_task(again.keep(lambda: {"u-1"}))
        await asyncio.sleep(5)
        assert setup.engine.running()
        keeping.cancel()
    setup.engine.down = True
    again = setup.runtime()
    async with asyncio.TaskGroup() as group:
        keeping = group.create_task(again.keep(set))
        await asyncio.sleep(60)
        setup.engine.down = False
        await asyncio.sleep(5)
        assert not setup.engine.made, "also when the engine is back"
        keeping.cancel()


async def test_a_removal_that_the_engine_refuses_is_tried_again(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    await started(setup)
    again, refusals = setup.runtime(), ["removal is already in progress"] * 3
    remove_one = setup.engine.remove

    async def refused(name: str) -> bool:
        if refusals:
            raise EngineError(refusals.pop())
        return await remove_one(name)

    monkeypatch.setattr(setup.engine, "remove", refused)
    async with asyncio.TaskGroup() as group:
        keeping = group.create_task(again.keep(set))
        await asyncio.sleep(60)
        assert not setup.engine.made
        keeping.cancel()


async def test_a_plane_without_containers_ends_those_of_an_earlier_one(setup: Setup) -> None:
    await started(setup)
    off = setup.runtime(enabled=False)
    assert "--run-pods containers" in await off.refusal(pod())
    async with asyncio.TaskGroup() as group:
        keeping = group.create_task(off.keep(lambda: {"u-1"}))
        await asyncio.sleep(5)
        keeping.cancel()
    assert not setup.engine.made


async def test_an_engine_that_is_away_is_waited_for(setup: Setup) -> None:
    runtime = setup.runtime()
    config = await setup.config(runtime)
    setup.engine.down = True
    async with asyncio.TaskGroup() as group:
        starting = group.create_task(runtime.start(config))
        await asyncio.sleep(30)
        assert setup.told[-1][0] == "EngineUnreachable"
        assert "start it" in setup.told[-1][1]
        setup.engine.down = False
    assert starting.result().identity


async def test_a_missing_engine_is_reported_once_a_pod_needs_it(setup: Setup) -> None:
    request = []

    def nobody() -> FakeEngine:
        request.append(1)
        raise EngineUnreachable("no container engine was found: start Docker or Podman")

    runtime = setup.runtime()
    runtime._open = nobody
    assert not request
    assert "start Docker or Podman" in await runtime.refusal(pod())
    runtime._open = lambda: setup.engine
    assert await runtime.refusal(pod()) == ""


async def test_an_engine_of_another_network_is_refused(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup.engine.rootless = True
    assert "rootful engine" in await setup.runtime().refusal(pod())
    setup.engine.rootless = False
    monkeypatch.setattr("sys.platform", "darwin")
    assert "virtual machine" in await setup.runtime().refusal(pod())
    setup.engine.address = "tcp://192.0.2.1:2376"
    assert "another machine" in await setup.runtime().refusal(pod())


async def test_a_paused_container_has_not_ended(setup: Setup) -> None:
    _, running = await started(setup)
    fake_container = setup.one
    fake_container.record = replace(fake_container.record, state="paused")
    async with asyncio.TaskGroup() as group:
        ended = group.create_task(running.ended())
        await asyncio.sleep(30)
        assert not ended.done()
        again = setup.runtime()
        result = await again.find(await setup.config(again))
        assert result is not None, "and is not started twice"
        setup.engine.end(fake_container, 0)
    assert ended.result().code == 0


async def test_an_engine_that_ends_is_reported_and_the_container_is_seen_to_have_ended(
    setup: Setup,
) -> None:
    _, running = await started(setup)
    container = setup.one
    async with asyncio.TaskGroup() as group:
        ended = group.create_task(running.ended())
        await asyncio.sleep(1)
        assert running.trouble() == ""
        setup.engine.break_connections()
        await asyncio.sleep(3)
        assert "no container engine answers" in running.trouble()
        setup.engine.end(container, 255)
        setup.engine.down = False
    assert ended.result().code == 255
    assert running.trouble() == ""


async def test_a_container_survives_a_restart_of_the_engine(
    setup: Setup,
) -> None:
    _, running = await started(setup)
    async with asyncio.TaskGroup() as group:
        ended = group.create_task(running.ended())
        await asyncio.sleep(1)
        setup.engine.break_connections()
        await asyncio.sleep(3)
        setup.engine.down = False
        await asyncio.sleep(60)
        assert not ended.done()
        assert running.trouble() == "", "that is over"
        setup.engine.end(setup.one, 0)
    assert ended.result().reason == "Completed"


@pytest.mark.parametrize(
    ("end", "reason", "words"),
    [
        (lambda engine, value: engine.end(value, 1), "Error", "it is broken"),
        (lambda engine, value: engine.end(value, 137, out_of_memory=True), "OOMKilled", "memory"),
        (
            lambda engine, value: engine.made.pop(value.record.id),
            "ContainerStatusUnknown",
            "removed",
        ),
    ],
)
async def test_the_end_of_a_container_is_explained(
    setup: Setup, end: Callable[[FakeEngine, FakeContainer], None], reason: str, words: str
) -> None:
    _, running = await started(setup)
    fake_container = setup.one
    fake_container.log = "hello\npanic: it is broken\n\n"
    end(setup.engine, fake_container)
    fake_container.record = replace(fake_container.record, state="exited")
    fake_container.wakes.set()
    messages = await running.ended()
    assert messages.reason == reason
    assert words in f"{messages.message} {messages.said}"


async def test_only_the_previous_container_is_kept_for_its_log(setup: Setup) -> None:
    runtime = setup.runtime()
    for restarts in range(3):
        config = await setup.config(runtime, restarts=restarts)
        await runtime.start(config)
        setup.engine.end(setup.one)
    there = [fake_container.record.labels["io.kubernetes.container.restartCount"]
             for fake_container in setup.engine.made.values()]  # fmt: skip
    assert there == ["1", "2"]


async def test_all_containers_of_a_pod_share_one_network(setup: Setup) -> None:
    runtime, document = setup.runtime(), pod("first", "second")
    second_config = await setup.config(runtime, document, index=1)
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(runtime.start(second_config))
        await asyncio.sleep(10)
        assert not setup.engine.made, "it waits for the network"
        first = await runtime.start(await setup.config(runtime, document))
    second = waiting.result()
    fake_container, two = setup.engine.running()
    assert two.config["HostConfig"]["NetworkMode"] == f"container:{fake_container.record.id}"
    assert "Hostname" not in two.config
    assert second.address == first.address
    assert second.outdated() == ""
    setup.engine.end(fake_container)
    await first.ended()
    assert second.outdated() == "", "not before there is another network"
    await runtime.start(await setup.config(runtime, document, restarts=1))
    assert second.outdated() == "container first has another network"


async def test_a_container_that_starts_again_waits_while_the_first_one_is_down(
    setup: Setup,
) -> None:
    runtime, document = setup.runtime(), pod("first", "second")
    first = await runtime.start(await setup.config(runtime, document))
    setup.engine.end(setup.one)
    await first.ended()
    async with asyncio.TaskGroup() as group:
        second = group.create_task(runtime.start(await setup.config(runtime, document, index=1)))
        await asyncio.sleep(10)
        assert not second.done(), "it would join a network that is gone"
        await runtime.start(await setup.config(runtime, document, restarts=1))
    fake_container, two = setup.engine.running()
    assert two.config["HostConfig"]["NetworkMode"] == f"container:{fake_container.record.id}"


async def test_a_second_container_is_found_again_in_the_same_network_only(setup: Setup) -> None:
    runtime, document = setup.runtime(), pod("first", "second")
    for index in (0, 1):
        await runtime.start(await setup.config(runtime, document, index=index))
    again = setup.runtime()
    for index in (0, 1):
        assert await again.find(await setup.config(again, document, index=index)) is not None
    setup.engine.end(setup.engine.running()[0])
    third = setup.runtime()
    assert await third.find(await setup.config(third, document)) is None
    await third.start(await setup.config(third, document, restarts=1))
    assert await third.find(await setup.config(third, document, index=1)) is None


async def test_a_full_disk_is_reported_and_tried_again(setup: Setup) -> None:
    runtime = setup.runtime()
    config = await setup.config(runtime)
    setup.engine.full = True
    async with asyncio.TaskGroup() as group:
        starting = group.create_task(runtime.start(config))
        await asyncio.sleep(20)
        assert setup.told[-1] == ("DiskFull", "no space left on device: free space")
        setup.engine.full = False
    assert starting.result().identity


async def test_commands_of_probes_have_no_more_rights_than_their_container(setup: Setup) -> None:
    _, running = await started(setup)
    assert await running.execute(["/probe", "-x"], 5) == 3
    assert setup.engine.diary[-1] == "run /probe -x"


async def test_another_network_of_that_name_is_not_used(setup: Setup) -> None:
    runtime = setup.runtime()
    await runtime.server(pod(), lambda *_: None)
    (name,) = setup.engine.networks
    setup.engine.networks[name] = setup.engine.networks[name]._replace(labels={})
    with pytest.raises(StartFailed, match="docker network rm"):
        await setup.runtime().server(pod(), lambda *_: None)


async def test_a_pod_of_the_hosts_network_reaches_the_plane_as_programs_do(setup: Setup) -> None:
    runtime, document = setup.runtime(), pod(hostNetwork=True)
    config = await setup.config(runtime, document)
    running = await runtime.start(config)
    assert (config.server, setup.listened) == (None, [])
    assert running.address == "127.0.0.1"
    assert setup.one.config["HostConfig"]["NetworkMode"] == "host"
    assert read_used(setup.agent) is not None, "it is found after the plane was killed"
