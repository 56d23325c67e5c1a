"""Shell completion of values: clusters, contexts, planes, files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from kapy.kube.names import Resource

TIMEOUT: Final = 3.0
"""Seconds for the management cluster to answer while the user waits for completions."""

Completer = Callable[[click.Context, str], list[CompletionItem]]


def add_completion(params: Iterable[click.Parameter]) -> None:
    """Add completion to parameters by their names: clusters, contexts, planes, files."""
    for param in params:
        result = _completer(param)
        if result is not None:
            setattr(param, "shell_complete", result)  # noqa: B010


def _completer(param: click.Parameter) -> Completer | None:
    if isinstance(param, click.Argument):
        return _OF_ARGUMENTS.get(str(param.name)) or _path_completer(param)
    if not isinstance(param, click.Option) or param.is_flag:
        return None
    name = max(param.opts, key=len)
    if name.endswith("kubeconfig-context"):
        return partial(_contexts, str(param.name).removesuffix("_context"))
    if name == "--source":
        return _sources
    if name == "--name" and str(param.help).startswith("Name of the plane"):
        return _planes
    if name.endswith(_FOLDERS):
        return partial(_paths, "dir")
    if name.endswith(_FILES) or param.metavar == "FILE":
        return partial(_paths, "file")
    return None


_FOLDERS: Final = ("-dir", "-directory")
_FILES: Final = ("file", "filename", "kubeconfig", "--config", "--from", "-ca", "-log-path")


def _path_completer(param: click.Argument) -> Completer | None:
    return partial(_paths, "file") if param.name in ("file", "path", "source") else None


def _paths(kind: str, ctx: click.Context, prefix: str) -> list[CompletionItem]:  # noqa: ARG001
    return [CompletionItem(prefix, type=kind)]


def _clusters(ctx: click.Context, prefix: str) -> list[CompletionItem]:
    return _matching(prefix, _ignore_errors(partial(_cluster_names, ctx)))


def _machines(ctx: click.Context, prefix: str) -> list[CompletionItem]:
    return _matching(prefix, _ignore_errors(partial(_machine_names, ctx)))


_OF_ARGUMENTS: Final[Mapping[str, Completer]] = {"cluster": _clusters, "machine": _machines}


def _sources(ctx: click.Context, prefix: str) -> list[CompletionItem]:  # noqa: ARG001
    from kapy.providers.docker.console import ContainerConsole

    return _matching(prefix, ["all", *ContainerConsole.sources])


def _contexts(file: str, ctx: click.Context, prefix: str) -> list[CompletionItem]:
    """Return the contexts in the file that another flag names."""
    return _matching(prefix, _ignore_errors(partial(_context_names, ctx.params.get(file) or "")))


def _planes(ctx: click.Context, prefix: str) -> list[CompletionItem]:  # noqa: ARG001
    return _matching(prefix, _ignore_errors(_plane_names))


def _matching(prefix: str, names: Sequence[str]) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(prefix)]


def _ignore_errors(names: Callable[[], Sequence[str]]) -> Sequence[str]:
    """Return the names, none if they cannot be read: shell completion must not print errors."""
    try:
        return names()
    except Exception:  # the command itself reports errors
        return ()


def _context_names(file: str) -> Sequence[str]:
    from kapy.client import kubeconfig_files
    from kapy.kube.yaml import load

    paths = [Path(file)] if file else kubeconfig_files.paths(os.environ, Path.home())
    names: dict[str, None] = {}
    for path in paths:
        if path.is_file():
            document: Any = load(path.read_text(encoding="utf-8")) or {}
            names |= {str(context["name"]): None for context in document.get("contexts") or ()}
    return list(names)


def _plane_names() -> Sequence[str]:
    from kapy.apps.planes import planes_in
    from kapy.apps.settings import base_of_planes

    return [plane.name for plane in planes_in(base_of_planes(os.environ, Path.home()))]


def _cluster_names(ctx: click.Context) -> Sequence[str]:
    from kapy.api.cluster import Cluster

    return _names_of(Cluster.RESOURCE, ctx)


def _machine_names(ctx: click.Context) -> Sequence[str]:
    from kapy.api.machine import Machine

    return _names_of(Machine.RESOURCE, ctx)


def _names_of(resource: Resource, ctx: click.Context) -> Sequence[str]:
    from kapy.cli.client_options import kubeconfig_of
    from kapy.client.blocking import BlockingApiTransport, run_without_loop
    from kapy.client.client import Client

    parameters = ctx.params
    access = kubeconfig_of(
        parameters.get("kubeconfig") or "", parameters.get("kubeconfig_context") or ""
    )
    transport = BlockingApiTransport(access, timeout=TIMEOUT)
    try:
        namespace = parameters.get("namespace") or access.namespace or "default"
        listed = run_without_loop(Client(transport).list(resource, namespace))
    finally:
        transport.close()
    return sorted(item["metadata"]["name"] for item in listed.items)
