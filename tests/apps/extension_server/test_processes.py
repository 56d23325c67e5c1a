"""An extension that is served by several processes at one port."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
import pytest

from kapy._aio.clock import system_clock
from kapy.apps.extension_server.process_config import ProcessConfig
from kapy.apps.extension_server.processes import (
    NotServed,
    ServedExtension,
    serve_in_processes,
)
from kapy.apps.https.certificate import certificate_in
from kapy.apps.https.serving import NoAddress
from kapy.hooks import BEFORE_CLUSTER_CREATE, BeforeClusterCreateRequest
from tests.waiting import until

PATH = BEFORE_CLUSTER_CREATE.path("herd")
MODULE = """
import asyncio, os, pathlib
from kapy.hooks import BEFORE_CLUSTER_CREATE, BeforeClusterCreateRequest, Extension, RetryResponse
extension = Extension()

@extension.handles(BEFORE_CLUSTER_CREATE, name="herd")
async def herd(request: BeforeClusterCreateRequest) -> RetryResponse:
    if request.cluster.get("waits"):
        pathlib.Path("waits").touch()
        while not pathlib.Path("go").exists():
            await asyncio.sleep(0.01)
    return RetryResponse.wait(60, str(os.getpid()))
"""
LOCALHOST = ["127.0.0.1"]


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProcessConfig:
    (tmp_path / "herd_extension.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    return ProcessConfig(
        target="herd_extension", folder="certificates", names=LOCALHOST, log_level=logging.INFO
    )


@asynccontextmanager
async def served(config: ProcessConfig) -> AsyncIterator[ServedExtension]:
    """Serve from two processes."""
    serving = serve_in_processes(config, 2, host="127.0.0.1", port=0, random=Random(0))
    async with serving as extension:
        yield extension


class Caller:
    """A client that opens a connection for each call."""

    def __init__(self, extension: ServedExtension) -> None:
        self._tls = ssl.create_default_context(cadata=extension.certificate.ca.decode())
        self._url = f"https://127.0.0.1:{extension.port}"

    async def process(self, **cluster: Any) -> int:
        """Return the ID of the process that answers. Raises aiohttp.ClientError."""
        body = BEFORE_CLUSTER_CREATE.encode_request(BeforeClusterCreateRequest(cluster=cluster))
        async with self._session() as session, session.post(self._url + PATH, data=body) as answer:
            return int((await answer.json())["message"])

    async def read(self, path: str) -> str:
        """Return the answer to a GET."""
        async with self._session() as session, session.get(self._url + path) as answer:
            return await answer.text()

    def _session(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=self._tls))


@pytest.mark.sockets
async def test_all_processes_get_the_same_number_of_connections(config: ProcessConfig) -> None:
    async with served(config) as extension:
        assert extension.handlers == ["BeforeClusterCreate: herd"]
        caller = Caller(extension)
        answers = [await caller.process() for _ in range(6)]
        assert len(set(answers)) == 2
        assert {answers.count(process) for process in answers} == {3}
        assert os.getpid() not in answers


@pytest.mark.sockets
async def test_metrics_are_those_of_all_processes(config: ProcessConfig) -> None:
    async with served(config) as extension:
        caller = Caller(extension)
        for _ in range(4):
            await caller.process()
        pages = [await caller.read("/metrics") for _ in range(2)]
        labels = 'handler="herd",hook="BeforeClusterCreate"'
        for page in pages:
            lines = [line for line in page.splitlines() if line.startswith("kapy_extension_req")]
            counts = [line for line in lines if labels in line and "_total{" in line]
            assert [line.rsplit(" ", 1)[1] for line in counts] == ["2.0", "2.0"]
            assert ['process="1"' in line for line in counts].count(True) == 1
            assert 'kapy_extension_process_restarts_total{process="2"} 0.0' in page
        assert await caller.read("/readyz") == "ok"


@pytest.mark.sockets
async def test_others_answer_while_a_killed_process_starts_again(
    config: ProcessConfig, caplog: pytest.LogCaptureFixture
) -> None:
    async with served(config) as extension:
        caller = Caller(extension)
        killed, other = sorted({await caller.process() for _ in range(2)})
        os.kill(killed, signal.SIGKILL)
        await until(lambda: "was killed by signal 9; it starts again" in caplog.text)
        answers = {await caller.process() for _ in range(4)}
        while len(answers - {killed}) < 2:
            answers.add(await caller.process())
        assert killed not in answers
        assert other in answers
        assert "restarts_total" in (page := await caller.read("/metrics"))
        assert sum(f'restarts_total{{process="{name}"}} 1.0' in page for name in "12") == 1


@pytest.mark.sockets
async def test_calls_under_way_finish_when_processes_are_stopped(
    config: ProcessConfig, tmp_path: Path
) -> None:
    async with asyncio.TaskGroup() as group:
        async with served(config) as extension:
            caller = Caller(extension)
            call = group.create_task(caller.process(waits=True))
            await until((tmp_path / "waits").exists)
            asyncio.get_running_loop().call_later(0.3, (tmp_path / "go").touch)
        process = await call
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    with pytest.raises(aiohttp.ClientError):
        await caller.process()


@pytest.mark.sockets
async def test_all_processes_serve_a_renewed_certificate(
    config: ProcessConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The files of another CA take the place of those that the processes began with: they follow
    # the folder, whoever writes it.
    other = tmp_path / "other"
    renewed = await certificate_in(other, LOCALHOST, system_clock)
    async with served(config) as extension:
        for name in ("ca.crt", "ca.key", "tls.key", "tls.crt"):
            (tmp_path / "certificates" / name).write_bytes((other / name).read_bytes())
        caller, answers = Caller(extension), set[int]()
        assert extension.certificate.ca == renewed.ca
        while len(answers) < 2:
            try:
                answers.add(await caller.process())
            except aiohttp.ClientError:  # it has not read its folder yet
                await asyncio.sleep(0.1)


@pytest.mark.sockets
@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("no_such_module", "there is no module no_such_module in "),
        ("deadly_extension", "ended with code 7 before it served"),
    ],
)
async def test_an_extension_that_cannot_be_served_is_one_error(
    config: ProcessConfig, tmp_path: Path, module: str, message: str
) -> None:
    (tmp_path / "deadly_extension.py").write_text("import os\nos._exit(7)")
    there = ProcessConfig(target=module, folder=config.folder, names=LOCALHOST)
    with pytest.raises(NotServed, match=message):
        async with served(there):
            pass


@pytest.mark.sockets
async def test_a_port_in_use_is_reported(config: ProcessConfig) -> None:
    async with served(config) as extension:
        serving = serve_in_processes(
            config, 2, host="127.0.0.1", port=extension.port, random=Random(0)
        )
        with pytest.raises(NoAddress, match="choose another one with --host and --port"):
            async with serving:
                pass
