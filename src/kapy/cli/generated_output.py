"""Writes generated YAML, and runs the coroutines that generate it."""

from __future__ import annotations

import os
import sys
from collections.abc import Coroutine, Iterable
from pathlib import Path
from typing import Any, TypeVar

from kapy.kube import Document

T = TypeVar("T")


def write(documents: Iterable[Document], place: str) -> None:
    """Print objects, or write them to a file. place: as for `write_text`."""
    from kapy.clusterctl.manifests import text_of

    write_text(text_of(documents), place, error_prefix="failed to write to destination file")


def write_text(text: str, place: str, *, error_prefix: str) -> None:
    """Print text, or write it to a file that only its owner can read.

    place: a path; "" and `-` are standard output. error_prefix: the start of the error if the file
    cannot be written. Raises ClusterctlError.
    """
    place = place.strip()
    if place in ("", "-"):
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    try:
        with open(_open(Path(place)), "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        from kapy.clusterctl.errors import ClusterctlError

        reason = (error.strerror or str(error)).lower()
        raise ClusterctlError(f"{error_prefix}: open {Path(place)}: {reason}") from None


def _open(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)


def run_generator(work: Coroutine[Any, Any, T], *, near: bool) -> T:
    """Return the result of a coroutine. near: it never waits, so no event loop is needed."""
    if near:
        from kapy._aio.without_event_loop import run_without_loop

        return run_without_loop(work)
    import asyncio

    return asyncio.run(work)
