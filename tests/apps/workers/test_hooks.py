"""Runtime extensions that a worker calls: the plane makes the call."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.api.extension_config import ClientConfig
from kapy.apps.workers.channel import HOOK, Channel
from kapy.apps.workers.hooks import HooksOverChannel, call_hook
from kapy.hooks.transport import Answer, NoAnswer
from kapy.kube.http import Reply, Request
from tests.apps.workers.in_process import connect

CLIENT = ClientConfig(url="https://extension.example.com", ca_bundle="cGVt")


class Extension:
    """The plane's transport."""

    def __init__(self) -> None:
        self.calls: list[tuple[ClientConfig, str, bytes]] = []

    async def __call__(self, client: ClientConfig, url: str, body: bytes) -> Answer:
        self.calls.append((client, url, body))
        if url.endswith("/silent"):
            raise NoAnswer("connection refused")
        return Answer(500, b"\x00not text\xff")

    async def aclose(self) -> None:
        """Do nothing."""


def connected(extension: Extension) -> tuple[HooksOverChannel, Channel]:
    async def answer(target: str, request: Request) -> Reply:
        assert target == HOOK
        return await call_hook(extension, request)

    def take_notice(name: str, value: Any) -> None:
        raise AssertionError(name, value)

    worker, plane = Channel(answer, take_notice), Channel(answer, take_notice)
    connect(worker, plane)
    return HooksOverChannel(worker), plane


async def test_a_call_and_its_response_are_transferred_unchanged() -> None:
    extension = Extension()
    post, _ = connected(extension)
    answer = await post(CLIENT, "https://extension.example.com/hook", b"\xfe{}")
    assert answer == Answer(500, b"\x00not text\xff")
    assert extension.calls == [(CLIENT, "https://extension.example.com/hook", b"\xfe{}")]


async def test_a_worker_reports_an_unresponsive_extension_like_the_plane() -> None:
    post, _ = connected(Extension())
    with pytest.raises(NoAnswer, match="connection refused"):
        await post(CLIENT, "https://extension.example.com/silent", b"")


async def test_a_call_through_a_plane_that_has_ended_fails() -> None:
    post, plane = connected(Extension())
    plane.end()
    with pytest.raises(NoAnswer, match="has ended"):
        await post(CLIENT, "https://extension.example.com/hook", b"")
