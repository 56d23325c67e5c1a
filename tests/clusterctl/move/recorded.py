"""Upstream's moves, recorded: the same objects are moved here, and what is said and done compared.

Names that were generated, uids and times stand as `${rand:1}` and the like in the recording. Lines
are compared as a bag, since upstream goes through maps; what API servers warn of is not the move's.
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from kapy.api.kinds import KINDS as KINDS_OF_KAPY
from kapy.client.client import Client
from kapy.clusterctl.move.directory import SaveOperation, start_saving
from kapy.clusterctl.move.journal import Mode, MoveStarted, Place
from kapy.clusterctl.move.preflight import rehearse
from kapy.clusterctl.progress import line
from kapy.kube import Document
from kapy.testing.virtual_time import VirtualTimeLoop
from tests.clusterctl.move.management_clusters import (
    Heard,
    content,
    everything,
    load,
    move,
    simple_crd,
    two_clusters,
)
from tests.oracle.topic import Record, compared

_ALL: Final = [simple_crd(kind.type_of().RESOURCE) for kind in KINDS_OF_KAPY]
_PLACEHOLDER: Final = re.compile(r"\$\{([a-z]+):(\d+)\}")
_GENERATED: Final = re.compile(r"\$\{[a-z]+:\d+\}|(rand|hash|time|port|uid)\d+x")
_NOT_OURS: Final = ("[API Server Warning]", "Using configuration file")


def as_recorded(record: Record, before: list[Document]) -> Iterator[str]:
    """Differences of a move of the objects from a recorded move. before: the objects to move."""
    return iter(_played(_differences(record, before)))


def _played(work: Coroutine[Any, Any, list[str]]) -> list[str]:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(work)


async def _differences(record: Record, before: list[Document]) -> list[str]:
    heard, arguments = Heard(), record["args"]
    namespace = arguments[arguments.index("-n") + 1]
    async with _staged(before) as (source, target, folder):
        if "--dry-run" in arguments:
            await rehearse(source, namespace, heard)
            differences: list[str] = []
        elif "--to-directory" in arguments:
            differences = await _saved(record, source, namespace, folder, heard)
        else:
            await move(source, target, folder / "journal.jsonl", heard)
            wanted = {_masked(item) for item in record["objects_left_in_source"]}
            differences = list(
                compared(sorted(wanted), sorted(map(_masked, await _objects(source))))
            )
            differences += _bags(record["objects_target"], await _objects(target))
    return [*differences, *_said(record, heard, folder)]


@asynccontextmanager
async def _staged(before: list[Document]) -> AsyncIterator[tuple[Client, Client, Path]]:
    with tempfile.TemporaryDirectory() as folder:
        async with two_clusters(definitions=_ALL) as (source, target):
            await load(source, [_usable(document) for document in before])
            yield source, target, Path(folder)


async def _saved(
    record: Record, source: Client, namespace: str, folder: Path, heard: Heard
) -> list[str]:
    files = folder / "files"
    _make(files)
    begun = MoveStarted("1", Mode.TO_DIRECTORY, namespace, Place(), Place(directory=str(files)))
    journal = await start_saving(source, begun, folder / "journal.jsonl", heard)
    await SaveOperation(source, journal, heard).run()
    if "files" not in record:
        return []
    return list(_bags(map(_of_file, record["files"]), map(_of_file, _described(files))))


def _make(folder: Path) -> None:
    folder.mkdir()


def _described(folder: Path) -> Iterator[Record]:
    """Files as the recording describes them."""
    for path in sorted(folder.iterdir()):
        document = json.loads(path.read_bytes())
        metadata = document["metadata"]
        yield {
            "file": path.name,
            "kind": document["kind"],
            "apiVersion": document["apiVersion"],
            "name": metadata["name"],
            "keys": sorted(document),
            "metadata_keys": sorted(metadata),
            "annotations": metadata.get("annotations"),
            "ownerReferences": metadata.get("ownerReferences"),
            "paused": (document.get("spec") or {}).get("paused"),
        }


def _of_file(record: Record) -> Record:
    owners = [{**reference, "uid": ""} for reference in record["ownerReferences"] or ()]
    # The test may load an object under another field manager than the recorded one.
    keys = [key for key in record["metadata_keys"] if key != "managedFields"]
    return {**record, "ownerReferences": owners, "metadata_keys": keys}


async def _objects(client: Client) -> list[Document]:
    return list(content(await everything(client)).values())


def _bags(recorded: Any, actual: Any) -> Iterator[str]:
    wanted, counter = Counter(map(_masked, recorded)), Counter(map(_masked, actual))
    yield from (f"recorded, not given: {text}" for text in wanted - counter)
    yield from (f"given, not recorded: {text}" for text in counter - wanted)


def _masked(document: Document) -> str:
    """One text for a document, without what another run numbers or names otherwise."""
    return _GENERATED.sub("*", json.dumps(_plain(document), sort_keys=True))


def _plain(document: Document) -> Document:
    if "metadata" not in document:
        return document
    numbered = ("uid", "creationTimestamp", "generation")
    metadata = {key: value for key, value in document["metadata"].items() if key not in numbered}
    if owners := metadata.get("ownerReferences"):
        metadata["ownerReferences"] = [{**owner, "uid": ""} for owner in owners]
    return {**_usable(document), "metadata": metadata}


def _usable(document: Document) -> Document:
    """The document with names and data that an API server takes."""
    text = json.dumps(document).replace('"<redacted>"', '"cmVkYWN0ZWQ="')
    result: Document = json.loads(_PLACEHOLDER.sub(r"\1\2x", text))
    return result


def _said(record: Record, heard: Heard, folder: Path) -> Iterator[str]:
    arguments = record["args"]
    verbosity = int(arguments[arguments.index("-v") + 1]) if "-v" in arguments else 0
    lines = [line(text, values) for level, text, values in heard.lines if level <= verbosity]
    said = Counter(_GENERATED.sub("*", text.replace(f"{folder}/files", "DIR")) for text in lines)
    recorded = Counter(
        _GENERATED.sub("*", re.sub(r"\$\{HOME\}(/dir)?", "DIR", item))
        for item in record["normalised"]["stderr"].splitlines()
        if not item.startswith(_NOT_OURS)
    )
    yield from (f"recorded, not said: {text}" for text in recorded - said)
    yield from (f"said, not recorded: {text}" for text in said - recorded)
