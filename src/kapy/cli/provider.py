"""The program of a provider: the `python -m MODULE` entry point of its package.

    from kapy.cli.provider import main
    main(PROVIDER)

Without a command it runs the provider against the cluster of a kubeconfig (or the one it runs in);
`release` writes the release files.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kapy.cli.flags import command
from kapy.cli.program_options import access_of, configure_log, options_of, program_settings
from kapy.cli.root import exit_code

if TYPE_CHECKING:
    from kapy.sdk.provider import Provider


def main(provider: Provider) -> None:
    """Entry point of an author's program."""
    sys.exit(exit_code(lambda: program(provider).main(standalone_mode=False)))


def program(provider: Provider) -> click.Group:
    """Return the commands of a provider's program."""

    @click.group(
        name=provider.name,
        invoke_without_command=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        help=f"Run the provider {provider.label} until it is stopped.",
    )
    @click.option(
        "--install",
        is_flag=True,
        help="Put kinds and webhooks into the cluster first, the webhooks at this machine (at any "
        "port that is free, unless --webhook-port is named): for development.",
    )
    @options_of("provider")
    @click.pass_context
    def run(context: click.Context, /, *, install: bool, **flags: Any) -> None:
        if context.invoked_subcommand is None:
            _run(provider, install, flags)

    @command()
    @click.argument("version")
    @click.option("--folder", default="release", show_default=True, help="Folder of the release.")
    @click.option("--image", default="", help="The image, where it is not that of the provider.")
    def release(version: str, folder: str, image: str) -> None:
        """Write the files that kapy and clusterctl install from."""
        from kapy.apps.provider.release import write_release

        place = write_release(provider, version, Path(folder), image)
        for path in sorted(place.iterdir()):
            click.echo(path)

    run.add_command(release)
    return run


def _run(provider: Provider, install: bool, values: dict[str, Any]) -> None:
    from kapy._aio.clock import system_clock
    from kapy.apps.provider.program import StandaloneOptions, run_standalone
    from kapy.cli.program import run_until_stopped

    configure_log(values)
    controllers, options = program_settings("provider", values)
    standalone = StandaloneOptions(
        access=access_of(values),
        options=options,
        manager_options=controllers.manager,
        skipped_migration_phases=controllers.skipped_migration_phases,
        install=install,
        development_port=options.webhook_port if values["webhook_port"] else 0,
    )
    run_until_stopped(
        run_standalone(provider, standalone, system_clock), provider.label, standalone.access.server
    )
