"""Deployments of a plane run as containers of an engine in memory, which reach the plane."""

from __future__ import annotations

import asyncio
import ssl
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kapy._aio.clock import system_clock
from kapy.apps.all_in_one import ManagementPlane, management_plane
from kapy.apps.running_pods import running_pods
from kapy.apps.settings import Serving, Settings
from kapy.clusterctl.waiting import has_condition, wait_until
from kapy.containers import Engine, Image
from kapy.kube import Document, Key
from kapy.kube.names import CONFIG_MAPS, DEPLOYMENTS, PODS
from kapy.node_agent import pod_worker
from kapy.node_agent.volumes import TOKEN_FOLDER
from tests.node_agent.fake_engine import FakeContainer, FakeEngine
from tests.node_agent.objects import SPACE, release
from tests.node_agent.test_plane import FOO, LONG, deployment_when, run

pytestmark = pytest.mark.sockets

IMAGE = "registry.example/foo:v1"


class LocalEngine(FakeEngine):
    """Its bridge is the loopback interface."""

    def __init__(self) -> None:
        super().__init__()
        self.chosen = "127.0.0.0/8"


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    local_engine = LocalEngine()
    local_engine.registry[IMAGE] = Image("sha256:1", (f"{IMAGE}@sha256:2",), "65532", ())
    monkeypatch.setattr(Engine, "from_environment", lambda: local_engine)
    return local_engine


@asynccontextmanager
async def plane(folder: Path) -> AsyncIterator[ManagementPlane]:
    settings = Settings(
        data=folder / "data",
        serving=Serving(pki=folder / "pki"),
        pods=folder,
        run_pods="containers",
        inventory=True,
    )
    async with management_plane(settings, clock=system_clock) as result:
        yield result


async def install(plane: ManagementPlane) -> None:
    """The release, with a container whose probe nobody answers here."""
    for path, document in release():
        if document["kind"] == "Deployment":
            (container,) = document["spec"]["template"]["spec"]["containers"]
            del container["readinessProbe"]
            container["env"] += [
                {"name": name, "valueFrom": {"fieldRef": {"fieldPath": f"status.{field}"}}}
                for name, field in (("POD_IP", "podIP"), ("POD_IPS", "podIPs"), ("HOST", "hostIP"))
            ]
        await plane.client.raw("POST", path, body=document)


async def available(plane: ManagementPlane) -> Document:
    await deployment_when(plane.client, lambda item: has_condition(item, "Available"))
    (document,) = (await plane.client.list(PODS, SPACE)).items
    return document


def bound(container: FakeContainer, path: str) -> Path:
    """The folder of the host that a container finds at a path."""
    binds = (bind.rsplit(":", 2) for bind in container.config["HostConfig"]["Binds"])
    return next(Path(source) for source, target, _ in binds if target == path)


def code_of(container: FakeContainer, path: str) -> int:
    """Return the status of the answer to a request that a program in the container sends."""
    account = bound(container, TOKEN_FOLDER)
    variables = dict(item.split("=", 1) for item in container.config["Env"])
    host, port = variables["KUBERNETES_SERVICE_HOST"], variables["KUBERNETES_SERVICE_PORT"]
    token = (account / "token").read_text()
    assert token not in str(container.config), "no token where others can see it"
    request = urllib.request.Request(
        f"https://{host}:{port}{path}", headers={"Authorization": f"Bearer {token}"}
    )
    trust = ssl.create_default_context(cafile=account / "ca.crt")
    try:
        with urllib.request.urlopen(request, context=trust) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


