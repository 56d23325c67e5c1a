"""Calls as who looks on sees them: from where, what came of them, and no secrets."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from kapy._aio.clock import loop_clock
from kapy.api.extension_config import ClientConfig
from kapy.hooks.call_stream import (
    MAX_BUFFERED,
    MOST_BLOCKING,
    REDACTED,
    ObservableTransport,
    redact_message,
)
from kapy.hooks.inspection import line_of
from kapy.hooks.registry import Registry
from kapy.hooks.transport import Answer, NoAnswer
from kapy.kube import Document

HOOK = "https://quota:9443/hooks.runtime.cluster.x-k8s.io/v1alpha1/beforeclustercreate/machines"
CLUSTER = {"metadata": {"namespace": "default", "name": "herd"}}
REQUEST = msgspec.json.encode({"cluster": CLUSTER, "settings": {"apiToken": "s3cret"}})


class Far:
    """Another end, which answers as it is told."""

    def __init__(self, said: Any) -> None:
        self.said = said

    async def __call__(self, client: ClientConfig, url: str, body: bytes) -> Answer:
        await asyncio.sleep(0.5)
        if isinstance(self.said, str):
            raise NoAnswer(self.said)
        answer: Answer = self.said
        return answer

    async def aclose(self) -> None:
        """Nothing is open."""


def answer(code: int = 200, **said: Any) -> Answer:
    return Answer(code, msgspec.json.encode({"status": "Success", **said}))


async def seen(said: Any, *, patience: float = 10.0) -> Document:
    """Return the record of one call that a watcher receives."""
    post = ObservableTransport(Far(said), Registry(), loop_clock())
    onlooker = post.watch()
    try:
        async with asyncio.timeout(patience):
            await post(ClientConfig(url="https://quota:9443"), HOOK, REQUEST)
    except (NoAnswer, TimeoutError):
        pass
    return await anext(onlooker)


@pytest.mark.parametrize(
    ("said", "patience", "line"),
    [
        (answer(), 10, "Success"),
        (answer(retryAfterSeconds=60, message="no room"), 10, "wait 60 s: no room"),
        (Answer(200, b'{"status": "Failure", "message": "no"}'), 10, "Failure: no"),
        (Answer(200, b"<html>"), 10, "unreadable"),
        (Answer(500, b"oh"), 10, "status code 500"),
        ("connection refused", 10, "no answer: connection refused"),
        (answer(), 0.5, "no answer: no answer in time"),
    ],
)
async def test_the_outcome_of_a_call_is_recorded(said: Any, patience: float, line: str) -> None:
    record = await seen(said, patience=patience)
    heading, _, outcome = line_of(record).partition(" ms): ")
    assert outcome == line
    assert heading.endswith("Z beforeclustercreate machines default/herd (500.0")


async def test_secrets_are_left_out() -> None:
    assert (await seen(answer()))["request"]["settings"] == {"apiToken": "(not shown)"}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"variables": [{"name": "dbPassword", "value": {"a": 1}}]}, "(not shown)"),
        ({"variables": [{"name": "replicas", "value": {"a": 1}}]}, {"a": 1}),
        ({"variables": [{"path": "/spec/token", "value": "x"}]}, "(not shown)"),
        ({"variables": [{"path": "/etc/motd", "value": None}]}, None),
    ],
)
def test_values_that_look_like_secrets_are_redacted(message: Document, expected: Any) -> None:
    (variable,) = redact_message(msgspec.json.encode(message))["variables"]
    assert variable["value"] == expected


def test_fields_named_like_secrets_are_redacted_in_any_form() -> None:
    held = {
        "passwords": ["a", "b"],
        "credentials": {"user": "a", "pin": 1234, "ready": True},
        "secretRef": {"kind": "Secret", "namespace": "barn", "name": "login"},
        "size": ["small"],
    }
    assert redact_message(msgspec.json.encode({"settings": held}))["settings"] == {
        "passwords": [REDACTED, REDACTED],
        "credentials": {"user": REDACTED, "pin": REDACTED, "ready": True},
        "secretRef": {"kind": "Secret", "namespace": "barn", "name": "login"},
        "size": ["small"],
    }


async def test_closed_or_slow_watches_delay_nobody() -> None:
    post = ObservableTransport(Far(answer()), Registry(), loop_clock())
    left_watch, slow = post.watch(), post.watch()
    await left_watch.aclose()
    await asyncio.gather(*(post(ClientConfig(), HOOK, REQUEST) for _ in range(MAX_BUFFERED + 5)))
    await post.aclose()
    assert [item async for item in left_watch] == []
    assert len([item async for item in slow]) == MAX_BUFFERED


async def test_blocking_answers_are_reported_to_later_readers_until_they_end() -> None:
    far = Far(answer(retryAfterSeconds=60, message="no room"))
    post = ObservableTransport(far, Registry(), loop_clock())
    await post(ClientConfig(), HOOK, REQUEST)
    before, late = post.watch(), post.watch(recall=True)
    first = await anext(late)
    await before.aclose()
    await late.aclose()
    far.said = answer()
    await post(ClientConfig(), HOOK, REQUEST)
    after = post.watch(recall=True)
    await post.aclose()
    assert first["request"] == {"cluster": CLUSTER}
    assert line_of(first).endswith("wait 60 s: no room")
    assert [item async for item in before] == []
    assert [item async for item in after] == []


async def test_blocking_answers_that_are_remembered_have_a_bound() -> None:
    post = ObservableTransport(Far(answer(retryAfterSeconds=60)), Registry(), loop_clock())
    names = [f"herd-{number}" for number in range(MOST_BLOCKING + 5)]
    bodies = [msgspec.json.encode({"cluster": {"metadata": {"name": name}}}) for name in names]
    for body in bodies:
        await post(ClientConfig(), HOOK, body)
    late = post.watch(recall=True)
    await post.aclose()
    names_told = [item["request"]["cluster"]["metadata"]["name"] async for item in late]
    assert names_told == names[-len(names_told) :]
    assert len(names_told) == min(MOST_BLOCKING, MAX_BUFFERED)
