"""Where generated YAML goes, and how the coroutines that make it are run."""

from __future__ import annotations

import os
from collections.abc import Coroutine, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

from kapy.kube import Document

T = TypeVar("T")


def write(documents: Iterable[Document], place: str) -> None:
    """Print objects, or write them to a file that only its owner can read.

    place: "" and `-` are standard output. Raises ClusterctlError.
    """
    from kapy.clusterctl.manifests import text_of

    content = text_of(documents).encode("utf-8", "surrogateescape")
    place = place.strip()
    if place in ("", "-"):
        click.echo(content, nl=False)
        return
    _write_file(Path(place), content)


def _write_file(path: Path, content: bytes) -> None:
    from kapy.clusterctl.errors import ClusterctlError

    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(content)
    except OSError as error:
        told = (error.strerror or str(error)).lower()
        raise ClusterctlError(f"failed to write to destination file: open {path}: {told}") from None


def finished(work: Coroutine[Any, Any, T], *, near: bool) -> T:
    """The result of a coroutine. near: it never waits, so that it needs no event loop."""
    if near:
        from kapy._aio.straight import run

        return run(work)
    import asyncio

    return asyncio.run(work)
