"""The journal of a move: the planned and the finished steps, on disk before each step.

It is a file of JSON lines that only its owner can read: it holds the moved objects with their
private keys, and the target's previous objects. A truncated last line (the process or the machine
failed while writing) counts as not written.

A write blocks until the data are on disk. It raises MoveError if it fails, so no step happens that
the journal does not record.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec

from kapy.clusterctl.errors import MoveError
from kapy.clusterctl.move.graph import Ref
from kapy.clusterctl.move.plan import Plan, PlannedMove
from kapy.kube import Document

FORMAT: Final = 1

Leg: TypeAlias = Literal["forth", "back"]
"""The direction: from the source to the target, or back."""


class Mode(Enum):
    """The kind of a move."""

    CLUSTERS = "to another cluster"
    TO_DIRECTORY = "to a directory"
    FROM_DIRECTORY = "from a directory"


class Place(msgspec.Struct, frozen=True, omit_defaults=True):
    """One side of a move, as the user named it. identity: UID of its kube-system namespace."""

    kubeconfig: str = ""
    context: str = ""
    identity: str = ""
    directory: str = ""


class MoveStarted(msgspec.Struct, frozen=True, tag="begun", omit_defaults=True):
    """The first entry of a journal: the move and its two sides."""

    id: str
    mode: Mode
    namespace: str
    source: Place
    target: Place
    format: int = FORMAT


class PauseStarted(msgspec.Struct, frozen=True, tag="pausing"):
    """An entry of a journal: Clusters and ClusterClasses of the source that the move is about to
    pause.
    """

    refs: tuple[Ref, ...]


class ObjectsKnown(msgspec.Struct, frozen=True, tag="known"):
    """An entry of a journal: the UIDs of all objects that the target had before the move."""

    uids: tuple[str, ...]


class PlanStarted(msgspec.Struct, frozen=True, tag="planning"):
    """An entry of a journal: a new plan with the given number of objects follows; it replaces an
    earlier one.
    """

    leg: Leg
    objects: int


class PlannedObject(msgspec.Struct, frozen=True, tag="object"):
    """An entry of a journal: one object of a plan."""

    leg: Leg
    object: PlannedMove


class PriorState(msgspec.Struct, frozen=True, tag="prior"):
    """An entry of a journal: an object of the target before its update."""

    ref: Ref
    document: Document


class ObjectCreated(msgspec.Struct, frozen=True, tag="made"):
    """An entry of a journal: objects that the move created in the target, with their UIDs."""

    uids: tuple[tuple[Ref, str], ...]


class TargetVerified(msgspec.Struct, frozen=True, tag="verified"):
    """The other side has everything; the next step removes the objects from this side."""

    leg: Leg


class ObjectRemoved(msgspec.Struct, frozen=True, tag="removed"):
    """The objects are gone from the source; the next step resumes them in the target."""


class RollbackStarted(msgspec.Struct, frozen=True, tag="turned back"):
    """The move is being rolled back from this entry of the journal on."""


class MoveDone(msgspec.Struct, frozen=True, tag="done"):
    """The move or its rollback has ended."""


Entry = (
    MoveStarted
    | PauseStarted
    | ObjectsKnown
    | PlanStarted
    | PlannedObject
    | PriorState
    | ObjectCreated
    | TargetVerified
    | ObjectRemoved
    | RollbackStarted
    | MoveDone
)
_DECODER: Final[msgspec.json.Decoder[Any]] = msgspec.json.Decoder(Entry)
_ENCODER: Final = msgspec.json.Encoder()


@dataclass
class State:
    """The progress of a move.

    known_uids: the UIDs of the objects that the target had before, None until they were read.
    everything: all objects that were ever planned for the target, in their last planned state.
    """

    begun: MoveStarted
    paused: set[Ref] = field(default_factory=set)
    known_uids: frozenset[str] | None = None
    plans: dict[Leg, Plan] = field(default_factory=dict)
    everything: dict[Ref, PlannedMove] = field(default_factory=dict)
    prior: dict[Ref, Document] = field(default_factory=dict)
    created_uids: dict[Ref, str] = field(default_factory=dict)
    verified: set[Leg] = field(default_factory=set)
    removed: bool = False
    turned_back: bool = False
    done: bool = False


class Journal:
    """The journal of one move, opened for writing with an exclusive lock."""

    def __init__(self, path: Path, file: int, entries: Sequence[Any]) -> None:
        first = entries[0]
        assert isinstance(first, MoveStarted)
        self.path = path
        self.state = State(first)
        self._file = file
        self._coming: tuple[PlanStarted, list[PlannedMove]] | None = None
        for entry in entries[1:]:
            self._apply_entry(entry)

    @classmethod
    def new(cls, path: Path, start: MoveStarted) -> Journal:
        """Create the journal of a new move. Raises MoveError."""
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise MoveError(
                f"there is a journal at {path} already; go on with that move by --resume, undo it "
                "by --rollback, or name another file with --journal"
            ) from None
        except OSError as error:
            raise _journal_error("write", path, error) from None
        journal = cls(path, _lock(path, file), [start])
        journal.write(start)
        _sync_directory(path.parent)
        return journal

    @classmethod
    def open(cls, path: Path) -> Journal:
        """Open an existing journal to continue its move. Raises MoveError."""
        try:
            file = os.open(path, os.O_RDWR)
            with os.fdopen(os.dup(file), "rb") as reading:
                _lock(path, file)
                content = reading.read()
        except OSError as error:
            raise _journal_error("read", path, error) from None
        entries, length = _entries(path, content)
        os.ftruncate(file, length)
        os.lseek(file, length, os.SEEK_SET)
        return cls(path, file, entries)

    @property
    def has_ended(self) -> bool:
        """Whether the move or its rollback is complete."""
        return self.state.done

    @property
    def mark(self) -> str:
        """The field manager that identifies the objects that this move created."""
        return f"kapy-move-{self.state.begun.id}"

    def plan(self, leg: Leg, plan: Plan) -> None:
        """Record a plan in the journal."""
        objects = list(plan.objects.values())
        self.write(
            PlanStarted(leg, len(objects)), *(PlannedObject(leg, planned) for planned in objects)
        )

    def write(self, *entries: Any) -> None:
        """Append entries; they are on disk when this method returns. Raises MoveError."""
        if not entries:
            return
        content = b"".join(_ENCODER.encode(entry) + b"\n" for entry in entries)
        before = os.lseek(self._file, 0, os.SEEK_CUR)
        try:
            _write(self._file, content)
            os.fsync(self._file)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._file, before)
                os.lseek(self._file, before, os.SEEK_SET)
            raise _journal_error("write", self.path, error) from None
        for entry in entries:
            self._apply_entry(entry)

    def end(self) -> None:
        """End the move and delete the journal, because it contains secrets."""
        self.write(MoveDone())
        self.path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Close the journal and release its lock."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _apply_entry(self, entry: Any) -> None:
        match entry:
            case PlanStarted():
                self._coming = (entry, [])
            case PlannedObject() if self._coming is not None:
                self._coming[1].append(entry.object)
            case _:
                _apply(self.state, entry)
                return
        planning, objects = self._coming
        if len(objects) == planning.objects:
            plan = self.state.plans[planning.leg] = Plan(objects)
            if planning.leg == "forth":
                self.state.everything.update(plan.objects)
            self._coming = None


def _apply(state: State, entry: Any) -> None:
    match entry:
        case PauseStarted():
            state.paused.update(entry.refs)
        case ObjectsKnown():
            state.known_uids = frozenset(entry.uids)
        case PriorState():
            state.prior.setdefault(entry.ref, entry.document)
        case ObjectCreated():
            state.created_uids.update(entry.uids)
        case TargetVerified():
            state.verified.add(entry.leg)
        case ObjectRemoved():
            state.removed = True
        case RollbackStarted():
            state.turned_back = True
        case MoveDone():
            state.done = True


def unfinished_moves(folder: Path) -> Mapping[Path, MoveStarted]:
    """Return the journals in a folder whose moves have not ended, oldest first."""
    moves: dict[Path, MoveStarted] = {}
    for path in sorted(folder.glob("*.jsonl")):
        with suppress(OSError, MoveError):
            entries, _ = _entries(path, path.read_bytes())
            if not isinstance(entries[-1], MoveDone):
                moves[path] = entries[0]
    return moves


def _entries(path: Path, content: bytes) -> tuple[list[Any], int]:
    """Return the entries of a journal, and the number of bytes they take."""
    lines = content.split(b"\n")[:-1]  # drop a truncated last line
    try:
        entries = [_DECODER.decode(line) for line in lines]
    except (ValueError, RecursionError) as error:
        raise MoveError(
            f"{path} is no journal of a move that this kapy can read: {error}"
        ) from None
    if not entries or not isinstance(entries[0], MoveStarted) or entries[0].format != FORMAT:
        raise MoveError(
            f"{path} is no journal of a move that this kapy can read; an empty one belongs to a "
            "move that did nothing yet, and can be removed"
        )
    return entries, sum(len(line) + 1 for line in lines)


def _write(file: int, content: bytes) -> None:
    view: Any = memoryview(content)
    while view:
        view = view[os.write(file, view) :]


def _lock(path: Path, file: int) -> int:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise MoveError(
            f"another kapy works with the journal {path}; wait until it has ended"
        ) from None
    return file


def _sync_directory(folder: Path) -> None:
    """Sync the folder, so that the journal's name is on disk, too."""
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _journal_error(operation: str, path: Path, error: OSError) -> MoveError:
    return MoveError(
        f"cannot {operation} the journal {path}: {error.strerror or error}; nothing was done that "
        "it "
        "does not know, so that --resume or --rollback can go on once it can be used again"
    )
