"""`kapy extension`: serves extensions that are written in Python."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

import click
import msgspec

from kapy.cli.flags import command, original_arguments
from kapy.cli.process_count import ProcessCount

if TYPE_CHECKING:
    from kapy.apps.extension_server.process_config import ProcessConfig
    from kapy.apps.https.certificate import Certificate
    from kapy.apps.settings import Processes
    from kapy.hooks.application import Application

_ALL_ADDRESSES: Final = frozenset({"0.0.0.0", "::"})


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """The command line's options for serving an extension.

    plane: the stream on which the plane that started this process receives the manifest, None
    without one. The plane closes standard input to stop the process.
    """

    target: str
    host: str
    port: int
    folder: Path
    names: tuple[str, ...]
    secret: str
    kubeconfig: str
    register_as: str
    client_ca: Path | None
    log_calls: bool
    processes: int
    plane: IO[bytes] | None

    @property
    def config(self) -> ProcessConfig:
        """The configuration of a process that serves."""
        import logging

        from kapy.apps.extension_server.process_config import ProcessConfig

        names = {*(self.names or (self.host,)), self.host, "localhost"} - _ALL_ADDRESSES
        return ProcessConfig(
            target=self.target,
            folder=str(self.folder),
            names=sorted(names),
            secret=self.secret,
            kubeconfig=self.kubeconfig,
            client_ca=str(self.client_ca or ""),
            log_level=logging.INFO if self.log_calls else logging.WARNING,
        )


@command()
@click.argument("place", metavar="MODULE:NAME")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=9443, show_default=True, help="Port; 0: any."
)
@click.option(
    "--tls-dir",
    default="",
    help="Folder of tls.crt and tls.key, or of ca.crt and ca.key to make them with; a CA is made "
    "where there are none (default: .kapy-extension).",
)
@click.option(
    "--tls-secret",
    default="",
    metavar="NAMESPACE/NAME",
    help="Secret of the management cluster in which replicas share a CA, instead of a folder.",
)
@click.option(
    "--kubeconfig",
    default="",
    help="Kubeconfig file of the cluster, if this process is no Pod of it.",
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
@click.option(
    "--processes",
    type=ProcessCount(),
    default="1",
    show_default=True,
    help="Processes that serve the extension at the same port, each with a state of its own; auto: "
    "one for each core.",
)
@click.option("--log-calls", is_flag=True, help="Write a line to standard error for each call.")
@click.option(
    "--reload", is_flag=True, help="Restart the server whenever one of its Python files changes."
)
@click.option("--for-plane", is_flag=True, hidden=True)
def serve(
    place: str,
    host: str,
    port: int,
    tls_dir: str,
    tls_secret: str,
    kubeconfig: str,
    names: tuple[str, ...],
    register_as: str,
    client_ca: Path | None,
    processes: Processes,
    log_calls: bool,
    reload: bool,
    for_plane: bool,
) -> None:
    """Serve the handlers of an Extension over HTTPS until Ctrl-C.

    NAME is `extension` unless said. Its certificate is of a CA of its own and is renewed while it
    runs, unless the folder or the Secret has one already; then that is loaded again when it
    changes.
    """
    from kapy._aio.cores import usable_cores
    from kapy.cli.log_lines import log_to_stderr

    if tls_dir and tls_secret:
        raise click.UsageError("--tls-dir and --tls-secret contradict each other")
    if tls_secret and not all(tls_secret.partition("/")):
        raise click.UsageError(f'--tls-secret is "{tls_secret}", not NAMESPACE/NAME')
    if reload:
        asyncio.run(_reload(place, host, port))
        return
    log_to_stderr(int(log_calls))
    stream = _reserve_stdout() if for_plane else None
    options = ServeOptions(
        target=place,
        host=host,
        port=port,
        folder=Path(tls_dir or ".kapy-extension"),
        names=names,
        secret=tls_secret,
        kubeconfig=kubeconfig,
        register_as=register_as,
        client_ca=client_ca,
        log_calls=log_calls,
        processes=usable_cores() if processes == "auto" else processes,
        plane=stream,
    )
    # Not on uvloop: TLS with answers as short as these takes a fifth less without it.
    asyncio.run(_serve(options) if options.processes == 1 else _serve_in_processes(options))


async def _reload(place: str, host: str, port: int) -> None:
    """Serve with the same arguments, in a new process for each state of the source."""
    from kapy.apps.extension_server.reloading import run_with_reload, source_folder
    from kapy.cli.signals import StartCancelled, handle_stop_signals

    arguments = [
        argument for argument in original_arguments() if not argument.startswith("--reload")
    ]
    if port == 0:  # every process gets the same port
        arguments += ["--port", str(_free_port(host))]
    command = (sys.executable, "-m", "kapy.cli.main", "extension", "serve", *arguments)
    folder = source_folder(place)
    _say(f"looking for changes of Python files below {folder}")
    with handle_stop_signals() as stop, suppress(StartCancelled):
        async with stop.start("it"):
            await run_with_reload(command, folder, _say)


def _say(text: str) -> None:
    click.echo(text, err=True)


def _free_port(host: str) -> int:
    import socket

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as value:
        value.bind((host, 0))
        return int(value.getsockname()[1])


async def _serve(options: ServeOptions) -> None:
    from kapy.apps.extension_server.loading import application_at
    from kapy.apps.extension_server.process_config import certificate_of
    from kapy.apps.extension_server.serving import serve_extension
    from kapy.apps.process_tuning import tuned_process
    from kapy.cli.signals import handle_stop_signals

    application = application_at(options.target)
    async with AsyncExitStack() as stack:
        stack.enter_context(tuned_process())
        certificate = await certificate_of(options.config, stack)
        _, port = await stack.enter_async_context(
            serve_extension(
                application,
                certificate,
                host=options.host,
                port=options.port,
                client_ca=options.client_ca,
            )
        )
        _report_ready(options, _handlers(application), certificate, port)
        with handle_stop_signals() as stop:
            await stop.wait()


async def _serve_in_processes(options: ServeOptions) -> None:
    from random import Random

    from kapy.apps.extension_server.processes import serve_in_processes
    from kapy.cli.signals import StartCancelled, handle_stop_signals

    serving = serve_in_processes(
        options.config, options.processes, host=options.host, port=options.port, random=Random()
    )
    with handle_stop_signals() as stop, suppress(StartCancelled):
        async with AsyncExitStack() as stack:
            async with stop.start("the extension"):
                running = await stack.enter_async_context(serving)
            _report_ready(options, running.handlers, running.certificate, running.port)
            await stop.wait()


def _handlers(application: Application) -> list[str]:
    return [f"{route.hook.name}: {route.name}" for route in application.extension.routes]


def _reserve_stdout() -> IO[bytes]:
    """Reserve standard output for the plane: prints of a module go to its log."""
    plane = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return plane


def _report_ready(
    options: ServeOptions, handlers: Sequence[str], certificate: Certificate, port: int
) -> None:
    """Print that the extension is served, and how it is registered."""
    name = options.names[0] if options.names else options.host
    url = f"https://{f'[{name}]' if ':' in name else name}:{port}"
    if options.register_as:
        _print_manifest(options, url, certificate)
    if options.plane is not None:
        return
    for handler in handlers:
        click.echo(handler, err=True)
    where = f"the Secret {options.secret}" if options.secret else str(options.folder)
    several = f" from {options.processes} processes" if options.processes > 1 else ""
    click.echo(f"serving at {url}{several} with a certificate in {where}; Ctrl-C ends it", err=True)


def _print_manifest(options: ServeOptions, url: str, certificate: Certificate) -> None:
    from kapy.apps.extension_server.manifest import extension_config
    from kapy.kube.yaml import dump

    config = extension_config(options.register_as, url, certificate.ca, secret=options.secret)
    if options.plane is None:
        click.echo(dump(config), nl=False)
        sys.stdout.flush()
        return
    with options.plane as plane:
        plane.write(msgspec.json.encode(config) + b"\n")
