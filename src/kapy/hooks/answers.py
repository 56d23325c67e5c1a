"""A cache of the answers to DiscoverVariables, as upstream has one.

A success counts for the same request until its ExtensionConfig changes, for nine minutes at most.
Failures are never kept. Answers to other hooks are never kept here: what an extension says of a
Cluster may depend on more than the request, such as a quota.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from hashlib import sha256
from typing import Final, TypeAlias

from kapy.hooks.messages.message import Response
from kapy.hooks.registry import Registration

SECONDS: Final = 540.0
MOST: Final = 4096
"""Answers that are kept; the one that was used least recently goes first."""
AnswerKey: TypeAlias = tuple[str, str, bytes]


class Answers:
    """The answers of one program's extensions. They are shared: do not change them."""

    def __init__(self) -> None:
        self._kept: OrderedDict[AnswerKey, tuple[float, Response]] = OrderedDict()

    def get(self, key: AnswerKey) -> Response | None:
        """The answer that still counts."""
        kept = self._kept.get(key)
        if kept is None or kept[0] <= asyncio.get_running_loop().time():
            return None
        self._kept.move_to_end(key)
        return kept[1]

    def keep(self, key: AnswerKey, response: Response) -> None:
        """Remember a success."""
        self._kept[key] = asyncio.get_running_loop().time() + SECONDS, response
        self._kept.move_to_end(key)
        if len(self._kept) > MOST:
            self._kept.popitem(last=False)


def answer_key(registration: Registration, body: bytes) -> AnswerKey:
    """What an answer is kept by."""
    return registration.name, registration.mark, sha256(body).digest()
