"""Runs a plane from the command line: settings from options, signals, the kubeconfig context."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from kapy import __version__
from kapy._aio.clock import system_clock
from kapy.apiserver.authentication import read_tokens
from kapy.apps.all_in_one import CannotListen, Plane, management_plane
from kapy.apps.context import context_written, kubeconfig_path
from kapy.apps.extension_server.process import extended
from kapy.apps.presence import Presence, announced, claimed, tell
from kapy.apps.settings import DEFAULT_PORT, Folder, Serving, Settings, context_name
from kapy.cli.plane_options import Options
from kapy.kube.http import User


@dataclass(frozen=True, slots=True)
class Up:
    """A running plane and its kubeconfig context."""

    plane: Plane
    server: str
    context: str
    kubeconfig: Path


@asynccontextmanager
async def up_and_announced(options: Options) -> AsyncIterator[Up]:
    """Run a plane with its kubeconfig context and its presence file."""
    tokens = read_tokens(Path(options.token_file)) if options.token_file else {}
    async with AsyncExitStack() as stack:
        if options.folder is not None:
            stack.enter_context(claimed(options.folder))
        plane = await _listening(stack, options, tokens)
        assert plane.access is not None
        path, context = kubeconfig_path(options.kubeconfig), context_name(options.name)
        stack.enter_context(context_written(path, context, plane.access))
        if options.folder is not None:
            extensions = options.folder.path / "extensions"
            await stack.enter_async_context(
                extended(plane.client, options.extensions, extensions, Random())
            )
        found = Up(plane, plane.access.server, context, path)
        if options.folder is not None:
            presence = _presence(found)
            stack.enter_context(announced(options.folder, presence))
            _follow_clock(plane, options.folder, presence)
        yield found


async def _listening(stack: AsyncExitStack, options: Options, tokens: dict[str, User]) -> Plane:
    port = DEFAULT_PORT if options.port is None else options.port
    try:
        return await stack.enter_async_context(_plane(options, port, tokens))
    except CannotListen:
        if options.port is not None:
            raise
        once = replace(options, replace_keys=False, accept_data_loss=False)  # that is done
        return await stack.enter_async_context(_plane(once, 0, tokens))


def _plane(options: Options, port: int, tokens: dict[str, User]) -> Any:
    folder = options.folder
    keep = folder is not None and not options.in_memory
    serving = Serving(
        host=options.host,
        port=port,
        tokens=tokens,
        pki=folder.pki if folder is not None and keep else None,
        replace_keys=options.replace_keys,
    )
    settings = Settings(
        data=folder.data if folder is not None and keep else None,
        serving=serving,
        limits=options.limits,
        audit=options.audit,
        webhook_services=options.services,
        durability=options.durability,
        accept_data_loss=options.accept_data_loss,
        controlling=options.controlling,
        inventory=True,
        pods=None if folder is None or options.run_pods == "off" else folder.path,
        run_pods=options.run_pods,
        providers=options.providers,
    )
    return management_plane(settings, clock=system_clock, random=Random())


def _follow_clock(plane: Plane, folder: Folder, presence: Presence) -> None:
    """Record clock jumps for `kapy status`."""

    def told(what: str) -> None:
        with suppress(OSError):  # it is in the log, too
            tell(folder, replace(presence, clock=what))

    if plane.watch is not None:
        plane.watch.told.append(told)


def _presence(up: Up) -> Presence:
    started = system_clock().strftime("%Y-%m-%dT%H:%M:%SZ")
    clock = up.plane.watch.remark if up.plane.watch is not None else ""
    return Presence(
        os.getpid(), up.server, up.context, str(up.kubeconfig), started, __version__, clock
    )
