"""Prints a command's progress: a spinner on a terminal, plain lines if output is piped."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click


class Console:
    """Prints the progress of a command. json: whether standard output is for the result in JSON, so
    that progress goes to standard error.
    """

    def __init__(self, *, json: bool = False) -> None:
        self._stream = sys.stderr if json else sys.stdout
        self._spinner: Any = None
        self._live = self._stream.isatty()

    def step(self, text: str) -> None:
        """Begin a step that takes a while."""
        if not self._live:
            self._line(f"{text} …")
            return
        from rich.console import Console as Rich

        self.end()
        self._spinner = Rich(file=self._stream).status(text)
        self._spinner.start()

    def done(self, text: str) -> None:
        """Report a finished part; the current step continues."""
        if self._spinner is not None:
            self._spinner.console.print(f"[green]✓[/green] {text}", highlight=False)
        else:
            self._line(f"✓ {text}" if self._live else text)

    def say(self, text: str, *, nl: bool = True) -> None:
        """Print plain text and stop the spinner."""
        self.end()
        click.echo(text, nl=nl, file=self._stream)

    def end(self) -> None:
        """End the current step."""
        if self._spinner is not None:
            self._spinner.stop()
            self._spinner = None

    def _line(self, text: str) -> None:
        click.echo(text, file=self._stream)
        self._stream.flush()


@contextmanager
def spinning(text: str) -> Iterator[None]:
    """A spinner on standard error while the context is open; none if that is not a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    console = Console(json=True)
    console.step(text)
    try:
        yield
    finally:
        console.end()
