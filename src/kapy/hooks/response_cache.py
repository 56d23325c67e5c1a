"""A cache of responses to DiscoverVariables, like upstream's.

A successful response is valid for the same request until its ExtensionConfig changes, for nine
minutes at most. Failures are never cached. Responses to other hooks are never cached: they may
depend on more than the request, such as a quota.
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
CacheKey: TypeAlias = tuple[str, str, bytes]


class ResponseCache:
    """A cache of successful responses. Callers share the responses in it, and must not change
    them.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[CacheKey, tuple[float, Response]] = OrderedDict()

    def get(self, key: CacheKey) -> Response | None:
        """Return the cached response of a key; None if there is none or it has expired."""
        entry = self._kept.get(key)
        if entry is None or entry[0] <= asyncio.get_running_loop().time():
            return None
        self._kept.move_to_end(key)
        return entry[1]

    def put(self, key: CacheKey, response: Response) -> None:
        """Cache a successful response."""
        self._kept[key] = asyncio.get_running_loop().time() + SECONDS, response
        self._kept.move_to_end(key)
        if len(self._kept) > MOST:
            self._kept.popitem(last=False)


def cache_key(registration: Registration, body: bytes) -> CacheKey:
    """Return the cache key of a request."""
    return registration.name, registration.revision, sha256(body).digest()
