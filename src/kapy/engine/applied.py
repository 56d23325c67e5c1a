"""Server-side applies that would change nothing, and need not be asked for.

Most of them the object itself tells (`kapy.kube.apply.settled`). Where it does not, because the
server writes a value in another form than it was given, a dry run finds it out once for each state
of the object and each intent, and its answer is remembered here.
"""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from typing import Final

from msgspec import json

from kapy.engine.correlation import Lru
from kapy.kube import Document, Key
from kapy.kube.apply.settled import is_settled

REMEMBERED: Final = 16384


class Applied:
    """Remembers the last server-side applies of one controller, to skip those without effect.

    hits, misses: how often one was known to change nothing, and how often not, by kind
    (upstream's `capi_ssa_cache_*`).
    """

    def __init__(self, controller: str) -> None:
        self.controller = controller
        self.hits: Counter[str] = Counter()
        self.misses: Counter[str] = Counter()
        self._unchanging: Lru[tuple[str, bytes]] = Lru(REMEMBERED)

    def changes_nothing(self, live: Document, intent: Document, manager: str) -> bool:
        """Whether it is known that applying `intent` by force would leave `live` as it is."""
        known = is_settled(live, intent, manager) or self._unchanging.get(
            _slot(live, manager)
        ) == _state(live, intent)
        (self.hits if known else self.misses)[live["kind"]] += 1
        return known

    def found_unchanging(self, live: Document, intent: Document, manager: str) -> None:
        """Remember that the server would change nothing of this state of the object."""
        self._unchanging.put(_slot(live, manager), _state(live, intent))


def _slot(live: Document, manager: str) -> tuple[str, str, Key, str]:
    return live["apiVersion"], live["kind"], Key.of(live), manager


def _state(live: Document, intent: Document) -> tuple[str, bytes]:
    text = json.encode(intent, order="sorted")
    return live["metadata"]["resourceVersion"], blake2b(text, digest_size=16).digest()
