"""What a command says while it works: a spinner on a terminal, plain lines where it is piped."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click


class Console:
    """Progress. json: standard output is kept for the result, progress goes to standard error."""

    def __init__(self, *, json: bool = False) -> None:
        self._stream = sys.stderr if json else sys.stdout
        self._spinner: Any = None
        self._live = self._stream.isatty()

    def step(self, text: str) -> None:
        """Something begins that takes a while."""
        if not self._live:
            self._line(f"{text} …")
            return
        from rich.console import Console as Rich

        self.end()
        self._spinner = Rich(file=self._stream).status(text)
        self._spinner.start()

    def done(self, text: str) -> None:
        """Something is done; what began goes on."""
        if self._spinner is not None:
            self._spinner.console.print(f"[green]✓[/green] {text}", highlight=False)
        else:
            self._line(f"✓ {text}" if self._live else text)

    def say(self, text: str, *, nl: bool = True) -> None:
        """Plain text, after which nothing spins."""
        self.end()
        click.echo(text, nl=nl, file=self._stream)

    def end(self) -> None:
        """What began is over."""
        if self._spinner is not None:
            self._spinner.stop()
            self._spinner = None

    def _line(self, text: str) -> None:
        click.echo(text, file=self._stream)
        self._stream.flush()


@contextmanager
def spinning(text: str) -> Iterator[None]:
    """A spinner on standard error during the context; nothing where that is no terminal."""
    if not sys.stderr.isatty():
        yield
        return
    console = Console(json=True)
    console.step(text)
    try:
        yield
    finally:
        console.end()
