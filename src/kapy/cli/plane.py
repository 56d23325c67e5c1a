"""Runs a plane from the command line: settings from options, signals, the kubeconfig context."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import click

from kapy import __version__
from kapy._aio.clock import system_clock
from kapy.apiserver.auth.authentication import read_tokens
from kapy.apps.all_in_one import ManagementPlane, management_plane
from kapy.apps.context import kubeconfig_path, write_context
from kapy.apps.extension_server.process import run_extensions
from kapy.apps.network_serving import CannotListen
from kapy.apps.pidfile import PlaneRecord, announce, claim, write_record
from kapy.apps.settings import DEFAULT_PORT, Folder, Pages, Serving, Settings, context_name
from kapy.cli.plane_options import PlaneOptions
from kapy.cli.planning import PagePlanner
from kapy.kube.http import User


@dataclass(frozen=True, slots=True)
class RunningPlane:
    """A running plane and its kubeconfig context."""

    plane: ManagementPlane
    server: str
    context: str
    kubeconfig: Path


@asynccontextmanager
async def run_announced_plane(options: PlaneOptions) -> AsyncIterator[RunningPlane]:
    """Run a plane with its kubeconfig context and its presence file."""
    tokens = read_tokens(Path(options.token_file)) if options.token_file else {}
    async with AsyncExitStack() as stack:
        if options.folder is not None:
            stack.enter_context(claim(options.folder))
            if options.run_pods == "off":
                await _end_orphaned_pods(options.folder)
        plane = await _listen(stack, options, tokens)
        assert plane.kubeconfig is not None
        path, context = kubeconfig_path(options.kubeconfig), context_name(options.name)
        stack.enter_context(write_context(path, context, plane.kubeconfig))
        if options.folder is not None:
            extensions = options.folder.path / "extensions"
            await stack.enter_async_context(
                run_extensions(plane.client, options.extensions, extensions, Random())
            )
        result = RunningPlane(plane, plane.kubeconfig.server, context, path)
        if options.folder is not None:
            record = _plane_record(result)
            stack.enter_context(announce(options.folder, record))
            _Announcement(options.folder, record).follow(plane)
        yield result


async def _end_orphaned_pods(folder: Folder) -> None:
    from kapy.apps.orphaned_pods import end_orphaned_pods

    problem = await end_orphaned_pods(folder)
    if problem:
        click.echo(problem, err=True)


async def _listen(
    stack: AsyncExitStack, options: PlaneOptions, tokens: dict[str, User]
) -> ManagementPlane:
    port = DEFAULT_PORT if options.port is None else options.port
    try:
        return await stack.enter_async_context(_plane(options, port, tokens))
    except CannotListen:
        if options.port is not None:
            raise
        once = replace(options, replace_keys=False, accept_data_loss=False)  # the first start only
        return await stack.enter_async_context(_plane(once, 0, tokens))


def _plane(options: PlaneOptions, port: int, tokens: dict[str, User]) -> Any:
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
        controllers=options.controlling,
        inventory=True,
        pods=None if folder is None or options.run_pods == "off" else folder.path,
        run_pods=options.run_pods,
        providers=options.providers,
        pages=Pages(plan=PagePlanner()),
        processes=options.processes,
        api_processes=options.api_processes,
    )
    return management_plane(settings, clock=system_clock, random=Random())


class _Announcement:
    """The record of the running plane, for `kapy status`."""

    def __init__(self, folder: Folder, record: PlaneRecord) -> None:
        self._folder = folder
        self._record = record

    def follow(self, plane: ManagementPlane) -> None:
        """Record clock jumps and the state of other processes."""
        if plane.clock_watch is not None:
            plane.clock_watch.callbacks.append(lambda what: self._change(clock=what))
        pools = [
            pool for pool in (plane.api_processes, plane.processes.workers) if pool is not None
        ]

        def record() -> None:
            self._change(workers=tuple(item for pool in pools for item in pool.records))

        for pool in pools:
            pool.changed.append(record)
        if pools:
            record()

    def _change(self, **changes: Any) -> None:
        self._record = replace(self._record, **changes)
        with suppress(OSError):  # it is also in the log
            write_record(self._folder, self._record)


def _plane_record(up: RunningPlane) -> PlaneRecord:
    started = system_clock().strftime("%Y-%m-%dT%H:%M:%SZ")
    clock = up.plane.clock_watch.remark if up.plane.clock_watch is not None else ""
    return PlaneRecord(
        os.getpid(), up.server, up.context, str(up.kubeconfig), started, __version__, clock
    )
