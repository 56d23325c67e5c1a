"""Adds and removes the kubeconfig context of a plane, as kind does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kapy.client import kubeconfig_files
from kapy.client.kubeconfig import Kubeconfig, with_context, without_context
from kapy.kube import Document


def kubeconfig_path(path: str = "") -> Path:
    """The file for contexts: the given one, $KUBECONFIG's, or `~/.kube/config`."""
    if path:
        return Path(path)
    return kubeconfig_files.path_to_write(kubeconfig_files.paths(os.environ, Path.home()))


@contextmanager
def write_context(path: Path, name: str, access: Kubeconfig) -> Iterator[None]:
    """Write a kubeconfig context and make it current while this context manager is open.

    Afterwards the previous context becomes current again. Raises KubeconfigError.
    """
    before = ""

    def write(document: Document) -> Document:
        nonlocal before
        before = str(document.get("current-context") or "")
        return with_context(document, name, access)

    kubeconfig_files.edit(path, write)
    try:
        yield
    finally:
        kubeconfig_files.edit(
            path, lambda document: _without_context(document, name, access.server, before)
        )


def forget_context(path: Path, name: str, server: str) -> None:
    """Remove the context of a plane that could not remove it itself. Raises KubeconfigError."""
    if path.exists():
        kubeconfig_files.edit(path, lambda document: _without_context(document, name, server, ""))


def _without_context(document: Document, name: str, server: str, before: str) -> Document:
    if _server(document, name) != server:
        return document  # another server has this context name by now
    changed = without_context(document, name)
    there = {entry.get("name") for entry in changed.get("contexts") or []}
    if document.get("current-context") == name and before in there:
        changed["current-context"] = before
    return changed


def _server(document: Document, name: str) -> str:
    for entry in document.get("clusters") or []:
        if entry.get("name") == name:
            return str((entry.get("cluster") or {}).get("server") or "")
    return ""
