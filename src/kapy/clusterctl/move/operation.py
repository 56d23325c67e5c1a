"""A move as one operation: its journal, its two clusters and its kind."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol

from kapy.client.client import Client
from kapy.clusterctl.errors import MoveError
from kapy.clusterctl.inventory import Inventory
from kapy.clusterctl.move.checks import identity
from kapy.clusterctl.move.directory import (
    RestoreOperation,
    SaveOperation,
    start_restoring,
    start_saving,
)
from kapy.clusterctl.move.journal import Journal, Mode, MoveStarted, Place, unfinished_moves
from kapy.clusterctl.move.log import Log
from kapy.clusterctl.move.mover import Mover
from kapy.clusterctl.move.preflight import start_move

_SIDES: Final = {"source": "--kubeconfig", "target": "--to-kubeconfig"}


class Operation(Protocol):
    """A move that has begun. Both methods raise MoveError, ApiErrors and Unreachable, and can be
    repeated after that."""

    async def run(self) -> None:
        """Do the remaining steps of the move."""
        ...

    async def roll_back(self) -> None:
        """Undo the move."""
        ...


async def check_server(client: Client) -> str:
    """Return the identity of a cluster. Raises InventoryError unless Cluster API is installed
    there.
    """
    await Inventory(client).check_contract()
    return await identity(client)


def move_start(mode: Mode, namespace: str, source: Place, target: Place) -> MoveStarted:
    """Return the first journal entry of a new move. Raises MoveError if both sides are the same
    cluster.
    """
    if source.identity and source.identity == target.identity:
        raise MoveError(
            "the source and the target are the same cluster; --to-kubeconfig names the one that "
            "the objects go to"
        )
    return MoveStarted(secrets.token_hex(4), mode, namespace, source, target)


async def journal_of(
    move: MoveStarted,
    source: Client | None,
    target: Client | None,
    path: Path,
    log: Log,
    *,
    besides: Collection[str] = (),
) -> Journal:
    """Run the preflight checks and create the journal. Nothing is changed yet. Raises MoveError.

    besides: labels of providers that the target does not need.
    """
    _refuse_second(path.parent, move)
    match move.mode:
        case Mode.TO_DIRECTORY:
            assert source is not None
            return await start_saving(source, move, path, log)
        case Mode.FROM_DIRECTORY:
            assert target is not None
            return await start_restoring(target, move, path, log)
        case Mode.CLUSTERS:
            assert source is not None
            assert target is not None
            return await start_move(source, target, move, path, log, besides=besides)


def operation(
    journal: Journal, source: Client | None, target: Client | None, log: Log
) -> Operation:
    """Return the operation that continues a journal."""
    mode = journal.state.begun.mode
    if mode is Mode.FROM_DIRECTORY:
        assert target is not None
        return RestoreOperation(target, journal, log)
    assert source is not None
    if mode is Mode.TO_DIRECTORY:
        return SaveOperation(source, journal, log)
    assert target is not None
    return Mover(source, target, journal, log)


def new_path(folder: Path, namespace: str, now: datetime) -> Path:
    """Return the default path of the journal of a new move."""
    return folder / f"{now:%Y%m%dT%H%M%SZ}-{namespace or 'all'}-{secrets.token_hex(2)}.jsonl"


def unfinished_journal(folder: Path) -> Path:
    """Return the path of the journal of the only unfinished move. Raises MoveError."""
    move_starteds = unfinished_moves(folder)
    if len(move_starteds) == 1:
        return next(iter(move_starteds))
    if not move_starteds:
        raise MoveError(
            f"there is no move to go on with: every journal in {folder} has ended; --journal names "
            "one that is elsewhere"
        )
    moves = "; ".join(
        f"{path} ({move_started.namespace}, {move_started.mode.value})"
        for path, move_started in move_starteds.items()
    )
    raise MoveError(f"several moves have not ended; choose one with --journal: {moves}")


async def check_side(name: str, place: Place, client: Client) -> None:
    """Raises MoveError if a cluster is not the one that the journal names."""
    result = await identity(client)
    if place.identity and result != place.identity:
        raise MoveError(
            f"this is not the {name} of the move: the journal is about another cluster; name that "
            f"one with {_SIDES[name]}"
        )


def _refuse_second(folder: Path, move: MoveStarted) -> None:
    for path, other in unfinished_moves(folder).items():
        same = other.source.identity and other.source.identity == move.source.identity
        if same and other.namespace == move.namespace:
            raise MoveError(
                f"a move of namespace {move.namespace} has begun and not ended; go on with it by "
                f"`move --resume`, or undo it by `move --rollback` (journal {path})"
            )
