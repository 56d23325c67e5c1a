"""`kapy plan`: shows the changes that applying files would make."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kapy.cli.client_options import client_options, open_client
from kapy.cli.console import spinning
from kapy.cli.flags import command, persistent
from kapy.cli.planning import plan_on_virtual_time, with_namespace

if TYPE_CHECKING:
    from kapy.apps.plan.planned import Plan, PlanSource
    from kapy.kube import Document

CHANGES, PROBLEMS = 2, 1


@command()
@click.option(
    "-f",
    "--filename",
    "files",
    multiple=True,
    required=True,
    metavar="FILE",
    help="File or folder with the objects of the change; - reads standard input.",
)
@click.option("--delete", is_flag=True, help="The objects are deleted instead of applied.")
@click.option(
    "--server-side", is_flag=True, help="The objects are applied with kubectl apply --server-side."
)
@click.option(
    "--force-conflicts",
    is_flag=True,
    help="With --server-side: take over fields that other managers own.",
)
@click.option("--field-manager", metavar="NAME", help="The field manager, as for kubectl.")
@click.option("--offline", is_flag=True, help="Ask no management cluster.")
@click.option(
    "--current",
    multiple=True,
    metavar="FILE",
    help="With --offline: the existing objects (kubectl get -o yaml), and CRDs of providers.",
)
@client_options
@click.option("--summary", is_flag=True, help="Print how many objects and Machines only.")
@click.option(
    "--open", "opens", is_flag=True, help="Show the plan in a browser, on the page of `kapy ui`."
)
@click.option(
    "-o", "--output", type=click.Choice(["text", "json", "yaml"]), default="text", help="The form."
)
@click.option("-c", "--color/--no-color", default=None, help="Colour, also where piped.")
def plan(
    files: tuple[str, ...],
    delete: bool,
    server_side: bool,
    force_conflicts: bool,
    field_manager: str | None,
    offline: bool,
    current: tuple[str, ...],
    kubeconfig: str,
    kubeconfig_context: str,
    namespace: str,
    summary: bool,
    opens: bool,
    output: str,
    color: bool | None,
) -> int:
    """Show what applying files would do, before anything happens.

    Every object that would be created, changed or deleted, with the patch or variable behind each
    field; which Machines would be replaced, why, and in which steps. Nothing is written.

    Objects are applied as `kubectl apply` would. Give `--server-side`, `--force-conflicts` and
    `--field-manager` here as you would give them to kubectl. Without them, an object that was
    applied server-side last is applied so again, by the same manager.

    Exit code: 0 nothing to do, 2 changes, 1 an error; with `--open` 0 once the link is printed.
    """
    if not offline and current:
        raise click.UsageError("--current is for --offline: else the management cluster says it")
    if force_conflicts and not server_side:
        raise click.UsageError("--force-conflicts only works with --server-side")
    if delete and (server_side or field_manager is not None):
        raise click.UsageError("--server-side and --field-manager are not for --delete")
    if opens and (offline or server_side or field_manager is not None or summary):
        raise click.UsageError(
            "--open shows the plan of a plain `kubectl apply` (or --delete) at a management cluster"
        )
    # An unreadable file is reported before any other work.
    wanted = [(obj, source) for source in files for obj in _objects(source)]
    there = [obj for source in current for obj in _objects(source)]
    from kapy.cli.describe import wants_color

    place = (kubeconfig, kubeconfig_context, namespace)
    if opens:
        _open([entry for entry, _ in wanted], place, deletes=delete)
        return 0
    with spinning("planning"), _plan_source(there, place, offline=offline) as (world, default):
        from kapy.apps.plan.changes import RequestedChange
        from kapy.apps.plan.manner import ApplyOptions

        options = ApplyOptions(server_side, force_conflicts, field_manager or "")
        requested = [
            RequestedChange(with_namespace(item, default), source, delete, options)
            for item, source in wanted
        ]
        result = plan_on_virtual_time(world, requested, quiet=not persistent().verbosity)
    form = _summary if summary else _text
    click.echo(form(result, output, color=wants_color(color)), nl=False, color=True)
    if result.problems:
        return PROBLEMS
    return 0 if result.is_empty else CHANGES


def _open(documents: Sequence[Document], place: tuple[str, str, str], *, deletes: bool) -> None:
    """Show the plan in a browser."""
    from kapy.cli.event_loop import run
    from kapy.cli.ui import Link, open_pages
    from kapy.kube.yaml import dump_all

    link = Link(plan=dump_all(list(documents)), namespace=place[2] or "default", deletes=deletes)
    run(open_pages(place, link))


@contextmanager
def _plan_source(
    documents: Sequence[Document], place: tuple[str, str, str], *, offline: bool
) -> Iterator[tuple[PlanSource, str]]:
    if offline:
        from kapy.apps.plan.plan_sources import FileSource

        default = place[2] or "default"
        yield FileSource([with_namespace(document, default) for document in documents]), default
        return
    with open_client(*place) as client:
        from kapy.apps.plan.plan_sources import ClusterSource

        yield ClusterSource(client.client), client.namespace


def _objects(source: str) -> list[Document]:
    from kapy.apps.manifests import read_file, read_manifests

    if source == "-":
        return read_manifests(sys.stdin.read(), "standard input")
    path = Path(source)
    if not path.is_dir():
        return read_file(path)
    files = sorted(item for item in path.iterdir() if item.suffix in (".yaml", ".yml", ".json"))
    return [document for file in files for document in read_file(file)]


def _text(plan: Plan, output: str, *, color: bool) -> str:
    from kapy.apps.plan.report import as_document, as_text

    return (
        as_text(plan, color=color) if output == "text" else _format_plan(as_document(plan), output)
    )


def _summary(plan: Plan, output: str, *, color: bool) -> str:
    from kapy.apps.plan.report import as_summary, summary

    if output == "text":
        return as_summary(plan, color=color)
    return _format_plan(
        {"kind": "PlanSummary", **summary(plan), "problems": len(plan.problems)}, output
    )


def _format_plan(document: Document, output: str) -> str:
    if output == "yaml":
        from kapy.kube.yaml import dump

        return dump(document)
    import msgspec

    return msgspec.json.format(msgspec.json.encode(document)).decode() + "\n"
