"""`kapy move`: moves Cluster API objects between management clusters."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from kapy.cli.api_warnings import SETS, WarningPrinter
from kapy.cli.client_options import ConnectedClient, open_async_client
from kapy.cli.flags import command
from kapy.cli.progress import Interrupted, ProgressSteps, run_with_steps

if TYPE_CHECKING:
    from kapy.client.client import Client
    from kapy.clusterctl.move.journal import Journal, Place

_EXCLUSIVE: Final = (
    ("to-directory", "to-kubeconfig"),
    ("from-directory", "to-directory"),
    ("from-directory", "kubeconfig"),
    ("resume", "rollback"),
    ("resume", "dry-run"),
    ("dry-run", "rollback"),
    ("dry-run", "to-directory"),  # upstream writes the files nevertheless
    ("dry-run", "from-directory"),
)
_RESUME_HINT: Final = "`kapy move --resume` goes on, `kapy move --rollback` undoes it"


@dataclass(frozen=True)
class MoveOptions:
    """The user's options; the fields are named after the flags."""

    kubeconfig: str
    kubeconfig_context: str
    to_kubeconfig: str
    to_kubeconfig_context: str
    namespace: str
    dry_run: bool
    to_directory: str
    from_directory: str
    hide_api_warnings: str
    resume: bool
    rollback: bool
    journal: str


@command()
@click.option(
    "--kubeconfig",
    default="",
    help="Kubeconfig of the source, instead of $KUBECONFIG or ~/.kube/config.",
)
@click.option("--kubeconfig-context", default="", help="Context of the source.")
@click.option("--to-kubeconfig", default="", help="Kubeconfig of the destination.")
@click.option("--to-kubeconfig-context", default="", help="Context of the destination.")
@click.option(
    "-n", "--namespace", default="", help="Namespace to move, instead of the context's own."
)
@click.option("--dry-run", is_flag=True, help="Only report what would be moved and left behind.")
@click.option("--to-directory", default="", help="Write the objects to files in this directory.")
@click.option("--from-directory", default="", help="Create objects from files of this directory.")
@click.option(
    "--hide-api-warnings",
    default="default",
    show_default=True,
    help='Warnings of API servers to hide: "default" (finalizers, deprecations), "all" or "none".',
)
@click.option("--resume", is_flag=True, help="Go on with a move that did not end.")
@click.option("--rollback", is_flag=True, help="Undo a move that did not end.")
@click.option(
    "--journal",
    default="",
    help="File that keeps what is done, until the move has ended; usually below $KAPY_HOME/moves.",
)
def move(**flags: Any) -> None:
    """Move Cluster API objects and all dependencies between management clusters.

    The destination must have the required providers. Each step is written to a journal first: a
    move that was interrupted, at whatever step, goes on with --resume or is undone with --rollback.
    """
    options = MoveOptions(**flags)
    _check(options)
    moving = _MoveCommand(options)
    try:
        run_with_steps(moving.run, again=_RESUME_HINT)
    except Interrupted:
        if moving.begun:
            raise
        raise Interrupted("stopped before anything was changed") from None


