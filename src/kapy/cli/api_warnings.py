"""Prints the warnings of API servers on standard error, as upstream does."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from kapy.client.intercept import Interceptor
from kapy.kube.http import Reply, Request, Transport

SETS: Final = ("default", "all", "none")
"""Values of --hide-api-warnings."""

_WARNING: Final = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
_HIDDEN: Final[dict[str, Sequence[re.Pattern[str]]]] = {
    "default": (
        re.compile(
            r"metadata\.finalizers:.*cluster\.x-k8s\.io.*prefer a domain-qualified finalizer name "
            r"(including a path \(/\) )?to avoid accidental conflicts with other finalizer writers"
        ),
        re.compile(r".*is deprecated; use .*"),
    ),
    "all": (re.compile(".*", re.DOTALL),),
    "none": (),
}


class WarningPrinter(Interceptor):
    """A transport that prints each warning of its answers once. hidden: a name in SETS."""

    __slots__ = ("_hidden", "_seen", "_show")

    def __init__(self, transport: Transport, hidden: str, show: Callable[[str], None]) -> None:
        super().__init__(transport)
        self._hidden = _HIDDEN[hidden]
        self._show = show
        self._seen: set[str] = set()

    async def __call__(self, request: Request) -> Reply:
        reply = await self.transport(request)
        for text in _WARNING.findall(reply.headers.get("warning", "")):
            sentence = re.sub(r"\\(.)", r"\1", text)
            if sentence not in self._seen and not self._is_hidden(sentence):
                self._seen.add(sentence)
                self._show(f"[API Server Warning] {sentence}")
        return reply

    def _is_hidden(self, sentence: str) -> bool:
        return any(item.fullmatch(sentence) for item in self._hidden)
