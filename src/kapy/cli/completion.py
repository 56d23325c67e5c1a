"""`kapy completion`: prints shell code that completes commands and flags."""

from __future__ import annotations

import click

from kapy.cli.completion_code import CODE
from kapy.cli.flags import command


@command(missing="please specify a shell")
@click.argument("shell")
def completion(shell: str) -> None:
    """Print shell code that completes commands and flags, for SHELL: bash, zsh or fish.

    Bash: source <(kapy completion bash)
    """
    if shell not in CODE:
        raise click.UsageError(f'unsupported shell type "{shell}"; there are bash, zsh and fish')
    click.echo(CODE[shell], nl=False)