class _MoveCommand:
    """One call of the command. begun: a journal exists, so the move can be resumed."""

    def __init__(self, options: MoveOptions) -> None:
        from kapy.cli.load_config import load_config, verbosity

        self.begun = False
        self._asked = options
        self._verbosity = verbosity(load_config())
        self._steps: ProgressSteps | None = None

    async def run(self, steps: ProgressSteps) -> None:
        """Run the requested operation."""
        self._steps = steps
        if self._asked.resume or self._asked.rollback:
            await self._resume()
        elif self._asked.dry_run:
            await self._rehearse()
        else:
            await self._begin()

    async def _rehearse(self) -> None:
        from kapy.clusterctl.move.operation import check_server
        from kapy.clusterctl.move.preflight import rehearse

        async with self._source() as there:
            await check_server(there.client)
            await rehearse(there.client, there.namespace, self._log)

    async def _begin(self) -> None:
        from kapy._aio.clock import system_clock
        from kapy.clusterctl.move.journal import Mode, Place
        from kapy.clusterctl.move.operation import check_server, journal_of, move_start, new_path

        options = self._asked
        async with AsyncExitStack() as stack:
            source = target = None
            namespace = options.namespace
            origin = Place(directory=_absolute(options.from_directory))
            goal = Place(directory=_absolute(options.to_directory))
            if not options.from_directory:
                there = await stack.enter_async_context(self._source())
                source, namespace = there.client, there.namespace
                origin = _place(
                    options.kubeconfig, options.kubeconfig_context, await check_server(source)
                )
            if not options.to_directory:
                target = (await stack.enter_async_context(self._target())).client
                name = options.to_kubeconfig
                goal = _place(name, options.to_kubeconfig_context, await check_server(target))
            mode = Mode.TO_DIRECTORY if options.to_directory else Mode.CLUSTERS
            if options.from_directory:
                mode = Mode.FROM_DIRECTORY
            path = Path(options.journal or new_path(_folder(), namespace, system_clock()))
            new = move_start(mode, namespace, origin, goal)
            journal = await journal_of(new, source, target, path, self._log)
            await self._finish(journal, source, target)

    async def _resume(self) -> None:
        from kapy.clusterctl.move.journal import Journal, Mode
        from kapy.clusterctl.move.operation import check_side, unfinished_journal

        journal = Journal.open(Path(self._asked.journal or unfinished_journal(_folder())))
        begun = journal.state.begun
        async with AsyncExitStack() as stack:
            source = target = None
            if begun.mode is not Mode.FROM_DIRECTORY:
                source = (await stack.enter_async_context(self._source(begun.source))).client
                await check_side("source", begun.source, source)
            if begun.mode is not Mode.TO_DIRECTORY:
                target = (await stack.enter_async_context(self._target(begun.target))).client
                await check_side("target", begun.target, target)
            await self._finish(journal, source, target)

    async def _finish(self, journal: Journal, source: Client | None, target: Client | None) -> None:
        from kapy.clusterctl.errors import MoveError
        from kapy.clusterctl.move.operation import operation
        from kapy.kube.errors import KapyError

        self.begun = True
        try:
            move = operation(journal, source, target, self._log)
            await (move.roll_back() if self._asked.rollback else move.run())
        except KapyError as error:
            if journal.has_ended:
                raise
            way = "" if "--resume" in str(error) else f"; {_RESUME_HINT}"
            raise MoveError(f"{error}{way} (journal {journal.path})") from None
        finally:
            journal.close()

    def _source(
        self, journal_place: Place | None = None
    ) -> AbstractAsyncContextManager[ConnectedClient]:
        return self._connect(self._asked.kubeconfig, self._asked.kubeconfig_context, journal_place)

    def _target(
        self, journal_place: Place | None = None
    ) -> AbstractAsyncContextManager[ConnectedClient]:
        return self._connect(
            self._asked.to_kubeconfig, self._asked.to_kubeconfig_context, journal_place
        )

    @asynccontextmanager
    async def _connect(
        self, kubeconfig: str, context: str, journal_place: Place | None
    ) -> AsyncIterator[ConnectedClient]:
        """Connect to one side. journal_place: its place in the journal, used if the flags name
        none.
        """
        from kapy.client.client import Client

        if journal_place is not None and not kubeconfig:
            kubeconfig, context = journal_place.kubeconfig, context or journal_place.context
        async with open_async_client(kubeconfig, context, self._asked.namespace) as there:
            warned = WarningPrinter(
                there.client.transport, self._asked.hide_api_warnings, self._print
            )
            yield ConnectedClient(Client(warned, field_manager="kapy"), there.namespace)

    def _log(self, level: int, message: str, /, **values: Any) -> None:
        if level <= self._verbosity and self._steps is not None:
            self._steps(message, **values)

    def _print(self, text: str) -> None:
        self._log(0, text)


def _place(kubeconfig: str, context: str, identity: str) -> Place:
    from kapy.clusterctl.move.journal import Place

    return Place(_absolute(kubeconfig), context, identity)


def _absolute(path: str) -> str:
    return str(Path(path).absolute()) if path else ""


def _folder() -> Path:
    from kapy.apps.settings import folder_of

    return folder_of("moves", os.environ, Path.home()).path


def _check(options: MoveOptions) -> None:
    for group in _EXCLUSIVE:
        if all(getattr(options, name.replace("-", "_")) for name in group):
            both = " ".join(group)
            raise click.UsageError(
                f"if any flags in the group [{both}] are set none of the others can be; [{both}] "
                "were all set"
            )
    named = options.to_directory or options.from_directory or options.to_kubeconfig
    if not (named or options.dry_run or options.resume or options.rollback):
        raise click.UsageError(
            "please specify a target cluster using the --to-kubeconfig flag when not using "
            "--dry-run, --to-directory or --from-directory"
        )
    if options.hide_api_warnings not in SETS:
        raise click.UsageError(
            f'set of API warnings "{options.hide_api_warnings}" is unknown; choose "default", '
            '"all", or "none"'
        )
