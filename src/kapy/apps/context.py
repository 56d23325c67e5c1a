"""Adds and removes the kubeconfig context of a plane, as kind does."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from kapy.client import kubeconfig_files
from kapy.client.kubeconfig import Kubeconfig, with_context, without_context
from kapy.kube import Document


def kubeconfig_path(path: str = "") -> Path:
    """Return the file for contexts: the given one, $KUBECONFIG's, or `~/.kube/config`."""
    if path:
        return Path(path)
    return kubeconfig_files.path_to_write(kubeconfig_files.paths(os.environ, Path.home()))


@contextmanager
def write_context(path: Path, name: str, access: Kubeconfig) -> Iterator[None]:
    """Write a kubeconfig context and make it current while this context manager is open.

    Afterwards the previous context becomes current again, and a context of the same name that was
    replaced comes back, unless its server has ended. Raises KubeconfigError.
    """
    before = ""
    replaced: Document = {}

    def write(document: Document) -> Document:
        nonlocal before, replaced
        before = str(document.get("current-context") or "")
        if _server(document, name) not in ("", access.server):
            replaced = _entries(document, name)
        return with_context(document, name, access)

    def restore(document: Document) -> Document:
        changed = _without_context(document, name, access.server, before)
        if changed is document or not replaced or _has_ended(_server(replaced, name)):
            return changed
        for part, entries in replaced.items():
            changed[part] = [*changed[part], *entries]
        if document.get("current-context") == name == before:
            changed["current-context"] = name
        return changed

    kubeconfig_files.edit(path, write)
    try:
        yield
    finally:
        kubeconfig_files.edit(path, restore)


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


def _entries(document: Document, name: str) -> Document:
    """Return the context of a name with its cluster and its user, as far as these have its name."""
    return {
        part: [entry for entry in document.get(part) or [] if entry.get("name") == name]
        for part in ("clusters", "contexts", "users")
    }


def _has_ended(server: str) -> bool:
    """Report whether nothing listens at the address of a plane of this machine any more."""
    parts = urlsplit(server)
    if parts.hostname not in ("127.0.0.1", "localhost", "::1") or parts.port is None:
        return False
    try:
        socket.create_connection((parts.hostname, parts.port), timeout=1).close()
    except OSError:
        return True
    return False
