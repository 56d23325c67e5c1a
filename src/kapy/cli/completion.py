"""`kapy completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from kapy.cli.flags import command


@command(missing="please specify a shell")
@click.argument("shell")
def completion(shell: str) -> None:
    """Print shell code that completes commands and flags, for SHELL: bash, zsh or fish.

    Bash: source <(kapy completion bash)
    """
    from kapy.cli.root import ROOT

    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f'unsupported shell type "{shell}"; there are bash, zsh and fish')
    click.echo(found(ROOT, {}, "kapy", "_KAPY_COMPLETE").source())
