"""Kubernetes Events (core/v1), as client-go's recorder writes them."""

from __future__ import annotations

from kapy.kube import Document
from kapy.kube.meta import Object


class Recorder:
    """Records events about objects without making the caller wait.

    Equal events are counted up instead of written again; a full queue drops the oldest.
    """

    def normal(self, about: Object | Document, reason: str, message: str) -> None:
        """Something happened as it should."""

    def warning(self, about: Object | Document, reason: str, message: str) -> None:
        """Something happened that a person should look at."""

    async def run(self) -> None:
        """Write queued events until cancelled."""
