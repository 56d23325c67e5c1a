"""The engine module against answers that were recorded of a real dockerd."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kapy.containers import (
    LIMITS,
    Container,
    Engine,
    EngineError,
    EngineUnreachable,
    File,
    ImageUnavailable,
    NameInUse,
    NoSuchObject,
    NotPermitted,
    PortInUse,
)
from kapy.containers.archive import archive_of
from kapy.containers.commands import MAX_OUTPUT_BYTES
from kapy.containers.errors import AmbiguousName
from kapy.containers.records import engine_info_of
from tests.containers.engine_server import RECORDED, EngineServer, Ran

pytestmark = pytest.mark.sockets


@pytest.fixture
def server() -> EngineServer:
    return EngineServer([("GET (/v[0-9.]+)?/version", "version"), ("GET .*/info", "info")])


@pytest.fixture
async def engine(server: EngineServer, tmp_path: Path) -> AsyncIterator[Engine]:
    async with server.listening(tmp_path) as address, Engine(address) as engine:
        yield engine


async def test_docker_is_described(engine: Engine) -> None:
    info = await engine.info()
    assert info.version == RECORDED["version"]["body"]["Version"]
    assert (info.storage_driver, info.cgroup_version) == ("overlay2", "1")
    assert not info.is_rootless
    assert not info.remaps_users


async def test_docker_on_cgroup_v2_is_described(engine: Engine, server: EngineServer) -> None:
    server.answer("GET .*/info", "info-cgroup2")
    info = await engine.info()
    assert (info.cgroup_version, info.limits) == ("2", LIMITS)
    assert (info.is_podman, info.is_rootless, info.remaps_users) == (False, False, False)


async def test_podman_is_described(engine: Engine, server: EngineServer) -> None:
    server.answer("GET .*/info", "podman-info")
    server.answer("GET (/v[0-9.]+)?/version", "podman-version")
    info = await engine.info()
    assert (info.is_podman, info.cgroup_version, info.is_rootless) == (True, "2", False)
    assert info.limits == LIMITS, "Podman says that it cannot limit CPUs on cgroup v2, and can"


@pytest.mark.parametrize("name", ["info-rootless", "podman-info-rootless"])
def test_a_rootless_engine_is_recognized(name: str) -> None:
    version = RECORDED["podman-version" if name.startswith("podman") else "version"]["body"]
    info = engine_info_of(RECORDED[name]["body"], version)
    assert (info.is_rootless, info.remaps_users, info.cgroup_version) == (True, False, "2")
    assert info.limits == LIMITS


def test_without_a_cgroup_driver_nothing_is_limited() -> None:
    results = {**RECORDED["info-cgroup2"]["body"], "CgroupDriver": "none"}
    assert engine_info_of(results, RECORDED["version"]["body"]).limits == frozenset()


async def test_a_container_is_read(engine: Engine, server: EngineServer) -> None:
    server.answer("GET .*/containers/t1/json", "running")
    container = await engine.container("t1")
    assert container is not None
    assert container.is_running
    assert (container.name, container.image) == ("t1", "kapyreal/base:bookworm")
    assert container.labels["io.x-k8s.kind.role"] == "control-plane"
    assert container.address("bridge")[0].startswith("10.88.0.")
    assert container.address("another")[0] == container.address("bridge")[0]
    assert container.ports["6443/tcp"].isdigit()


async def test_a_container_that_is_not_there_is_none(engine: Engine, server: EngineServer) -> None:
    server.answer("/containers/t1", "no-container")
    assert await engine.container("t1") is None
    assert not await engine.remove("t1")


async def test_a_killed_container_is_not_running(engine: Engine, server: EngineServer) -> None:
    server.answer("GET .*/containers/t1/json", "exited")
    container = await engine.container("t1")
    assert container is not None
    assert (container.state, container.exit_code, container.address()) == ("exited", 137, ("", ""))


async def test_containers_are_listed_by_label(engine: Engine, server: EngineServer) -> None:
    server.answer("GET .*/containers/json", "list")
    containers = await engine.containers({"io.x-k8s.kind.cluster": "c", "other": ""}, name="^t1$")
    assert [container.name for container in containers] == ["t1"]
    assert containers[0].ports.keys() == {"6443/tcp"}
    query = server.asked[-1].query
    assert query["all"] == ["true"]
    assert json.loads(query["filters"][0]) == {
        "label": ["io.x-k8s.kind.cluster=c", "other"],
        "name": ["^t1$"],
    }


async def test_a_container_is_created_started_and_removed(
    engine: Engine, server: EngineServer
) -> None:
    server.answer("POST .*/containers/create", "create")
    server.answer("POST .*/start", "start-again")
    server.answer("DELETE .*/containers/t1", "remove")
    assert await engine.create("t1", {"Image": "i"}) == RECORDED["create"]["body"]["Id"]
    assert server.asked[-1].query == {"name": ["t1"]}
    await engine.start("t1")
    assert await engine.remove("t1")
    assert server.asked[-1].query == {"force": ["1"], "v": ["1"]}


@pytest.mark.parametrize(
    ("recorded", "error", "remedy"),
    [
        ("name-in-use", NameInUse, "docker rm -f"),
        ("create-no-image", ImageUnavailable, "docker load"),
        ("port-in-use", PortInUse, "ss -ltnp"),
        ("no-container", NoSuchObject, "No such container"),
        ("kill-stopped", EngineError, "is not running"),
        ("podman-name-in-use", NameInUse, "docker rm -f"),
        ("podman-no-image", ImageUnavailable, "docker load"),
        ("podman-port-in-use", PortInUse, "ss -ltnp"),
        ("podman-no-container", NoSuchObject, "no such container"),
        ("podman-no-rlimit", NotPermitted, "KAPY_CONTAINER_RUNTIME"),
    ],
)
async def test_a_refusal_names_the_remedy(
    engine: Engine, server: EngineServer, recorded: str, error: type[EngineError], remedy: str
) -> None:
    server.answer("POST .*/containers/create", recorded)
    with pytest.raises(error, match=remedy) as caught:
        await engine.create("t1", {"Image": "i"})
    assert type(caught.value) is error
    assert "cannot create container t1" in str(caught.value)


async def test_files_are_written_as_an_archive(engine: Engine, server: EngineServer) -> None:
    server.answer("PUT .*/archive", b"")
    await engine.put_files("t1", [File("/usr/local/etc/a.cfg", b"text", 0o600)])
    request = server.asked[-1]
    assert request.query == {"path": ["/"]}
    with tarfile.open(fileobj=io.BytesIO(request.body)) as archive:
        entry = archive.getmember("usr/local/etc/a.cfg")
        content = archive.extractfile(entry)
        assert content is not None
        assert (content.read(), entry.mode, entry.uid) == (b"text", 0o600, 0)


async def test_reading_a_file_of_an_image_leaves_no_container(
    engine: Engine, server: EngineServer
) -> None:
    server.answer("POST .*/containers/create", "create")
    server.answer("GET .*/archive", archive_of([File("default-cni.yaml", b"text")]))
    server.answer("DELETE ", "remove")
    assert await engine.file_of_image("kindest/node:v1", "/kind/manifests/x.yaml") == b"text"
    methods = [entry.method for entry in server.asked if "/info" not in entry.path]
    assert [text for text in methods if text != "GET"] == ["POST", "DELETE"]
    assert server.asked[2].query == {"path": ["/kind/manifests/x.yaml"]}
    server.answer("GET .*/archive", "no-container")
    with pytest.raises(NoSuchObject):
        await engine.file_of_image("kindest/node:v1", "/none")
    assert server.asked[-1].method == "DELETE"


async def test_a_command_is_run(engine: Engine, server: EngineServer) -> None:
    server.run = lambda _: (3, b"out\n", b"err\n")
    assert await engine.run("t1", ["ls", "/"]) == (3, "out\n", "err\n")
    assert server.ran == [Ran(["ls", "/"], b"", privileged=True)]


async def test_a_command_gets_its_whole_input(engine: Engine, server: EngineServer) -> None:
    data = bytes(range(256)) * 4000
    await engine.run("t1", ["cat"], stdin=data)
    await engine.run("t1", ["cat"], stdin=io.BytesIO(b"12"))
    assert [(ran.command, ran.stdin) for ran in server.ran] == [(["cat"], data), (["cat"], b"12")]


async def test_the_end_of_a_long_output_is_kept(engine: Engine, server: EngineServer) -> None:
    server.run = lambda _: (0, b"a" * 3 * MAX_OUTPUT_BYTES + b"the end", b"")
    command_result = await engine.run("t1", ["yes"])
    assert len(command_result.stdout) == MAX_OUTPUT_BYTES
    assert command_result.stdout.endswith("athe end")


async def test_a_stopped_container_gets_no_signal(engine: Engine, server: EngineServer) -> None:
    server.answer("POST .*/kill$", "kill-stopped")
    with pytest.raises(EngineError, match=r"cannot send SIGHUP to container t1: .*is not running"):
        await engine.kill("t1", "SIGHUP")


async def test_an_image_is_pulled_with_progress(engine: Engine, server: EngineServer) -> None:
    lines = [
        {"status": "Pulling from library/a", "id": "1"},
        {"status": "Pulling fs layer", "progressDetail": {}, "id": "l1"},
        {"status": "Pulling fs layer", "progressDetail": {}, "id": "l2"},
        {
            "status": "Downloading",
            "progressDetail": {"current": 5_000_000, "total": 10_000_000},
            "id": "l1",
        },
        {"status": "Pull complete", "progressDetail": {}, "id": "l1"},
        {"status": "Status: Downloaded newer image for a:1"},
    ]
    server.answer("GET .*/images/a:1/json", "no-image")
    server.answer("POST .*/images/create", "\n".join(map(json.dumps, lines)).encode() + b"\n")
    pulls: list[str] = []
    await engine.ensure_image("a:1", pulls.append)
    assert pulls == [
        "pulling image a:1",
        "pulling image a:1: 0 of 1 layers",
        "pulling image a:1: 0 of 2 layers",
        "pulling image a:1: 0 of 2 layers, 5 of 10 MB",
        "pulling image a:1: 1 of 2 layers, 5 of 10 MB",
    ]


@pytest.mark.parametrize(
    "image",
    ["", "../containers/x", "a/../../b:1", "/a:1", "a//b", "a?all=1", "a#b", "a b", "a%2fb", "."],
)
async def test_an_image_name_cannot_change_the_request_path(
    engine: Engine, server: EngineServer, image: str
) -> None:
    with pytest.raises(ImageUnavailable, match="is no name of an image"):
        await engine.ensure_image(image)
    with pytest.raises(ImageUnavailable, match="is no name of an image"):
        async with engine.save(image) as pieces:
            await anext(pieces)
    assert {entry.path for entry in server.asked} <= {"/version"}


async def test_present_images_are_not_pulled(engine: Engine, server: EngineServer) -> None:
    server.answer("GET .*/images/.*/json", "image")
    await engine.ensure_image("a:1")
    assert not [entry for entry in server.asked if entry.method == "POST"]


@pytest.mark.parametrize(
    "answer",
    [
        "pull-failed",
        b'{"errorDetail": {"message": "dial tcp: lookup registry"}, "error": "denied"}\n',
    ],
)
async def test_a_failed_pull_names_the_image(
    engine: Engine, server: EngineServer, answer: str | bytes
) -> None:
    server.answer("POST .*/images/create", answer)
    with pytest.raises(ImageUnavailable, match=r"kindest/nope:v1.*dial tcp.*docker load"):
        await engine.pull("kindest/nope:v1")


async def test_networks_are_read(engine: Engine, server: EngineServer) -> None:
    server.answer("GET .*/networks/", "network")
    server.answer("GET .*/networks/nope", "no-network")
    network = await engine.network("kind")
    assert network == ("kind", ("172.17.0.0/16",), {}, ("172.17.0.1",))
    assert await engine.network("nope") is None


@pytest.mark.parametrize("recorded", ["network-exists", "podman-network-exists"])
async def test_another_network_of_that_name_is_a_name_in_use(
    engine: Engine, server: EngineServer, recorded: str
) -> None:
    server.answer("POST .*/networks/create", recorded)
    with pytest.raises(NameInUse):
        await engine.create_network("kind", {})


async def test_events_of_containers_are_followed(engine: Engine, server: EngineServer) -> None:
    labels = {"io.x-k8s.kind.cluster": "blue", "io.x-k8s.kind.role": "worker"}
    events = [
        {
            "Type": "container",
            "Action": action,
            "Actor": {"ID": "1", "Attributes": {"name": "a", "image": "i", **labels}},
            "scope": "local",
            "time": 1795353667,
        }
        for action in ("start", "die", "remove")
    ]
    events.append({**events[0], "Actor": {"ID": "2", "Attributes": {"name": "b"}}})
    server.answer("GET .*/events", "\n".join(map(json.dumps, events)).encode() + b"\n")
    containers: list[Container] = []
    await engine.follow("io.x-k8s.kind.cluster", containers.append)
    assert [
        (container.name, container.state, container.is_running) for container in containers
    ] == [
        ("a", "start", False),
        ("a", "die", False),
        ("a", "remove", False),
    ]
    assert labels.items() <= containers[0].labels.items()
    filters = json.loads(server.asked[-1].query["filters"][0])
    # Podman selects no label without a value, and has words of its own for some events.
    assert filters.keys() == {"type", "event"}
    assert {"start", "die", "died", "destroy", "remove"} == set(filters["event"])
    server.answer("GET .*/events", "no-container")
    with pytest.raises(EngineError):
        await engine.follow("io.x-k8s.kind.cluster", containers.append)


async def test_an_engine_that_does_not_listen_is_reported(tmp_path: Path) -> None:
    async with Engine(f"unix://{tmp_path}/none.sock") as engine:
        with pytest.raises(EngineUnreachable, match=r"none\.sock.*start Docker or Podman"):
            await engine.info()


async def test_an_invalid_answer_is_an_error(engine: Engine, server: EngineServer) -> None:
    server.answer("GET .*/info", b"<html>a proxy</html>")
    with pytest.raises(EngineError, match="no answer of a container engine"):
        await engine.info()


async def test_podman_keeps_no_volume_of_a_container(engine: Engine, server: EngineServer) -> None:
    version = {"ApiVersion": "1.41", "Version": "4.3.1", "Components": [{"Name": "Podman Engine"}]}
    server.answer("GET (/v[0-9.]+)?/version", json.dumps(version).encode())
    server.answer("DELETE .*/containers/blue-cp", "remove")
    server.answer("DELETE .*/volumes/blue-cp-var", "remove")
    assert (await engine.info()).is_podman
    assert await engine.remove("blue-cp")
    assert [entry.path.rpartition("/v1.")[2].partition("/")[2] for entry in server.asked[-2:]] == [
        "containers/blue-cp",
        "volumes/blue-cp-var",
    ]


async def test_the_duplicate_of_a_network_is_removed(engine: Engine, server: EngineServer) -> None:
    """Docker makes two where two programs ask at the same time."""
    both = [{"Name": "kind", "Id": element} for element in ("bb", "aa", "cc")]
    other = {"Name": "kind-of", "Id": "dd"}
    server.answer("GET .*/networks$", json.dumps([*both, other]).encode())
    for item in ("aa", "bb", "cc"):
        server.answer(f"DELETE .*/networks/{item}", "no-network")
        containers: dict[str, object] = {"x": {}} if item == "cc" else {}
        entries = {"Name": "kind", "Id": item, "Containers": containers}
        server.answer(f"GET .*/networks/{item}", json.dumps(entries).encode())
    server.answer("POST .*/networks/create", json.dumps({"Id": "aa"}).encode())
    await engine.create_network("kind", {})
    removed = [entry.path for entry in server.asked if entry.method == "DELETE"]
    assert [text.rpartition("/")[2] for text in removed] == ["aa", "bb"], "one in use is kept"
    server.asked.clear()
    server.answer("GET .*/networks/kind", "network-ambiguous")
    with pytest.raises(AmbiguousName, match=r"docker network rm ID"):
        await engine.network("kind")
    assert len([entry for entry in server.asked if entry.method == "DELETE"]) == 2
