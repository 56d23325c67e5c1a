"""Calls of conversion webhooks, with their metrics."""

from __future__ import annotations

import random
from collections.abc import Sequence
from time import perf_counter

from kapy.apiserver.metrics.counters import WebhookCounters
from kapy.apiserver.resources.metadata import new_uid
from kapy.apiserver.webhooks.lazy_client import LazyWebhookClient
from kapy.kube import Document
from kapy.kube.names import Resource


class CountedConversionWebhooks:
    """The conversion webhooks of one server. counters: the metrics of their calls."""

    __slots__ = ("_client", "_counters", "_rng")

    def __init__(
        self, client: LazyWebhookClient, counters: WebhookCounters, rng: random.Random
    ) -> None:
        self._client = client
        self._counters = counters
        self._rng = rng

    async def convert(
        self,
        conversion: Document,
        documents: Sequence[Document],
        source: Resource,
        target: Resource,
    ) -> list[Document]:
        """Convert objects by the webhook of `spec.conversion`. Raises ApiError."""
        from kapy.apiserver.webhooks.conversion import ConversionWebhookFailed, convert_by_webhook

        began, failure = perf_counter(), ""
        try:
            return await convert_by_webhook(
                self._client.get(),
                conversion,
                documents,
                target.api_version,
                new_uid(self._rng),
            )
        except ConversionWebhookFailed as error:
            failure = error.kind
            raise
        finally:
            versions = source.version, target.version
            self._counters.count_conversion(
                source.group_resource, versions, perf_counter() - began, failure
            )
