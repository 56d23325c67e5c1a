"""The calls that upstream's managers sent to an extension (topic `extension`).

A recording has sessions, each with a story of the same name in topic `traces`. A fifth of the calls
is held out; `sequence.txt` names all of them.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from kapy.kube import Document, yaml
from tests.oracle.recorded import data

CALLS: Final = data("oracle/extension")
NAME: Final = "rec"
"""The ExtensionConfig of all sessions."""


@dataclass(frozen=True)
class Session:
    """The calls of one story. folder: the recording."""

    name: str
    folder: Path = CALLS

    @cached_property
    def calls(self) -> Sequence[Document]:
        """The calls that were not held out, in their order."""
        return [call for call in _all_calls(self.folder) if call["session"] == self.name]

    @cached_property
    def sequence(self) -> str:
        """The part of `sequence.txt` about this session."""
        text = (self.folder / "sequence.txt").read_text()
        _, result, rest = text.partition(f"## session {self.name}")
        return (rest if result else text).partition("## session ")[0]

    @property
    def config(self) -> Document:
        """The ExtensionConfig, before anything was discovered."""
        recorded: Document = discovery_cases(self.folder)["discovered"]["extension_config"]
        spec = {**recorded["spec"], "clientConfig": {"url": "https://127.0.0.1:9443"}}
        return {**recorded, "metadata": {"name": NAME}, "spec": spec, "status": {}}

    @property
    def handlers(self) -> Sequence[Document]:
        """The handlers that were discovered."""
        recorded: Document = discovery_cases(self.folder)["discovered"]["extension_config"]
        handlers: Sequence[Document] = recorded["status"]["handlers"]
        return handlers


def sessions_in(folder: Path) -> list[str]:
    """The sessions of a recording."""
    return list(
        dict.fromkeys(call["session"] for call in _all_calls(folder) if call.get("session"))
    )


def discovery_cases(folder: Path = CALLS) -> dict[str, Document]:
    """The ExtensionConfigs with what was said of them, by case."""
    cases = yaml.load_all((folder / "discovery.yaml").read_text())
    return {case["case"]: case for case in cases}


def without_repeats(steps: Iterable[str]) -> list[str]:
    """Steps of which the same one after the other count as one."""
    distinct: list[str] = []
    for step in steps:
        if not distinct or distinct[-1] != step:
            distinct.append(step)
    return distinct


def _all_calls(folder: Path) -> list[Document]:
    with gzip.open(folder / "calls.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


def plain(request: Document) -> Document:
    """A request without what tells this run from another one."""
    text = re.sub(r"\$\{(\w+):\d+\}", r"<\1>", json.dumps(request))
    text = re.sub(r"\d{6,}-[bcdfghjklmnpqrstvwxz2456789]{5}(?=\")", "<hash>", text)
    text = re.sub(r"-[bcdfghjklmnpqrstvwxz2456789]{5}(?=[\"/])", "-<rand>", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "<time>", text)
    document: Document = json.loads(re.sub(r"127\.[\d.]+:(\d+|<port>)", "<endpoint>", text))
    return document
