"""Sends writes as kubectl does: with a field manager, and strict field validation."""

from __future__ import annotations

from typing import Any

from kapy.client.reply import document_of, failure_of
from kapy.kube import Document
from kapy.kube.http import Request, Transport


class Sender:
    """Sends writes. dry_run: "All" for requests that store nothing."""

    def __init__(self, transport: Transport, dry_run: str) -> None:
        self._transport = transport
        self._query = {"fieldValidation": "Strict"} | ({"dryRun": dry_run} if dry_run else {})

    @property
    def is_dry(self) -> bool:
        """Whether requests store nothing."""
        return "dryRun" in self._query

    async def __call__(
        self,
        method: str,
        path: str,
        body: Any,
        manager: str,
        media_type: str,
        *,
        force: bool = False,
    ) -> Document:
        """Send a write; returns the resulting object. Raises ApiError."""
        query = {**self._query, "fieldManager": manager} | ({"force": "true"} if force else {})
        request = Request(method, path, query, {"content-type": media_type}, body)
        reply = await self._transport(request)
        if reply.status >= 400:
            raise failure_of(reply)
        return document_of(reply)
