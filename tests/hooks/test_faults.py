"""Each fault of an extension over real TLS sockets, and what its ExtensionConfig says: the table of
`docs/reference/runtime-extensions.md`, row by row, in one plane."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec
import pytest

from kapy._aio.clock import system_clock
from kapy.api.extension_config import ExtensionConfig
from kapy.api.names import Annotation
from kapy.apps.all_in_one import management_plane
from kapy.conditions.lookup import get, message_of
from kapy.hooks.transport import LARGEST_ANSWER
from kapy.kube import Document
from kapy.kube.model import encode
from kapy.kube.pki import KeyPair
from kapy.testing.story import Story
from tests.hooks.extension import VERSION, config
from tests.hooks.test_https import (
    ANOTHER,
    AUTHORITY,
    OWN,
    Respond,
    answer,
    certificate,
    reset,
    server,
    trusting,
)
from tests.stories.test_extensions import OPEN

PAGE: Final = Path(__file__).parents[2] / "docs" / "reference" / "runtime-extensions.md"
NOWHERE: Final = "https://nowhere.invalid"


@dataclass
class Fault:
    """respond: what a server does that was asked. own: its certificate. url: another than its.
    longest: seconds that it may take."""

    respond: Respond
    own: KeyPair = OWN
    url: str = ""
    longest: int = 10


def told() -> dict[str, str]:
    """The table of the page: the reported message of each fault; empty if it does no harm."""
    section = PAGE.read_text().partition("## What goes wrong")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| ([^|]+?) \| (?:`(.*)`)? ?\|$", section, re.MULTILINE))


def says(**discovery: Any) -> Respond:
    return answer(msgspec.json.encode({"status": "Success", **discovery}))


def handler(**fields: Any) -> Document:
    hook = {"apiVersion": VERSION, "hook": "BeforeClusterCreate"}
    return {"name": "quota", "requestHook": hook, **fields}


def of_hook(version: str, hook: str) -> Fault:
    return Fault(says(handlers=[handler(requestHook={"apiVersion": version, "hook": hook})]))


async def slowly(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n")
    while not writer.is_closing():
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.2)


async def large(writer: asyncio.StreamWriter) -> None:
    """Says how long it is going to be; what comes is read by nobody."""
    writer.write(f"HTTP/1.1 200 OK\r\ncontent-length: {LARGEST_ANSWER + 1}\r\n\r\n".encode())
    await writer.drain()


async def late(writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(1.5)
    await says(handlers=[])(writer)


FAULTS: Final[dict[str, Fault]] = {
    "two handlers of one name": Fault(says(handlers=[handler(), handler()])),
    "a hook that there is not": of_hook(VERSION, "BeforeMilking"),
    "a version that there is not": of_hook(
        VERSION.replace("v1alpha1", "v9"), "BeforeClusterCreate"
    ),
    "a timeout of -1": Fault(says(handlers=[handler(timeoutSeconds=-1)])),
    "a timeout of 31": Fault(says(handlers=[handler(timeoutSeconds=31)])),
    "a name in upper case": Fault(says(handlers=[handler(name="Quota")])),
    "a policy that there is not": Fault(says(handlers=[handler(failurePolicy="Maybe")])),
    "more than 512 handlers": Fault(
        says(handlers=[handler(name=f"quota-{number}") for number in range(513)])
    ),
    "no JSON": Fault(answer(b"hello")),
    "another type in a field": Fault(says(handlers="none")),
    "another kind, unknown fields": Fault(says(kind="Cow", handlers=[handler(later=5)], than=5)),
    "status Failure": Fault(says(status="Failure", message="no herders today")),
    "another status": Fault(says(status="Perhaps")),
    "more than 8 MiB": Fault(large),
    "a byte now and then": Fault(slowly, longest=1),
    "an answer after the timeout": Fault(late, longest=1),
    "a certificate of another CA": Fault(answer(b""), certificate(ANOTHER)),
    "a certificate that has expired": Fault(answer(b""), certificate(ago=3)),
    "a certificate of another name": Fault(answer(b""), certificate(name="example.com")),
    "a name that does not resolve": Fault(answer(b""), url=NOWHERE),
    "nobody listens": Fault(answer(b""), url="https://127.0.0.1:1"),
    "a redirect": Fault(answer(b"", "301 Moved Permanently", "location: https://127.0.0.1:1/\r\n")),
    "status 500": Fault(answer(b"oops", "500 Internal Server Error")),
    "a connection reset in the middle": Fault(reset),
}


def test_the_page_has_every_fault() -> None:
    assert list(told()) == list(FAULTS)


@asynccontextmanager
async def faulty(folder: Path) -> AsyncIterator[list[Document]]:
    """A server for each fault, and the ExtensionConfigs that name them."""
    async with AsyncExitStack() as stack:
        configs = []
        for number, fault in enumerate(FAULTS.values()):
            own = folder / str(number)
            own.mkdir()
            port = await stack.enter_async_context(server(fault.respond, fault.own, own))
            url = fault.url or f"https://127.0.0.1:{port}"
            document = config(f"fault-{number}", clientConfig=encode(trusting(AUTHORITY, url)))
            document["metadata"]["annotations"] = {Annotation.LONGEST_TIMEOUT: f"{fault.longest}"}
            configs.append(document)
        yield configs


@pytest.mark.sockets
async def test_each_fault_is_reported_in_the_condition(tmp_path: Path) -> None:
    """All of them at once: none keeps another one waiting."""
    async with (
        faulty(tmp_path) as configs,
        management_plane(OPEN, clock=system_clock, random=Random(0)) as plane,
    ):
        story = Story(plane.client, [ExtensionConfig.RESOURCE])
        await story.create(configs)
        result = {}
        for fault, document in zip(FAULTS, configs, strict=True):
            config = await story.until(
                ExtensionConfig,
                document["metadata"]["name"],
                lambda value: get(value.status.conditions, "Discovered") is not None,
                namespace="",
                within=20,
            )
            result[fault] = message_of(config.status.conditions, "Discovered")
    expected = told()
    assert [
        f"{fault}: {message}" for fault, message in result.items() if expected[fault] not in message
    ] == []
    assert result["another kind, unknown fields"] == ""
