"""`kapy extension`: extensions that are written in Python."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kapy.cli.flags import command

if TYPE_CHECKING:
    from kapy.apps.extension_server.certificate import Certificate
    from kapy.hooks.application import Application


@command()
@click.argument("place", metavar="MODULE:NAME")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=9443, show_default=True, help="Port; 0: any."
)
@click.option(
    "--tls-dir",
    default="",
    help="Folder of tls.crt and tls.key; a CA is made where there are none (default: "
    ".kapy-extension).",
)
@click.option(
    "--dns-name",
    "names",
    multiple=True,
    help="Name that the extension is called by, besides --host (may be repeated).",
)
@click.option(
    "--register-as",
    default="",
    metavar="NAME",
    help="Print an ExtensionConfig of that name, for `kubectl apply -f -`.",
)
@click.option(
    "--client-ca",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="PEM file of an authority: only clients with a certificate of it are answered.",
)
@click.option("--log-calls", is_flag=True, help="Write a line to standard error for each call.")
def serve(
    place: str,
    host: str,
    port: int,
    tls_dir: str,
    names: tuple[str, ...],
    register_as: str,
    client_ca: Path | None,
    log_calls: bool,
) -> None:
    """Serve the handlers of an Extension over HTTPS until Ctrl-C.

    NAME is `extension` unless said. Its certificate is of a CA of its own and is renewed while it
    runs, unless the folder has one already; then that is loaded again when it changes.
    """
    from kapy.apps.extension_server.loading import application_at
    from kapy.cli.event_loop import run
    from kapy.cli.log_lines import log_to_stderr

    log_to_stderr(int(log_calls))
    application = application_at(place)
    folder = Path(tls_dir or ".kapy-extension")
    run(_serve(application, host, port, folder, names, register_as, client_ca))


async def _serve(
    application: Application,
    host: str,
    port: int,
    folder: Path,
    names: tuple[str, ...],
    register_as: str,
    client_ca: Path | None,
) -> None:
    from kapy._aio.clock import system_clock
    from kapy.apps.extension_server.certificate import certificate_in
    from kapy.apps.extension_server.serving import serving
    from kapy.cli.stopping import told_to_stop

    called = names or (host,)
    certificate = await certificate_in(folder, sorted({*called, host, "localhost"}), system_clock)
    listening = serving(application, certificate, host=host, port=port, client_ca=client_ca)
    async with listening as (_, bound):
        url = f"https://{f'[{called[0]}]' if ':' in called[0] else called[0]}:{bound}"
        if register_as:
            _print_manifest(register_as, url, certificate)
        for one in application.extension.routes:
            click.echo(f"{one.hook.name}: {one.name}", err=True)
        click.echo(f"serving at {url} with a certificate in {folder}; Ctrl-C ends it", err=True)
        with told_to_stop() as asked:
            await asked.wait()


def _print_manifest(name: str, url: str, certificate: Certificate) -> None:
    from kapy.apps.extension_server.manifest import extension_config
    from kapy.kube.yaml import dump

    click.echo(dump(extension_config(name, url, certificate.ca)), nl=False)
