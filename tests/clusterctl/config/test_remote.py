"""A configuration file at a URL."""

from __future__ import annotations

import asyncio

import pytest

from kapy.clusterctl.config import Config, load
from kapy.clusterctl.errors import ConfigError
from tests.clusterctl.repository.servers import Answer, Server, saying, serving, status

pytestmark = pytest.mark.sockets


async def loaded(server: Server) -> Config:
    # It blocks, as it may at the beginning of a command; the server needs the loop.
    return await asyncio.to_thread(load, f"{server.url}/c.yaml", {"HOME": "/nowhere"})


def server(answer: Answer) -> Server:
    return Server(lambda _, request: answer(request))


async def test_a_file_at_a_url_is_read() -> None:
    async with serving(server(saying(b"A: remote", "text/plain"))) as there:
        assert (await loaded(there)).variables.get("A") == "remote"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (status(404), r"/c\.yaml: got 404; check the URL after --config"),
        (saying(b"<html>\n<br>", "text/html"), "must be a map of settings"),
    ],
)
async def test_a_url_without_a_file_is_reported(answer: Answer, said: str) -> None:
    async with serving(server(answer)) as there:
        with pytest.raises(ConfigError, match=said):
            await loaded(there)


async def test_a_url_that_cannot_be_reached_is_reported() -> None:
    async with serving(server(status(200))) as there:
        pass
    with pytest.raises(ConfigError, match="refused; check the URL and the network"):
        await loaded(there)
