"""Saves the objects of a move to files, and restores them: one JSON document each, owner-readable
only.

Saving leaves the source unchanged: Clusters are paused while their objects are read, and resumed
afterwards. Restoring creates missing objects; existing ones stay as they are.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from kapy.client.client import Client
from kapy.client.kinds import Kinds, UnknownKind
from kapy.clusterctl.errors import MoveError
from kapy.clusterctl.move import pausing
from kapy.clusterctl.move.checks import check_ready, check_unpaused
from kapy.clusterctl.move.copying import ObjectCopier, existing_objects
from kapy.clusterctl.move.discovery import discover, kind_of
from kapy.clusterctl.move.graph import Graph, Ref, ref_of
from kapy.clusterctl.move.journal import Journal, MoveStarted, PauseStarted, RollbackStarted
from kapy.clusterctl.move.kinds import CLUSTER, CLUSTER_CLASS, MovedKind, moved_kinds
from kapy.clusterctl.move.log import Log
from kapy.clusterctl.move.plan import Plan, left_behind, plan_move
from kapy.clusterctl.move.removal import undo_in_target, verify
from kapy.clusterctl.move.summary import log_counts, log_left_behind, paused_refs
from kapy.kube import Document
from kapy.kube.yaml import load_all

_MAX_BYTES: Final = 64 << 20
"""Bytes of a file that a move wrote."""


async def start_saving(source: Client, start: MoveStarted, path: Path, log: Log) -> Journal:
    """Return the journal of a new move to a directory; nothing has been changed yet. Raises
    MoveError.
    """
    log(0, "Moving to directory...")
    _check_folder(Path(start.target.directory))
    graph = await discover(source, start.namespace, log)
    check_ready(graph)
    log_counts(graph, log, "Starting move of Cluster API objects")
    check_unpaused(graph)
    journal = Journal.new(path, start)
    journal.write(PauseStarted(paused_refs(graph)))
    return journal


class SaveOperation:
    """A move to a directory."""

    def __init__(self, source: Client, journal: Journal, log: Log) -> None:
        self._source = source
        self._journal = journal
        self._tell = log

    async def run(self) -> None:
        """Write all objects to files. After any failure, the Clusters are resumed."""
        if self._journal.state.turned_back:
            await self.roll_back()
            return
        paused = self._journal.state.paused
        try:
            await pausing.pause(self._source, paused, self._tell)
            await self._save()
        except BaseException:
            await self.roll_back()
            raise
        await pausing.resume(self._source, paused, self._tell, "source")
        self._journal.end()

    async def roll_back(self) -> None:
        """Resume the Clusters; written files stay."""
        self._journal.write(RollbackStarted())
        await pausing.resume(self._source, self._journal.state.paused, self._tell, "source")
        self._journal.end()

    async def _save(self) -> None:
        start = self._journal.state.begun
        folder = Path(start.target.directory)
        graph = await discover(self._source, start.namespace)
        plan = plan_move(graph)
        documents = {node.ref: node.document for node in graph.existing_nodes() if node.document}
        self._tell(0, f"Saving files to {start.target.directory}")
        for ref, name in file_names(plan.objects).items():
            self._tell(1, "Saving", **{ref.kind: ref.name}, Namespace=ref.namespace)
            _save(folder / name, documents[ref])
        for remaining in left_behind(graph, plan):
            log_left_behind(remaining, self._tell, level=0 if remaining.belongs else 5)


async def start_restoring(target: Client, start: MoveStarted, path: Path, log: Log) -> Journal:
    """Return the journal of a new move from a directory, with its plan; nothing has been changed
    yet.
    """
    log(0, "Moving from directory...")
    graph = Graph(await moved_kinds(target))
    log(0, f"Restoring files from {start.source.directory}")
    served = Kinds(target)
    for document in documents_in(Path(start.source.directory)):
        graph.add(document, await _kind_of(document, graph, served))
    graph.complete()
    plan = plan_move(graph)
    for remaining in left_behind(graph, plan):
        log_left_behind(remaining, log)
    await existing_objects(
        target, plan.objects.values()
    )  # refuses kinds that the target does not serve
    journal = Journal.new(path, start)
    journal.plan("forth", plan)
    return journal


class RestoreOperation:
    """A move from a directory."""

    def __init__(self, target: Client, journal: Journal, log: Log) -> None:
        self._target = target
        self._journal = journal
        self._tell = log

    async def run(self) -> None:
        """Create the missing objects, then resume the Clusters. It can be repeated."""
        if self._journal.state.turned_back:
            await self.roll_back()
            return
        plan = self._journal.state.plans["forth"]
        self._tell(0, "Restoring objects into the target cluster")
        await ObjectCopier(self._target, self._journal, self._tell, updates=False).run(plan)
        await verify(self._target, plan, updated=False)
        await pausing.resume(self._target, _unfinished_refs(plan), self._tell)
        self._journal.end()

    async def roll_back(self) -> None:
        """Delete the created objects."""
        self._journal.write(RollbackStarted())
        objects = self._journal.state.everything.values()
        await undo_in_target(self._target, self._journal, objects, None, self._tell)
        self._journal.end()


async def _kind_of(document: Document, graph: Graph, served: Kinds) -> MovedKind:
    try:
        return await kind_of(document, graph.kinds, served)
    except UnknownKind as error:
        raise MoveError(
            f"{ref_of(document)} cannot be restored: {error} in the target; install its provider "
            "there with `init`"
        ) from None


def file_names(refs: Iterable[Ref]) -> dict[Ref, str]:
    """File names `Kind_namespace_name.yaml`; with the group if two kinds share a name."""
    names = {ref: f"{ref.kind}_{ref.namespace}_{ref.name}.yaml" for ref in refs}
    many = Counter(names.values())
    return {
        ref: name if many[name] == 1 else f"{ref.kind}.{ref.group}_{ref.namespace}_{ref.name}.yaml"
        for ref, name in names.items()
    }


def documents_in(folder: Path) -> Iterator[Document]:
    """The objects of all files of a folder. Raises MoveError, and YamlError with the line."""
    try:
        paths = sorted(item for item in folder.iterdir() if item.is_file())
        contents = [(path, _content(path)) for path in paths]
    except OSError as error:
        raise MoveError(f"cannot read {error.filename}: {error.strerror}") from None
    for path, content in contents:
        for document in load_all(content, str(path)):
            yield _object(path, document)


def _content(path: Path) -> bytes:
    with path.open("rb") as file:
        content = file.read(_MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise MoveError(f"{path} is larger than {_MAX_BYTES} bytes, so no move wrote it")
    return content


def _object(path: Path, document: Any) -> Document:
    try:
        name = ref_of(document).name
    except (KeyError, TypeError, AttributeError):
        name = ""
    if not name:
        raise MoveError(
            f"{path} holds something that is no object (with apiVersion, kind and metadata.name); "
            "a directory to move from has only files that --to-directory wrote"
        )
    return dict(document)


def _unfinished_refs(plan: Plan) -> list[Ref]:
    return [ref for ref in plan.objects if ref.group_kind in (CLUSTER, CLUSTER_CLASS)]


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise MoveError(f"there is no directory {folder}; make it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise MoveError(f"files cannot be written to {folder}; choose another directory")


def _save(path: Path, document: Document) -> None:
    try:
        path.unlink(missing_ok=True)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(file, "wb") as writing:
            writing.write(msgspec.json.encode(document))
    except OSError as error:
        with suppress(OSError):
            path.unlink()
        raise MoveError(
            f"cannot write {path}: {error.strerror}; the files so far are not all of them, the "
            "clusters were not changed"
        ) from None
