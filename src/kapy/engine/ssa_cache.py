"""A cache of server-side applies that change nothing, so that they need not be sent.

For most applies the object itself shows that nothing would change (`kapy.kube.apply.no_op`).
Where it does not, because the server stores a value in another form, one dry run per state of the
object and intent finds it out, and the result is cached here.
"""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from typing import Final

from msgspec import json

from kapy.engine.correlation import Lru
from kapy.kube import Document, Key
from kapy.kube.apply.no_op import is_no_op
from kapy.kube.renamed import RenamedMember

REMEMBERED: Final = 16384


class SSACache:
    """Caches server-side applies of one controller that have no effect.

    hits, misses: how often an apply was known to change nothing, and how often not, by kind
    (upstream's `capi_ssa_cache_*`).
    """

    changes_nothing = RenamedMember("is_no_op")
    found_unchanging = RenamedMember("remember_no_op")

    def __init__(self, controller: str) -> None:
        self.controller = controller
        self.hits: Counter[str] = Counter()
        self.misses: Counter[str] = Counter()
        self._unchanging: Lru[tuple[str, bytes]] = Lru(REMEMBERED)

    def is_no_op(self, live: Document, intent: Document, manager: str) -> bool:
        """Return whether applying `intent` by force is known to leave `live` unchanged."""
        no_op = is_no_op(live, intent, manager) or self._unchanging.get(
            _slot(live, manager)
        ) == _state(live, intent)
        (self.hits if no_op else self.misses)[live["kind"]] += 1
        return no_op

    def remember_no_op(self, live: Document, intent: Document, manager: str) -> None:
        """Remember that applying `intent` does not change this state of the object."""
        self._unchanging.put(_slot(live, manager), _state(live, intent))


def _slot(live: Document, manager: str) -> tuple[str, str, Key, str]:
    return live["apiVersion"], live["kind"], Key.of(live), manager


def _state(live: Document, intent: Document) -> tuple[str, bytes]:
    text = json.encode(intent, order="sorted")
    return live["metadata"]["resourceVersion"], blake2b(text, digest_size=16).digest()