async def test_a_deployment_runs_as_a_container_with_the_rights_of_its_account(
    tmp_path: Path, engine: FakeEngine
) -> None:
    async with plane(tmp_path) as running:
        await install(running)
        pod = await available(running)
        (container,) = engine.running()
        spaces = f"/api/v1/namespaces/{SPACE}"
        assert await asyncio.to_thread(code_of, container, f"{spaces}/configmaps") == 200
        assert await asyncio.to_thread(code_of, container, f"{spaces}/secrets") == 403
        account = bound(container, TOKEN_FOLDER)
        assert (account / "token").stat().st_mode & 0o777 == 0o644, "of any user in the container"
        assert (tmp_path / "node/pods" / pod["metadata"]["uid"]).stat().st_mode & 0o777 == 0o700
        (status,) = pod["status"]["containerStatuses"]
        assert status["containerID"] == f"docker://{container.record.id}"
        assert status["imageID"] == f"{IMAGE}@sha256:2"
        address = pod["status"]["podIP"]
        assert address == container.record.address()[0]
        variables = [f"POD_IP={address}", f"POD_IPS={address}", "HOST=127.0.0.1"]
        assert container.config["Env"][-3:] == variables, "known before the container starts"
        assert pod["status"]["hostIP"] == "127.0.0.1"
        (running_pod,) = await running_pods(running.client, tmp_path)
        assert (running_pod.state, running_pod.program, running_pod.message) == (
            "Running",
            IMAGE,
            "",
        )
        settings = bound(container, "/etc/settings")
        assert (settings / "setting").read_text() == "first"
        await running.client.patch(
            CONFIG_MAPS, Key(SPACE, "settings"), {"data": {"setting": "second"}}
        )
        async with asyncio.timeout(LONG):
            while (settings / "setting").read_text() != "second":  # noqa: ASYNC110
                await asyncio.sleep(0.02)
    assert engine.running() == []
    assert len(engine.made) == 1, "it is stopped with the plane, and not removed"
    assert engine.diary[-2].startswith("stop ")
    assert engine.diary[-1] == "close", "when nobody uses the connection any more"


async def test_a_program_may_replace_a_container(tmp_path: Path, engine: FakeEngine) -> None:
    async with plane(tmp_path) as running:
        await install(running)
        pod = await available(running)
        run(tmp_path)

        def is_process(document: Document | None) -> bool:
            (status,) = ((document or {}).get("status") or {}).get("containerStatuses") or [{}]
            return str(status.get("containerID")).startswith("process://")

        await wait_until(running.client, PODS, Key.of(pod), is_process, within=LONG)
        assert not engine.made


async def test_an_image_that_cannot_be_had_and_an_engine_that_is_away_are_reported(
    tmp_path: Path, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pod_worker, "ADMIT_SECONDS", 0.1)
    engine.down = True
    wanted, engine.registry = dict(engine.registry), {}
    async with plane(tmp_path) as running:
        await install(running)

        async def until_told(words: str) -> None:
            await deployment_when(running.client, lambda document: words in str(document["status"]))

        await until_told("NoRuntime: nothing runs this Pod here: no local program runs in "
                         "place of its image; no container "
                         "engine answers at unix:///fake.sock")  # fmt: skip
        engine.down = False
        await until_told("ImagePullBackOff: back-off ")
        engine.registry = wanted
        key = Key(SPACE, "settings")  # a change ends the pause
        await running.client.patch(CONFIG_MAPS, key, {"data": {"setting": "other"}})
        await available(running)
        engine.break_connections()
        await until_told("no container engine answers at unix:///fake.sock")
        assert not has_condition(await deployment_when(running.client, bool), "Available")
        engine.down = False
        await available(running)
        assert len(engine.running()) == 1


async def test_a_plane_finds_its_container_again(tmp_path: Path, engine: FakeEngine) -> None:
    async with plane(tmp_path) as running:
        await install(running)
        await available(running)
        (container,) = engine.running()
        pod = container.record.labels["io.kubernetes.pod.uid"]
        engine.stop = _ignore  # type: ignore[method-assign,assignment]  # it is killed
    assert engine.running() == [container]
    del engine.stop
    async with plane(tmp_path) as running:

        def runs(document: Document) -> bool:
            return has_condition(document, "Available")

        await wait_until(
            running.client,
            DEPLOYMENTS,
            FOO,
            lambda document: document is not None and runs(document),
            within=LONG,
        )
        result = await available(running)
        assert result["metadata"]["uid"] == pod
        spaces = f"/api/v1/namespaces/{SPACE}"
        assert await asyncio.to_thread(code_of, container, f"{spaces}/configmaps") == 200
        await running.client.delete(DEPLOYMENTS, FOO)
        await wait_until(
            running.client, PODS, Key.of(result), lambda document: document is None, within=LONG
        )
        assert not engine.made, "with its Pod it goes"


async def _ignore(_: str, __: float) -> None:
    return None
