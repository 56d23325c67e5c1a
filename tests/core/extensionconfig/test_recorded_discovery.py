"""Tests of an ExtensionConfig's status after each Discovery response recorded from upstream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from kapy.api.extension_config import ExtensionConfig
from kapy.conditions.lookup import get
from kapy.kube import Document, yaml
from kapy.kube.meta import to_document
from tests.hooks.extension import Extension
from tests.oracle.recorded import SAMPLES
from tests.oracle.topic import compared
from tests.stories.test_extensions import plane

CASES: Final = SAMPLES / "extension" / "discovery.yaml"
CODES: Final = {"discovery/http-500": 500}
PORT: Final = "9443"
REFUSED: Final = f"dial tcp 127.0.0.1:{PORT}: connect: connection refused"


def cases() -> list[Document]:
    return yaml.load_all(CASES.read_text())


def answering(case: Document) -> Extension:
    """An extension that gives the same response as the extension of the recorded case."""
    name, response = case["case"], case["discovery_response"]
    extension = Extension()
    extension.code = CODES.get(name, 200)
    if isinstance(response, dict):
        # Go writes a space after a colon, and nobody would miss it.
        extension.raw = msgspec.json.encode(response).replace(
            b":", b": ", 1 if "500" in name else 0
        )
    elif response == "hello":
        extension.raw = response.encode()
    elif "refused" in response:
        extension.down = REFUSED
    else:
        handlers = [
            {"name": handler["name"].rpartition(".")[0], "requestHook": handler["requestHook"]}
            for handler in case["extension_config"]["status"]["handlers"]
        ]
        extension.raw = msgspec.json.encode({"handlers": handlers, "status": "Success"})
    return extension


def host(case: Document) -> str:
    name = str(case["extension_config"]["metadata"]["name"])
    return "127.0.0.1" if name == "no-listener" else name


def config_of(case: Document) -> Document:
    recorded = case["extension_config"]
    spec = {**recorded["spec"], "clientConfig": {"url": f"https://{host(case)}:{PORT}"}}
    metadata = {"name": recorded["metadata"]["name"]}
    return {**recorded, "metadata": metadata, "spec": spec, "status": {}}


async def discovery_endings(recorded: Sequence[Document]) -> dict[str, list[str]]:
    """By case, what an ExtensionConfig says otherwise than it was recorded."""
    there = {document["extension_config"]["metadata"]["name"]: document for document in recorded}
    async with plane(
        **{host(document): answering(document) for document in there.values()}
    ) as story:
        await story.create([config_of(document) for document in there.values()])
        configs = {
            name: await story.until(
                ExtensionConfig,
                name,
                lambda config: get(config.status.conditions, "Discovered") is not None,
                namespace="",
            )
            for name in there
        }
    return {
        case["case"]: list(
            compared(
                told(case["extension_config"]["status"]), told(to_document(configs[name])["status"])
            )
        )
        for name, case in there.items()
    }


async def test_discovery_is_reported_as_it_was_recorded() -> None:
    endings = await discovery_endings(cases())
    assert len(endings) > 5
    assert {case: lines for case, lines in endings.items() if lines} == {}


def told(status: Document) -> Any:
    """A status without times; of this very run only the port."""
    text = msgspec.json.encode(status).decode().replace("${port:1}", PORT)
    plain = msgspec.json.decode(text)
    for condition in (*plain["conditions"], *plain["deprecated"]["v1beta1"]["conditions"]):
        condition.pop("lastTransitionTime")
        condition.setdefault("message", "")
    return plain
