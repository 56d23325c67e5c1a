"""Keep a server's admission webhooks in sync with the configurations in its store.

To save memory, the code of webhooks is imported only with the first configuration.
"""

from __future__ import annotations

from kapy.apiserver.resources.custom import DEFINITIONS
from kapy.apiserver.store.watch_cache import WriteEvent
from kapy.apiserver.webhooks.admission_parts import AdmissionParts
from kapy.kube import Document

_SUFFIX = "webhookconfigurations.admissionregistration.k8s.io"
_MUTATING, _VALIDATING = f"mutating{_SUFFIX}", f"validating{_SUFFIX}"
_WATCHED = frozenset((_MUTATING, _VALIDATING, DEFINITIONS))


class WebhookSource:
    """The source of a server's admission webhooks: the configurations in its store."""

    __slots__ = ("_parts",)

    def __init__(self, parts: AdmissionParts) -> None:
        self._parts = parts
        self._reload()
        parts.store.listeners.append(self._on_write)

    def _on_write(self, event: WriteEvent) -> None:
        if event.table not in _WATCHED:
            return
        if event.table != DEFINITIONS:
            self._reload()
        else:
            # kinds, or versions named by rules, may have changed
            self._parts.chain.reset()

    def _reload(self) -> None:
        mutating, validating = self._configurations(_MUTATING), self._configurations(_VALIDATING)
        if not mutating and not validating:
            self._parts.chain.set_webhooks(None)
            return
        from kapy.apiserver.webhooks.admission import AdmissionWebhooks
        from kapy.apiserver.webhooks.configuration import parse_webhooks

        hooks = parse_webhooks(mutating, "mutating"), parse_webhooks(validating, "validating")
        self._parts.chain.set_webhooks(AdmissionWebhooks(self._parts, *hooks))

    def _configurations(self, name: str) -> list[Document]:
        table = self._parts.store.peek(name)
        return [] if table is None else list(table.scan(""))
