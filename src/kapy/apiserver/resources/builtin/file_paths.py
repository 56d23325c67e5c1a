"""Validation of paths of files within volumes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kapy.kube.field_errors import FieldError, invalid

_MODE: Final = "must be a number between 0 and 0777 (octal), both inclusive"


def no_backstep_errors(place: str, path: str) -> Iterator[FieldError]:
    """Yield an error for a path with `..` in it."""
    if ".." in place.split("/"):
        yield invalid(path, place, "must not contain '..'")


def descending_path_errors(place: str, path: str) -> Iterator[FieldError]:
    """Yield the errors of a path that must lie below a folder."""
    if place.startswith("/"):
        yield invalid(path, place, "must be a relative path")
    yield from no_backstep_errors(place, path)


def local_path_errors(place: str, path: str) -> Iterator[FieldError]:
    """Yield the errors of a file's path in a volume.

    Paths that begin with `..` are those of the kubelet's own files.
    """
    yield from descending_path_errors(place, path)
    if place.startswith("..") and not place.startswith("../"):
        yield invalid(path, place, "must not start with '..'")


def mode_errors(mode: int | None, path: str) -> Iterator[FieldError]:
    """Yield an error for wrong permissions of a file."""
    if mode is not None and not 0 <= mode <= 0o777:
        yield invalid(path, mode, _MODE)
