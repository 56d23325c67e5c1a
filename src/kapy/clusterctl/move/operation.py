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
from kapy.clusterctl.move.directory import Restoring, Saving, begin_restoring, begin_saving
from kapy.clusterctl.move.journal import Begun, Journal, Mode, Place, unfinished
from kapy.clusterctl.move.log import Log
from kapy.clusterctl.move.mover import Mover
from kapy.clusterctl.move.preflight import begin
from kapy.clusterctl.move.refusals import identity

_SIDES: Final = {"source": "--kubeconfig", "target": "--to-kubeconfig"}


class Operation(Protocol):
    """A move that has begun. Both methods raise MoveError, ApiErrors and Unreachable, and can be
    repeated after that."""

    async def go_on(self) -> None:
        """Do the remaining steps."""
        ...

    async def roll_back(self) -> None:
        """Undo the move."""
        ...


async def checked(client: Client) -> str:
    """The identity of a cluster. Raises InventoryError unless Cluster API is installed there."""
    await Inventory(client).check_contract()
    return await identity(client)


def begun(mode: Mode, namespace: str, source: Place, target: Place) -> Begun:
    """Begin a new move. Raises MoveError if both sides are the same cluster."""
    if source.identity and source.identity == target.identity:
        raise MoveError(
            "the source and the target are the same cluster; --to-kubeconfig names the one that "
            "the objects go to"
        )
    return Begun(secrets.token_hex(4), mode, namespace, source, target)


async def journal_of(
    move: Begun,
    source: Client | None,
    target: Client | None,
    path: Path,
    tell: Log,
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
            return await begin_saving(source, move, path, tell)
        case Mode.FROM_DIRECTORY:
            assert target is not None
            return await begin_restoring(target, move, path, tell)
        case Mode.CLUSTERS:
            assert source is not None
            assert target is not None
            return await begin(source, target, move, path, tell, besides=besides)


def operation(
    journal: Journal, source: Client | None, target: Client | None, tell: Log
) -> Operation:
    """The operation that continues a journal."""
    mode = journal.state.begun.mode
    if mode is Mode.FROM_DIRECTORY:
        assert target is not None
        return Restoring(target, journal, tell)
    assert source is not None
    if mode is Mode.TO_DIRECTORY:
        return Saving(source, journal, tell)
    assert target is not None
    return Mover(source, target, journal, tell)


def new_path(folder: Path, namespace: str, now: datetime) -> Path:
    """The default path of the journal of a new move."""
    return folder / f"{now:%Y%m%dT%H%M%SZ}-{namespace or 'all'}-{secrets.token_hex(2)}.jsonl"


def path_to_go_on(folder: Path) -> Path:
    """The path of the journal of the only unfinished move. Raises MoveError."""
    found = unfinished(folder)
    if len(found) == 1:
        return next(iter(found))
    if not found:
        raise MoveError(
            f"there is no move to go on with: every journal in {folder} has ended; --journal names "
            "one that is elsewhere"
        )
    moves = "; ".join(f"{path} ({one.namespace}, {one.mode.value})" for path, one in found.items())
    raise MoveError(f"several moves have not ended; choose one with --journal: {moves}")


async def check_side(name: str, place: Place, client: Client) -> None:
    """Raises MoveError if a cluster is not the one that the journal names."""
    found = await identity(client)
    if place.identity and found != place.identity:
        raise MoveError(
            f"this is not the {name} of the move: the journal is about another cluster; name that "
            f"one with {_SIDES[name]}"
        )


def _refuse_second(folder: Path, move: Begun) -> None:
    for path, other in unfinished(folder).items():
        same = other.source.identity and other.source.identity == move.source.identity
        if same and other.namespace == move.namespace:
            raise MoveError(
                f"a move of namespace {move.namespace} has begun and not ended; go on with it by "
                f"`move --resume`, or undo it by `move --rollback` (journal {path})"
            )
