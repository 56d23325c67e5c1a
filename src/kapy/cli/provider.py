"""The program of a provider: what `python -m MODULE` of its author's package is.

    from kapy.cli.provider import main
    main(PROVIDER)

Without a command it runs the provider against the cluster of a kubeconfig (or the one that it is
in); `release` writes what users install.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from kapy.cli.controller_options import flag_option, texts_of
from kapy.cli.flags import command
from kapy.cli.root import outcome

if TYPE_CHECKING:
    from kapy.apps.provider.program import Alone
    from kapy.sdk.provider import Provider

F = TypeVar("F", bound=Callable[..., Any])

_FLAGS: Final = ("namespace", "watch-filter", "feature-gates", "sync-period")


def main(provider: Provider) -> None:
    """Entry point of an author's program."""
    sys.exit(outcome(lambda: program(provider).main(standalone_mode=False)))


def program(provider: Provider) -> click.Group:
    """The commands of a provider's program."""

    @click.group(
        name=provider.name,
        invoke_without_command=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        help=f"Run the provider {provider.label} until it is stopped.",
    )
    @_options
    @click.pass_context
    def run(context: click.Context, /, **given: Any) -> None:
        if context.invoked_subcommand is None:
            _run(provider, **given)

    @command()
    @click.argument("version")
    @click.option("--folder", default="release", show_default=True, help="Where to write it.")
    @click.option("--image", default="", help="The image, where it is not that of the provider.")
    def release(version: str, folder: str, image: str) -> None:
        """Write the files that kapy and clusterctl install from."""
        from kapy.apps.provider.release import write_release

        place = write_release(provider, version, Path(folder), image)
        for path in sorted(place.iterdir()):
            click.echo(path)

    run.add_command(release)
    return run


def _options(command: F) -> F:
    from kapy.apps.components.serving import PORT
    from kapy.apps.manager_flags import FLAGS
    from kapy.apps.provider.webhooks import SERVING

    options = [
        click.option("--kubeconfig", default="", help="Kubeconfig of the management cluster."),
        click.option("--kubeconfig-context", default="", help="Context to use in it."),
        click.option(
            "--install",
            is_flag=True,
            help="Put kinds and webhooks into the cluster first: for development.",
        ),
        *(flag_option(flag) for flag in FLAGS if flag.name in _FLAGS),
        click.option(
            "--health-addr", default=":9440", show_default=True, help="Of /healthz and /readyz."
        ),
        click.option(
            "--diagnostics-address",
            default="localhost:8080",
            show_default=True,
            help="Of /metrics, over plain HTTP; 0 for none.",
        ),
        click.option(
            "--webhook-port",
            type=click.IntRange(0, 65535),
            default=None,
            help=f"Of the webhooks; 0 for none. [default: {PORT}; with --install any free one]",
        ),
        click.option(
            "--webhook-cert-dir",
            default=SERVING,
            show_default=True,
            help="Folder of their tls.crt and tls.key.",
        ),
        click.option("-v", "--verbose", count=True, help="Say more (twice: everything)."),
        click.option(
            "--logging-format",
            type=click.Choice(["text", "json"]),
            default="text",
            show_default=True,
            help="Form of the log on standard error.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def _run(provider: Provider, *, verbose: int, logging_format: str, **given: Any) -> None:
    from kapy.cli.event_loop import run
    from kapy.cli.log_lines import log_to_stderr

    log_to_stderr(verbose, logging_format)
    run(_alone(provider, _told(given)))


def _told(given: dict[str, Any]) -> Alone:
    from kapy.apps.manager_flags import FLAGS, BadFlag, controlling
    from kapy.apps.provider.program import Alone
    from kapy.cli.reaching import own_access

    texts = {flag.name: texts_of(flag, given) for flag in FLAGS if flag.name in _FLAGS}
    try:
        options = controlling(texts).manager
    except BadFlag as error:
        raise click.UsageError(str(error)) from None
    return Alone(
        access=own_access(given["kubeconfig"], given["kubeconfig_context"]),
        options=options,
        install=given["install"],
        health=given["health_addr"],
        diagnostics=given["diagnostics_address"],
        webhook_port=given["webhook_port"],
        certificates=Path(given["webhook_cert_dir"]),
    )


async def _alone(provider: Provider, told: Alone) -> None:
    from kapy._aio.clock import system_clock
    from kapy.apps.provider.program import alone
    from kapy.cli.stopping import told_to_stop

    with told_to_stop() as asked:
        async with alone(provider, told, system_clock):
            click.echo(f"{provider.label} works at {told.access.server}")
            sys.stdout.flush()
            await asked.wait()
            click.echo("stopping")
        click.echo("stopped")
