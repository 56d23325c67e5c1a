"""Simulates the token cleaner of kube-controller-manager: expired bootstrap tokens are deleted.

They are deleted when the next token is created, and not by a timer for each token of each cluster.
"""

from __future__ import annotations

import asyncio
from base64 import b64decode
from binascii import Error as BadBase64
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from kapy.api.times import moment
from kapy.apiserver.server import Server
from kapy.apiserver.store.watch_cache import WriteEvent
from kapy.apiserver.verbs.direct_writes import delete_object
from kapy.kube import Document

_SECRETS: Final = "secrets"
_SYSTEM: Final = "kube-system"
_TYPE: Final = "bootstrap.kubernetes.io/token"


class TokenCleaner:
    """Deletes the expired bootstrap tokens of one workload cluster. It reads all tokens only when
    one has expired, since each new worker has a token of its own.
    """

    __slots__ = ("_ends", "_first", "_is_due", "_server")

    def __init__(self, server: Server) -> None:
        self._server = server
        self._is_due = False
        self._ends: dict[str, datetime] = {}  # by the name of a token
        self._first: datetime | None = None  # no token ends before this
        server.store.listeners.append(self._on_write)

    def _on_write(self, event: WriteEvent) -> None:
        if event.table != _SECRETS or event.namespace != _SYSTEM:
            return
        end = _expiration(event.document) if event.document.get("type") == _TYPE else ""
        if event.change == "DELETED" or not end:
            self._ends.pop(event.name, None)
            return
        self._ends[event.name] = moment(end)
        self._first = min(moment(end), self._first or moment(end))
        if event.change == "ADDED" and not self._is_due and self._has_expired():
            self._is_due = True
            # A listener of the store does not write.
            asyncio.get_running_loop().call_soon(self._delete)

    def _has_expired(self) -> bool:
        """Return whether a token has expired."""
        now = self._server.context.clock()
        if self._first is None or self._first > now:
            return False
        self._first = min(self._ends.values(), default=None)
        return self._first is not None and self._first <= now

    def _delete(self) -> None:
        self._is_due = False
        context = self._server.context
        kind = context.registry.find("", "v1", _SECRETS)
        assert kind is not None
        for secret in list(self._expired()):
            delete_object(context, kind, secret)

    def _expired(self) -> Iterator[Document]:
        now = self._server.context.clock()
        for secret in self._server.store.table(_SECRETS).scan(_SYSTEM):
            if secret.get("type") == _TYPE:
                end = _expiration(secret)
                if end and moment(end) <= now:
                    yield secret


def _expiration(secret: Document) -> str:
    """Return when a token expires, "" if it does not or if that cannot be read."""
    try:
        text = b64decode((secret.get("data") or {}).get("expiration") or "").decode()
        moment(text)
    except (BadBase64, ValueError):
        return ""
    return text
