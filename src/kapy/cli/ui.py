"""`kapy ui`: opens the page of all clusters in a browser."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from kapy.cli.client_options import (
    ConnectedClient,
    client_options,
    kubeconfig_of,
    open_async_client,
)
from kapy.cli.event_loop import run
from kapy.cli.flags import command
from kapy.kube.errors import ApiError

if TYPE_CHECKING:
    from kapy.client.client import Client

LINKS = "/ui/links"
"""The path at which a plane creates one-time links."""
_DISPLAYS: Final = ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME", "BROWSER")
REDIRECT = Path(".kapy") / "open.html"
"""The file below the home directory that leads a browser to the last link."""


@dataclass(frozen=True, slots=True)
class Link:
    """The target of a link. plan: YAML whose plan is shown first, "" for the fleet."""

    allow_actions: bool = False
    plan: str = ""
    namespace: str = "default"
    deletes: bool = False


@command()
@client_options
@click.option("--no-browser", is_flag=True, help="Print the link only, and open no browser.")
@click.option(
    "--allow-actions",
    is_flag=True,
    help="Let the page change objects, as far as your rights allow it; it is read-only otherwise.",
)
@click.option(
    "--local",
    is_flag=True,
    help="Serve the page on this machine, also where the plane serves it.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Port of a local page; 0 is any."
)
def ui(
    kubeconfig: str,
    kubeconfig_context: str,
    namespace: str,
    no_browser: bool,
    allow_actions: bool,
    local: bool,
    port: int,
) -> None:
    """Open the page of all clusters in a browser.

    A plane of kapy serves the page itself; the command prints a link that logs in once. For any
    other management cluster, the command serves the page on 127.0.0.1 until Ctrl-C, with the rights
    of the kubeconfig.
    """
    place = (kubeconfig, kubeconfig_context, namespace)
    run(open_pages(place, Link(allow_actions), port=port, no_browser=no_browser, local=local))


async def open_pages(
    place: tuple[str, str, str],
    link: Link,
    *,
    port: int = 0,
    no_browser: bool = False,
    local: bool = False,
) -> None:
    """Open a link to the pages of a plane, or serve them here until Ctrl-C.

    place: kubeconfig, context and namespace.
    """
    async with open_async_client(*place) as connected:
        server = kubeconfig_of(place[0], place[1]).server.rstrip("/")
        path = None if local else await login_path(connected.client, link, place)
        if path is not None:
            _open(f"{server}{path}", no_browser=no_browser)
            return
        await _serve(connected, place, port, link, no_browser=no_browser)


async def login_path(
    client: Client, link: Link, place: tuple[str, str, str] = ("", "", "")
) -> str | None:
    """Return the path of a new one-time link of a plane; None if the server is no plane with a
    page.

    place: kubeconfig, context and namespace.
    """
    body: dict[str, Any] = {
        "allowActions": link.allow_actions,
        "kubeconfig": place[:2],
    }
    if link.plan:
        draft = {"text": link.plan, "namespace": link.namespace, "deletes": link.deletes}
        body["draft"] = draft
    try:
        answer = await client.raw("POST", LINKS, body=body)
    except ApiError as error:
        if error.code in (403, 404, 405, 406):
            return None
        raise
    path = answer.get("path")
    return path if isinstance(path, str) and path.startswith("/ui/") else None


async def _serve(
    connected: ConnectedClient,
    place: tuple[str, str, str],
    port: int,
    link: Link,
    *,
    no_browser: bool,
) -> None:
    from kapy._aio.clock import system_clock
    from kapy.apps.fleet_pages import LOCAL_USER, local_pages
    from kapy.cli.planning import PagePlanner
    from kapy.cli.signals import handle_stop_signals
    from kapy.ui.sessions import ChosenKubeconfig, Draft

    try:
        with handle_stop_signals() as stop:
            async with local_pages(
                connected.client,
                clock=system_clock,
                port=port,
                namespace=connected.namespace,
                plan=PagePlanner(),
            ) as (pages, url):
                draft = Draft(link.plan, link.namespace, link.deletes) if link.plan else None
                path = pages.login_path(
                    LOCAL_USER,
                    allow_actions=link.allow_actions,
                    draft=draft,
                    kubeconfig=ChosenKubeconfig(*place[:2]),
                )
                _open(f"{url}{path}", no_browser=no_browser)
                click.echo("The page is served until you press Ctrl-C.")
                await stop.wait()
    except OSError as error:
        raise click.ClickException(
            f"cannot listen on 127.0.0.1:{port}: {error.strerror}; choose another --port"
        ) from None


def has_display(platform: str, environ: Mapping[str, str]) -> bool:
    """Return whether a browser can open a window. Without a display, as over SSH, the programs that
    start a browser only print an error.
    """
    return platform != "linux" or any(environ.get(name) for name in _DISPLAYS)


def _open(link: str, *, no_browser: bool) -> None:
    click.echo(link)
    if not no_browser and has_display(sys.platform, os.environ):
        _launch(link)
    click.echo("The link works once; `kapy ui` prints another one.")


def _launch(link: str) -> None:
    """Open a link in a browser by a private file that leads to it: everybody on this machine can
    read the arguments of a process."""
    import html

    from kapy.clusterctl.atomic_file import atomic_write
    from kapy.clusterctl.config.places import home

    file = home(os.environ) / REDIRECT
    target = html.escape(link)
    page = f'<!doctype html><meta http-equiv="refresh" content="0; url={target}">'
    page += f'<title>kapy</title><a href="{target}">All clusters</a>'
    try:
        with atomic_write(file, mode=0o600) as out:
            out.write(page.encode())
    except OSError as error:
        click.echo(f"no browser is opened: {file} cannot be written: {error.strerror}", err=True)
        return
    click.launch(file.as_uri())
