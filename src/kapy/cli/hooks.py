"""`kapy hooks`: lists and calls the hooks of runtime extensions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from kapy.cli.client_options import client_options, open_async_client, open_client
from kapy.cli.flags import command
from kapy.cli.webhook_services import METAVAR, services_of
from kapy.client.blocking import run_without_loop
from kapy.kube import Document


@command()
@click.option(
    "-o",
    "--output",
    type=click.Choice(["yaml", "json"]),
    default="yaml",
    show_default=True,
    help="Output format.",
)
def openapi(output: str) -> None:
    """Print the OpenAPI v3 document of all hooks, to generate servers from in any language."""
    from kapy import CLUSTER_API
    from kapy.hooks.catalog import full_catalog
    from kapy.hooks.openapi.document import openapi as document

    result = document(full_catalog(), CLUSTER_API)
    if output == "json":
        import json

        click.echo(json.dumps(result, indent=2))
        return
    from kapy.kube.yaml import dump

    click.echo(dump(result), nl=False)


@command("list")
@client_options
def list_(kubeconfig: str, kubeconfig_context: str, namespace: str) -> None:
    """List the handlers that are registered in a management plane, and what is wrong with them."""
    from kapy.cli.columns import columns
    from kapy.hooks.inspection import list_handlers

    with open_client(kubeconfig, kubeconfig_context, namespace) as there:
        result = run_without_loop(list_handlers(there.client))
    if not result:
        click.echo("no ExtensionConfig is there")
        return
    heads = ("HANDLER", "HOOK", "VERSION", "TIMEOUT", "ON FAILURE", "PROBLEM")
    rows = [
        (
            handler_row.handler or handler_row.extension,
            handler_row.hook or "-",
            handler_row.version or "-",
            f"{handler_row.timeout_seconds}s" if handler_row.hook else "-",
            handler_row.failure_policy or "-",
            handler_row.problem or "-",
        )
        for handler_row in result
    ]
    click.echo(columns([heads, *rows]), nl=False)


@command(missing="please name a handler as `kapy hooks list` does")
@click.argument("handler")
@click.option(
    "--request",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="File with a request, JSON or YAML; one is made otherwise.",
)
@click.option(
    "--webhook-service",
    multiple=True,
    metavar=METAVAR,
    help="Address of the Service of the extension; may be repeated.",
)
@client_options
def call(
    handler: str,
    request: Path | None,
    kubeconfig: str,
    kubeconfig_context: str,
    namespace: str,
    **flags: tuple[str, ...],
) -> None:
    """Call a registered handler from here, and print its answer.

    Side effects of the handler are real. A generated request is about a cluster with the name
    sample. The command decodes patches and hides texts that look like secrets. The handler has the
    same timeout as in a call by a plane.
    """
    import asyncio

    from kapy.kube.yaml import dump, load

    result = None if request is None else load(request.read_bytes(), str(request))
    place = kubeconfig, kubeconfig_context, namespace
    value = asyncio.run(_call(handler, result, services_of(flags), place))
    click.echo(dump(value), nl=False)


async def _call(
    handler: str,
    request: Document | None,
    services: Mapping[tuple[str, str, int], str],
    place: tuple[str, str, str],
) -> Document:
    from kapy.hooks.catalog import full_catalog
    from kapy.hooks.https import HttpsTransport
    from kapy.hooks.inspection import call_handler

    post = HttpsTransport(services or None)
    try:
        async with open_async_client(*place) as there:
            return await call_handler(there.client, post, full_catalog(), handler, request)
    finally:
        await post.aclose()


@command()
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="text prints one line for each call; json prints its request and response as one object.",
)
@client_options
def watch(output: str, kubeconfig: str, kubeconfig_context: str, namespace: str) -> None:
    """Follow the calls of a running plane, as they happen, until Ctrl-C.

    The command hides texts that look like secrets.
    """
    import asyncio
    from contextlib import suppress

    with suppress(KeyboardInterrupt):
        asyncio.run(_watch(output, (kubeconfig, kubeconfig_context, namespace)))


async def _watch(output: str, place: tuple[str, str, str]) -> None:
    import json

    from kapy.hooks.inspection import calls, line_of

    async with open_async_client(*place) as there, calls(there.client) as events:
        click.echo("following calls of extensions; Ctrl-C ends it", err=True)
        async for call in events:
            click.echo(json.dumps(call) if output == "json" else line_of(call))
    click.echo("the plane ended", err=True)
